/* Weighted operators as ST's Neural-ART computes them (STM32N6): exact sums, then three stages.
 *
 *     acc = sum of (x - x_zero_point) * w                          exact, the bias is part of bc_c
 *     r0  = sat16(round0(acc / 2^s0))
 *     r1  = sat16(round1(r0 * a_c[o] / 2^s1))
 *     y   = sat8 (round2((r1 * a2 + bc_c[o]) / 2^s2))              then the clamp of the activation
 *
 * A sum may be made in pieces, one pass of the unit each. What passes from one to the next is
 * either reduced already, t = sat16(round0((acc + (t << s0)) / 2^s0)), or the raw sum in 24 bits.
 * Twin of npusim/kernels/neural_art.py. Sources: ST's public register headers (ATON CONVACC and
 * ARITH units), coefficients of compiled networks, outputs of a board. */
#ifndef NPU_NEURAL_ART_H
#define NPU_NEURAL_ART_H

#include "structs.h"

/* Grouped convolution.
 *
 * x         (N,H,W,C)
 * weights   (O,KH,KW,I), I = C / groups
 * y         (N,OH,OW,O), out
 * patch     (KH*KW*I,), scratch: x - x_zero_point under the kernel, |value| <= 255 */
void npu_neural_art_conv2d(const int8_t *x, const int8_t *weights, const struct npu_conv2d *g,
                           const struct npu_neural_art *r, int8_t *y, int16_t *patch);

/* Depthwise convolution with multiplier M; x, g, r and y as in `npu_neural_art_conv2d`.
 *
 * weights        (KH,KW,O), O = C*M
 * acc, partial   (O,), scratch */
void npu_neural_art_depthwise_conv2d(const int8_t *x, const int8_t *weights,
                                     const struct npu_conv2d *g, const struct npu_neural_art *r,
                                     int8_t *y, int64_t *acc, int64_t *partial);

/* Matrix product.
 *
 * x         (N,I)
 * weights   (O,I)
 * y         (N,O), out
 * patch     (I,), scratch */
void npu_neural_art_fully_connected(const int8_t *x, const int8_t *weights,
                                    const struct npu_fully_connected *g,
                                    const struct npu_neural_art *r, int8_t *y, int16_t *patch);

/* The hot loop of conv2d and fully_connected: the exact sum of a (n,) times b (n,), |a| <= 255. */
int64_t npu_neural_art_dot(const int16_t *a, const int8_t *b, size_t n);

#endif
