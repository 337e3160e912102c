/* Convolution, NHWC x OHWI, int8 x int8 -> int8.
 *
 *     acc[n,oh,ow,o] = bias[o] + sum over kh,kw,i of (x[n, oh*stride_h - pad_top + kh*dilation_h,
 *                      ow*stride_w - pad_left + kw*dilation_w, i] - x_zero_point) * w[o,kh,kw,i]
 *
 * modulo 2^32. Cells outside the input are worth the zero point, so they add nothing.
 *
 * What lies under the kernel is gathered for NPU_POSITIONS output positions at a time, as codes,
 * cells outside as the zero point; a 1x1 kernel reads x itself. The zero point is taken out of the
 * sums:
 *
 *     sum of (x - x_zero_point)*w = sum of x*w - x_zero_point * sum of w
 *
 * Nothing is kept from call to call, so weights may change in between.
 * Sources: TFLite reference_integer_ops::ConvPerChannel. Twin of npusim/kernels/conv2d.py. */
#ifndef NPU_CONV2D_H
#define NPU_CONV2D_H

#include "requantize.h"

/* Output positions that are summed together. */
enum { NPU_POSITIONS = 3 };

/* Convolve int8 with int32 accumulators that wrap.
 *
 * x         (N, H, W, C)
 * weights   (O, KH, KW, I), I = C / groups
 * bias      (O,)
 * y         (N, OH, OW, O), written
 * patch     scratch, `npu_conv2d_patch` elements; may be NULL if that is 0
 * acc       scratch, `npu_conv2d_acc` elements */
void npu_conv2d(const int8_t *x, const int8_t *weights, const int32_t *bias,
                const struct npu_conv2d *g, const struct npu_requantization *r, int8_t *y,
                int8_t *patch, int32_t *acc);

/* Whether what lies under the kernel is x itself, position by position. */
static inline int32_t npu_is_pointwise(const struct npu_conv2d *g)
{
    return g->kh == 1 && g->kw == 1 && g->stride_h == 1 && g->stride_w == 1 && g->groups == 1
           && g->pad_top == 0 && g->pad_left == 0 && g->oh == g->h && g->ow == g->w;
}

/* Products of one output: KH*KW*I. */
static inline size_t npu_conv2d_depth(const struct npu_conv2d *g)
{
    return (size_t)g->kh * (size_t)g->kw * (size_t)(g->c / g->groups);
}

/* Elements of `patch`: what lies under the kernel at NPU_POSITIONS positions. */
static inline size_t npu_conv2d_patch(const struct npu_conv2d *g)
{
    return npu_is_pointwise(g) ? 0 : NPU_POSITIONS * npu_conv2d_depth(g);
}

/* Elements of `acc`: biases without the zero point, and the sums of NPU_POSITIONS positions. */
static inline size_t npu_conv2d_acc(const struct npu_conv2d *g)
{
    return (1 + NPU_POSITIONS) * (size_t)g->o;
}

/* The first of `taps` kernel cells that lies in 0..size-1, the kernel beginning at `start`. */
static inline int32_t npu_first_tap(int32_t start, int32_t dilation, int32_t taps)
{
    const int32_t first = start < 0 ? (dilation - 1 - start) / dilation : 0;
    return first < taps ? first : taps;
}

/* One more than the last of them; not above `npu_first_tap` when there are none. */
static inline int32_t npu_end_tap(int32_t start, int32_t dilation, int32_t taps, int32_t size)
{
    const int32_t end = start < size ? (size - 1 - start) / dilation + 1 : 0;
    return end < taps ? end : taps;
}

/* to (n,) = value. */
void npu_fill_codes(int8_t *to, int8_t value, size_t n);

/* to (n,) = from (n,), which lies elsewhere. */
void npu_copy_codes(int8_t *to, const int8_t *from, size_t n);

/* start[o] = bias[o] - zero_point * sum of weights[o,:], modulo 2^32.
 *
 * weights       (outputs, depth)
 * bias, start   (outputs,) */
void npu_start_sums(const int8_t *weights, size_t outputs, size_t depth, const int32_t *bias,
                    int32_t zero_point, int32_t *start);

/* acc[(p + 1)*stride + o] = acc[o] + sum of patch[p,:]*weights[o,:], modulo 2^32, for each p below
 * NPU_POSITIONS.
 *
 * patch     (NPU_POSITIONS, depth)
 * weights   (outputs, depth)
 * acc       (outputs,) in each of 1 + NPU_POSITIONS rows: what sums start with, and sums */
void npu_dot_block(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                   int32_t *acc, size_t stride);

/* acc[o] = bias[o] + sum of (patch - zero_point)*weights[o,:], modulo 2^32.
 *
 * patch       (depth,)
 * weights     (outputs, depth)
 * bias, acc   (outputs,) */
void npu_dot_row(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                 size_t outputs, const int32_t *bias, int32_t *acc);

#endif
