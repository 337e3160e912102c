/* Operators that XNNPACK computes in integers, in a way of its own, int8 -> int8.
 *
 *     add_xnnpack      y = zp_y + (m_a*(a - zp_a) + m_b*(b - zp_b) + 2^(shift-1)) >> shift
 *     rescale_xnnpack  y = zp_y + ((x - zp_x) * m + 2^7) >> 8                (quantize of codes)
 *
 * Each result is clamped. What XNNPACK computes in float32 (mean_xnnpack, and the rule float32_even
 * of its other operators) has no twin here.
 * Twin of npusim/kernels/xnnpack.py. Sources: XNNPACK qs8-vadd, qs8-vcvt. */
#ifndef NPU_XNNPACK_H
#define NPU_XNNPACK_H

#include "structs.h"

/* Add with broadcasting; a, b, walk and y as in `npu_add`.
 *
 * p   multipliers are at most 2^21 and the shift 30, so the sum stays in 32 bits */
void npu_add_xnnpack(const int8_t *a, const int8_t *b, const struct npu_add_xnnpack *p,
                     const struct npu_pairs *walk, int8_t *y);

/* y (n,) = codes x (n,) of one quantisation as codes of another; multipliers below 2^15. */
void npu_rescale_xnnpack(const int8_t *x, size_t n, const struct npu_rescale_xnnpack *p,
                         int8_t *y);

#endif
