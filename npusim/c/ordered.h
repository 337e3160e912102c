/* Weighted operators with an accumulator whose width and order matter.
 *
 * Saturation is not associative: after every multiply-accumulate, in the order kernel row, kernel
 * column, input channel, starting from the bias, the sum is clamped to the accumulator's range.
 * Under NPU_WRAP the exact sum is wrapped once at the end, which is the same as wrapping it at
 * every step; under NPU_ERROR the first sum that leaves the range is reported. One product has at
 * most 16 bits and a layer fewer than 2^40 of them, so int64 holds every exact sum.
 *
 * All outputs of a position advance together: the order within each output is kept. Where a static
 * bound proves that no sum leaves the range, the plain kernels give the same bits, sooner.
 * Twin of npusim/kernels/ordered.py. */
#ifndef NPU_ORDERED_H
#define NPU_ORDERED_H

#include "requantize.h"

/* conv2d with an ordered accumulator.
 *
 * x, weights, bias, g, r, y   as `npu_conv2d`
 * acc     (O,), scratch
 * first   (O,), scratch: the first sum of an output that left the range, 0 if none did
 * fault   (2,), written under NPU_ERROR if fault[0] < 0: flat output index and sum of the first
 *         overflow */
void npu_conv2d_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                        const struct npu_conv2d *g, const struct npu_requantization *r,
                        const struct npu_accumulation *a, int8_t *y, int64_t *acc, int64_t *first,
                        int64_t *fault);

/* depthwise_conv2d with an ordered accumulator; arguments as `npu_conv2d_ordered`. */
void npu_depthwise_conv2d_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                                  const struct npu_conv2d *g, const struct npu_requantization *r,
                                  const struct npu_accumulation *a, int8_t *y, int64_t *acc,
                                  int64_t *first, int64_t *fault);

/* fully_connected with an ordered accumulator; arguments as `npu_conv2d_ordered`. */
void npu_fully_connected_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                                 const struct npu_fully_connected *g,
                                 const struct npu_requantization *r,
                                 const struct npu_accumulation *a, int8_t *y, int64_t *acc,
                                 int64_t *first, int64_t *fault);

#endif
