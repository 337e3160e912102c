/* Pools over windows, int8 -> int8; only the cells inside the input count.
 *
 *     average   y = clamp(round(sum of x / number of cells)), ties away from zero
 *     max       y = clamp(max of x)
 *
 * x (N,H,W,C) and y (N,OH,OW,C). The codes themselves are compared and averaged, so the zero point
 * does not enter.
 * Twin of npusim/kernels/pool.py. Sources: TFLite reference_integer_ops::AveragePool, MaxPool. */
#ifndef NPU_POOL_H
#define NPU_POOL_H

#include "structs.h"

/* Average pool; every window holds at least one cell, and 2^23 at most.
 *
 * y      out
 * sums   (C,), scratch */
void npu_average_pool2d(const int8_t *x, const struct npu_pool2d *g, int8_t *y, int32_t *sums);

/* Max pool; an empty window gives act_min. */
void npu_max_pool2d(const int8_t *x, const struct npu_pool2d *g, int8_t *y);

/* y (n,) = max(y, x), element by element: the hot loop of the max pool. */
void npu_raise_codes(const int8_t *x, size_t n, int8_t *y);

/* total / count to nearest, ties away from zero; |total| < 2^30, 0 < count < 2^30. */
int32_t npu_rounded_quotient(int32_t total, int32_t count);

#endif
