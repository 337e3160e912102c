#include "conv2d.h"

/* A row of the kernel at an output position, in elements: before the image, pieces of its row that
 * lie side by side, behind it.
 *
 * start   of the first piece in a row of x; `step` from piece to piece */
struct across {
    size_t before;
    size_t start;
    size_t pieces;
    size_t size;
    size_t step;
    size_t after;
};

/* The same in whatever row, the kernel beginning in column w. */
static struct across across_from(int32_t w, const struct npu_conv2d *g)
{
    const size_t channels = (size_t)(g->c / g->groups);
    const int32_t first = npu_first_tap(w, g->dilation_w, g->kw);
    const int32_t last = npu_end_tap(w, g->dilation_w, g->kw, g->w);
    const int32_t end = last > first ? last : first;
    const size_t cells = (size_t)(end - first);
    struct across a = {(size_t)first * channels, 0, cells, channels, 0, 0};
    a.after = (size_t)(g->kw - end) * channels;
    if (cells > 0) {
        a.start = (size_t)(w + first * g->dilation_w) * (size_t)g->c;
    }
    a.step = (size_t)g->dilation_w * (size_t)g->c;
    if (a.step == channels) {
        a.pieces = 1;
        a.size = cells * channels;
    }
    return a;
}

/* patch (KW, I) = x under one row of the kernel.
 *
 * row   the group's channels of the image row it lies in */
static void gather_row(const int8_t *row, const struct across *a, int8_t zero_point, int8_t *patch)
{
    const int8_t *from = &row[a->start];
    if (a->before > 0) {
        npu_fill_codes(patch, zero_point, a->before);
        patch += a->before;
    }
    for (size_t left = a->pieces; left > 0; left--) {
        npu_copy_codes(patch, from, a->size);
        patch += a->size;
        from += a->step;
    }
    if (a->after > 0) {
        npu_fill_codes(patch, zero_point, a->after);
    }
}

/* patch (KH, KW, I) = x under the kernel at an output position, the zero point outside x. */
static void gather_patch(const int8_t *x, size_t position, int32_t group,
                         const struct npu_conv2d *g, int8_t *patch)
{
    const size_t channels = (size_t)(g->c / g->groups), row = (size_t)g->w * (size_t)g->c;
    const size_t oh = position / (size_t)g->ow % (size_t)g->oh;
    const int32_t h0 = (int32_t)oh * g->stride_h - g->pad_top;
    const int32_t w0 = (int32_t)(position % (size_t)g->ow) * g->stride_w - g->pad_left;
    const size_t n = position / ((size_t)g->oh * (size_t)g->ow);
    const int8_t *image = &x[n * (size_t)g->h * row + (size_t)group * channels];
    const struct across a = across_from(w0, g);
    const int8_t zero_point = (int8_t)g->x_zero_point;
    for (int32_t kh = 0; kh < g->kh; kh++) {
        const int32_t h = h0 + kh * g->dilation_h;
        if (h < 0 || h >= g->h) {
            npu_fill_codes(patch, zero_point, (size_t)g->kw * channels);
        } else {
            gather_row(&image[(size_t)h * row], &a, zero_point, patch);
        }
        patch += (size_t)g->kw * channels;
    }
}

/* What lies under the kernel at `count` positions from the first: in x, or gathered in patch. */
static const int8_t *under_kernel(const int8_t *x, size_t first, size_t count, int32_t group,
                                  const struct npu_conv2d *g, int8_t *patch)
{
    if (npu_is_pointwise(g)) {
        return &x[first * (size_t)g->c];
    }
    for (size_t i = 0; i < count; i++) {
        gather_patch(x, first + i, group, g, &patch[i * npu_conv2d_depth(g)]);
    }
    return patch;
}

