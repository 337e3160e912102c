#include "depthwise_conv2d.h"

/* All kernel cells, before an image is below them. */
static struct npu_window whole_window(const int8_t *x, const int8_t *weights,
                                      const struct npu_conv2d *g)
{
    const size_t c = (size_t)g->c, o = (size_t)g->o;
    const struct npu_window window = {
        x, weights, (size_t)g->kh, (size_t)g->kw, (size_t)g->dilation_h * (size_t)g->w * c,
        (size_t)g->dilation_w * c, (size_t)g->kw * o, o};
    return window;
}

/* The rows inside the image when the kernel begins in row h. */
static struct npu_window rows_inside(const struct npu_window *whole, int32_t h,
                                     const struct npu_conv2d *g)
{
    struct npu_window window = *whole;
    const int32_t top = npu_first_tap(h, g->dilation_h, g->kh);
    const int32_t bottom = npu_end_tap(h, g->dilation_h, g->kh, g->h);
    window.rows = bottom > top ? (size_t)(bottom - top) : 0;
    if (window.rows > 0) {
        window.x += (size_t)(h + top * g->dilation_h) * (size_t)g->w * (size_t)g->c;
        window.weights += (size_t)top * window.weights_row;
    }
    return window;
}

/* Of these, the cells inside the image when the kernel begins in column w. */
static struct npu_window columns_inside(const struct npu_window *rows, int32_t w,
                                        const struct npu_conv2d *g)
{
    struct npu_window window = *rows;
    const int32_t left = npu_first_tap(w, g->dilation_w, g->kw);
    const int32_t right = npu_end_tap(w, g->dilation_w, g->kw, g->w);
    window.columns = right > left ? (size_t)(right - left) : 0;
    if (window.columns > 0) {
        window.x += (size_t)(w + left * g->dilation_w) * (size_t)g->c;
        window.weights += (size_t)left * window.weights_column;
    }
    return window;
}

/* start (O,): what an image of zeros gives, whose cells add -x_zero_point*weights each.
 *
 * zeros   (C,), memory for codes */
static void sum_zeros(const struct npu_window *whole, const int32_t *bias,
                      const struct npu_conv2d *g, int8_t *zeros, int32_t *start)
{
    struct npu_window window = *whole;
    window.x = zeros;
    window.x_row = 0;
    window.x_column = 0;
    npu_fill_codes(zeros, 0, (size_t)g->c);
    npu_depthwise_sums(&window, (size_t)g->c, (size_t)(g->o / g->c), g->x_zero_point, bias, start);
}

/* The sums of an output position. */
static void sum_position(const struct npu_window *window, const int32_t *bias,
                         const int32_t *start, const struct npu_conv2d *g, int32_t *sums)
{
    const size_t c = (size_t)g->c, multiplier = (size_t)(g->o / g->c);
    if (window->rows == (size_t)g->kh && window->columns == (size_t)g->kw) {
        npu_depthwise_sums(window, c, multiplier, 0, start, sums);
    } else {
        npu_depthwise_sums(window, c, multiplier, g->x_zero_point, bias, sums);
    }
}

void npu_depthwise_conv2d(const int8_t *x, const int8_t *weights, const int32_t *bias,
                          const struct npu_conv2d *g, const struct npu_requantization *r, int8_t *y,
                          int32_t *acc)
{
    const size_t o = (size_t)g->o, image = (size_t)g->h * (size_t)g->w * (size_t)g->c;
    int32_t *const sums = acc + o;
    struct npu_window whole = whole_window(x, weights, g);
    size_t held = 0;
    sum_zeros(&whole, bias, g, (int8_t *)sums, acc);
    for (int32_t row = 0; row < g->n * g->oh; row++) {
        whole.x = &x[(size_t)(row / g->oh) * image];
        const struct npu_window rows
            = rows_inside(&whole, row % g->oh * g->stride_h - g->pad_top, g);
        for (int32_t ow = 0; ow < g->ow; ow++) {
            const struct npu_window window
                = columns_inside(&rows, ow * g->stride_w - g->pad_left, g);
            sum_position(&window, bias, acc, g, &sums[held * o]);
            held++;
            if (held == NPU_POSITIONS) {
                npu_requantize_rows(sums, held, o, r, y, 0);
                y += held * o;
                held = 0;
            }
        }
    }
    npu_requantize_rows(sums, held, o, r, y, 0);
}

#if !defined(__ARM_FEATURE_MVE) /* else in depthwise_conv2d_mve.c */

/* From behind the last cell of a row to the first of the next; dilated rows overlap. */
static inline ptrdiff_t between(size_t row, size_t columns)
{
    return (ptrdiff_t)row - (ptrdiff_t)columns;
}

/* One output. */
static int32_t sum_one(const struct npu_window *window, size_t o, size_t channel,
                       int32_t zero_point, int32_t bias)
{
    const int8_t *x = window->x + channel, *w = window->weights + o;
    const size_t x_step = window->x_column, w_step = window->weights_column;
    const ptrdiff_t x_next = between(window->x_row, window->columns * x_step);
    const ptrdiff_t w_next = between(window->weights_row, window->columns * w_step);
    int32_t sum = bias;
    for (size_t row = window->rows; row > 0; row--) {
        for (size_t column = window->columns; column > 0; column--) {
            sum = npu_add_wrapping(sum, (*x - zero_point) * *w);
            x += x_step;
            w += w_step;
        }
        x += x_next;
        w += w_next;
    }
    return sum;
}

/* Four outputs, M = 1. */
static void sum_four(const struct npu_window *window, size_t o, int32_t zero_point,
                     const int32_t *bias, int32_t *acc)
{
    const int8_t *x = window->x + o, *w = window->weights + o;
    const size_t x_step = window->x_column, w_step = window->weights_column;
    const ptrdiff_t x_next = between(window->x_row, window->columns * x_step);
    const ptrdiff_t w_next = between(window->weights_row, window->columns * w_step);
    int32_t sum0 = bias[o], sum1 = bias[o + 1], sum2 = bias[o + 2], sum3 = bias[o + 3];
    for (size_t row = window->rows; row > 0; row--) {
        for (size_t column = window->columns; column > 0; column--) {
            sum0 = npu_add_wrapping(sum0, (x[0] - zero_point) * w[0]);
            sum1 = npu_add_wrapping(sum1, (x[1] - zero_point) * w[1]);
            sum2 = npu_add_wrapping(sum2, (x[2] - zero_point) * w[2]);
            sum3 = npu_add_wrapping(sum3, (x[3] - zero_point) * w[3]);
            x += x_step;
            w += w_step;
        }
        x += x_next;
        w += w_next;
    }
    acc[o] = sum0;
    acc[o + 1] = sum1;
    acc[o + 2] = sum2;
    acc[o + 3] = sum3;
}

void npu_depthwise_sums(const struct npu_window *window, size_t channels, size_t multiplier,
                        int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    size_t c = 0;
    for (; multiplier == 1 && c + 4 <= channels; c += 4) {
        sum_four(window, c, zero_point, bias, acc);
    }
    for (; c < channels; c++) {
        for (size_t o = c * multiplier; o < (c + 1) * multiplier; o++) {
            acc[o] = sum_one(window, o, c, zero_point, bias[o]);
        }
    }
}

#endif
