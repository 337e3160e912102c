/* Fully connected layer, (N,I) x (O,I), int8 x int8 -> int8.
 *
 *     acc[n,o] = bias[o] + sum over i of (x[n,i] - x_zero_point) * w[o,i]
 *
 * modulo 2^32. Sources: TFLite reference_integer_ops::FullyConnected and
 * FullyConnectedPerChannel. Twin of npusim/kernels/fully_connected.py. */
#ifndef NPU_FULLY_CONNECTED_H
#define NPU_FULLY_CONNECTED_H

#include "requantize.h"

/* Multiply int8 rows by an int8 matrix, with int32 accumulators that wrap.
 *
 * x         (N, I)
 * weights   (O, I)
 * bias      (O,)
 * y         (N, O), written
 * acc       (O,), scratch */
void npu_fully_connected(const int8_t *x, const int8_t *weights, const int32_t *bias,
                         const struct npu_fully_connected *g, const struct npu_requantization *r,
                         int8_t *y, int32_t *acc);

#endif
