/* Softmax in fixed point, int8 -> int8: y = 256 * exp(x - max) / sum of exp(x - max) - 128.
 *
 * exp: a = -(n / 4) + r with r in [-1/4, 0); exp(r) is a Taylor polynomial about -1/8, and one
 * factor exp(-2^e) is multiplied in for every bit of n / 4. The reciprocal is three Newton steps
 * for 1 / (1 + a), a in [0, 1), from 48/17 - 32/17 * (1 + a) / 2. Qm.n means n fraction bits.
 *
 * LiteRT's softmax on x86 (softmax_x86) adds in float32 and has no twin here.
 * Twin of npusim/kernels/softmax.py. Sources: gemmlowp fixedpoint.h, TFLite softmax.h. */
#ifndef NPU_SOFTMAX_H
#define NPU_SOFTMAX_H

#include "structs.h"

/* Softmax of each row; a difference to the row's largest code below diff_min counts as zero.
 *
 * x              (rows, depth)
 * y              (rows, depth), out: scale 1/256 and zero point -128
 * exponentials   (depth,), scratch, Q0.31 */
void npu_softmax(const int8_t *x, const struct npu_softmax *p, int8_t *y, int32_t *exponentials);

/* exp(a) in Q0.31 for a <= 0 in Q5.26. */
int32_t npu_exp_of_negative(int32_t a);

/* 1 / (1 + a) in Q0.31 for a in [0, 1) in Q0.31. */
int32_t npu_reciprocal_of_one_plus(int32_t a);

#endif