void npu_conv2d(const int8_t *x, const int8_t *weights, const int32_t *bias,
                const struct npu_conv2d *g, const struct npu_requantization *r, int8_t *y,
                int8_t *patch, int32_t *acc)
{
    const size_t o = (size_t)g->o, outputs = o / (size_t)g->groups, depth = npu_conv2d_depth(g);
    const size_t positions = (size_t)g->n * (size_t)g->oh * (size_t)g->ow;
    const size_t whole = positions - positions % NPU_POSITIONS;
    int32_t *const sums = acc + o;
    if (whole > 0) {
        npu_start_sums(weights, o, depth, bias, g->x_zero_point, acc);
    }
    for (size_t first = 0; first < whole; first += NPU_POSITIONS) {
        for (int32_t group = 0; group < g->groups; group++) {
            const size_t channel = (size_t)group * outputs;
            const int8_t *under = under_kernel(x, first, NPU_POSITIONS, group, g, patch);
            npu_dot_block(under, depth, &weights[channel * depth], outputs, &acc[channel], o);
        }
        npu_requantize_rows(sums, NPU_POSITIONS, o, r, y, first * o);
    }
    for (size_t first = whole; first < positions; first++) {
        for (int32_t group = 0; group < g->groups; group++) {
            const size_t channel = (size_t)group * outputs;
            const int8_t *under = under_kernel(x, first, 1, group, g, patch);
            npu_dot_row(under, g->x_zero_point, depth, &weights[channel * depth], outputs,
                        &bias[channel], &sums[channel]);
        }
        npu_requantize_rows(sums, 1, o, r, y, first * o);
    }
}

#if !defined(__ARM_FEATURE_MVE) /* else in conv2d_mve.c */

void npu_fill_codes(int8_t *to, int8_t value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = value;
    }
}

void npu_copy_codes(int8_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

void npu_start_sums(const int8_t *weights, size_t outputs, size_t depth, const int32_t *bias,
                    int32_t zero_point, int32_t *start)
{
    for (size_t o = 0; o < outputs; o++) {
        int32_t sum = 0;
        for (size_t i = 0; i < depth; i++) {
            sum = npu_add_wrapping(sum, weights[i]);
        }
        start[o] = npu_add_wrapping(bias[o], npu_multiply_wrapping(-zero_point, sum));
        weights += depth;
    }
}

void npu_dot_block(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                   int32_t *acc, size_t stride)
{
    const int8_t *const p0 = patch, *const p1 = p0 + depth, *const p2 = p1 + depth;
    for (size_t o = 0; o < outputs; o++) {
        int32_t sum0 = acc[o], sum1 = acc[o], sum2 = acc[o];
        for (size_t i = 0; i < depth; i++) {
            const int32_t w = weights[i];
            sum0 = npu_add_wrapping(sum0, p0[i] * w);
            sum1 = npu_add_wrapping(sum1, p1[i] * w);
            sum2 = npu_add_wrapping(sum2, p2[i] * w);
        }
        acc[stride + o] = sum0;
        acc[2 * stride + o] = sum1;
        acc[3 * stride + o] = sum2;
        weights += depth;
    }
}

/* One output. */
static int32_t dot_one(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                       int32_t bias)
{
    int32_t sum = bias;
    for (size_t i = 0; i < depth; i++) {
        sum = npu_add_wrapping(sum, (patch[i] - zero_point) * weights[i]);
    }
    return sum;
}

/* Three outputs, for which x is read once. */
static void dot_three(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                      const int32_t *bias, int32_t *acc)
{
    const int8_t *const w0 = weights, *const w1 = w0 + depth, *const w2 = w1 + depth;
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[2];
    for (size_t i = 0; i < depth; i++) {
        const int32_t value = patch[i] - zero_point;
        sum0 = npu_add_wrapping(sum0, value * w0[i]);
        sum1 = npu_add_wrapping(sum1, value * w1[i]);
        sum2 = npu_add_wrapping(sum2, value * w2[i]);
    }
    acc[0] = sum0;
    acc[1] = sum1;
    acc[2] = sum2;
}

void npu_dot_row(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                 size_t outputs, const int32_t *bias, int32_t *acc)
{
    size_t o = 0;
    for (; o + 3 <= outputs; o += 3) {
        dot_three(patch, zero_point, depth, &weights[o * depth], &bias[o], &acc[o]);
    }
    for (; o < outputs; o++) {
        acc[o] = dot_one(patch, zero_point, depth, &weights[o * depth], bias[o]);
    }
}

#endif
