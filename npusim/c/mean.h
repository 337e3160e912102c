/* Mean over any axes, int8 -> int8.
 *
 *     y = R(sum of (x - x_zero_point)),  1 / count is part of R's multiplier
 *
 * Twin of npusim/kernels/mean.py. Source: TFLite reference_ops::QuantizedMeanOrSum. */
#ifndef NPU_MEAN_H
#define NPU_MEAN_H

#include "structs.h"

/* Sum along the reduced axes, then requantise.
 *
 * shape       (rank,), walk over x, merged: no dimension of length 1 unless it is the only one
 * y_strides   (rank,), of y in that walk: 0 along reduced axes
 * r           of one multiplier, or of one for each channel of y
 * y           (n,), out
 * sums        (n,), scratch; sums wrap to 32 bits */
void npu_mean(const int8_t *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
              const struct npu_mean *p, const struct npu_requantization *r, int8_t *y,
              int32_t *sums, size_t n);

/* sums (n,) = the codes of x added up along the axes whose stride in y is 0, modulo 2^32. */
void npu_sum_codes(const int8_t *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
                   int32_t *sums, size_t n);

/* sums (n,) += x (n,), modulo 2^32: the hot loop of means and average pools. */
void npu_add_codes(const int8_t *x, size_t n, int32_t *sums);

/* The sum of x (n,), modulo 2^32. */
int32_t npu_total_of_codes(const int8_t *x, size_t n);

#endif
