/* Depthwise convolution with multiplier M, NHWC x (1,KH,KW,C*M), int8 x int8 -> int8.
 *
 *     acc[n,oh,ow,c*M + m] = bias[c*M + m] + sum over kh,kw of (x[.., c] - x_zero_point)
 *                            * w[0,kh,kw,c*M + m]
 *
 * modulo 2^32. Where the whole kernel lies inside the image, the zero point is taken out of the
 * sums, as in conv2d.h. C is at most 2^16.
 * Sources: TFLite reference_integer_ops::DepthwiseConvPerChannel.
 * Twin of npusim/kernels/depthwise_conv2d.py. */
#ifndef NPU_DEPTHWISE_CONV2D_H
#define NPU_DEPTHWISE_CONV2D_H

#include "conv2d.h"

/* Convolve each channel by its own kernels, with int32 accumulators that wrap.
 *
 * x         (N, H, W, C)
 * weights   (KH, KW, O), O = C*M
 * bias      (O,)
 * g         groups 1
 * y         (N, OH, OW, O), written
 * acc       scratch, (1 + NPU_POSITIONS)*O elements: sums of images of zeros, and of positions */
void npu_depthwise_conv2d(const int8_t *x, const int8_t *weights, const int32_t *bias,
                          const struct npu_conv2d *g, const struct npu_requantization *r, int8_t *y,
                          int32_t *acc);

/* The kernel cells that lie inside the image: `rows` rows of `columns` cells.
 *
 * x         code of channel 0 under the first of them; x_row elements from row to row, x_column
 *           from cell to cell
 * weights   weight of channel 0 in the first of them; likewise */
struct npu_window {
    const int8_t *x;
    const int8_t *weights;
    size_t rows;
    size_t columns;
    size_t x_row;
    size_t x_column;
    size_t weights_row;
    size_t weights_column;
};

/* acc[c*M + m] = bias[c*M + m] + sum over a window of (x[.., c] - zero_point)*weights[.., c*M + m],
 * modulo 2^32.
 *
 * channels     C
 * multiplier   M
 * bias, acc    (C*M,) */
void npu_depthwise_sums(const struct npu_window *window, size_t channels, size_t multiplier,
                        int32_t zero_point, const int32_t *bias, int32_t *acc);

#endif
