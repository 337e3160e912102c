#include "depthwise_conv2d.h"

#include "conv2d.h"

/* The kernel cells inside the image at an output position. */
static struct npu_window window_at(const int8_t *x, const int8_t *weights, size_t position,
                                   const struct npu_conv2d *g)
{
    const size_t c = (size_t)g->c, o = (size_t)g->o, kw = (size_t)g->kw, row = (size_t)g->w * c;
    const size_t oh = position / (size_t)g->ow % (size_t)g->oh;
    const size_t n = position / ((size_t)g->oh * (size_t)g->ow);
    const int32_t h0 = (int32_t)oh * g->stride_h - g->pad_top;
    const int32_t w0 = (int32_t)(position % (size_t)g->ow) * g->stride_w - g->pad_left;
    const int32_t top = npu_first_tap(h0, g->dilation_h, g->kh);
    const int32_t left = npu_first_tap(w0, g->dilation_w, g->kw);
    const int32_t bottom = npu_end_tap(h0, g->dilation_h, g->kh, g->h);
    const int32_t right = npu_end_tap(w0, g->dilation_w, g->kw, g->w);
    struct npu_window window = {x, weights, 0, 0, (size_t)g->dilation_h * row,
                                (size_t)g->dilation_w * c, kw * o, o};
    if (top < bottom && left < right) {
        window.rows = (size_t)(bottom - top);
        window.columns = (size_t)(right - left);
        window.x += (n * (size_t)g->h + (size_t)(h0 + top * g->dilation_h)) * row
                    + (size_t)(w0 + left * g->dilation_w) * c;
        window.weights += ((size_t)top * kw + (size_t)left) * o;
    }
    return window;
}

void npu_depthwise_conv2d(const int8_t *x, const int8_t *weights, const int32_t *bias,
                          const struct npu_conv2d *g, const struct npu_requantization *r, int8_t *y,
                          int32_t *acc)
{
    const size_t c = (size_t)g->c, o = (size_t)g->o;
    const size_t positions = (size_t)g->n * (size_t)g->oh * (size_t)g->ow;
    for (size_t position = 0; position < positions; position++) {
        const struct npu_window window = window_at(x, weights, position, g);
        npu_depthwise_sums(&window, c, o / c, g->x_zero_point, bias, acc);
        npu_requantize_rows(acc, 1, o, r, y, position * o);
    }
}

#if !defined(__ARM_FEATURE_MVE) /* else in depthwise_conv2d_mve.c */

/* acc[c*M + m] += (x[c] - zero_point) * weights[c*M + m], modulo 2^32. */
static inline void add_cell(const int8_t *x, const int8_t *weights, size_t channels,
                            size_t multiplier, int32_t zero_point, int32_t *acc)
{
    for (size_t c = 0; c < channels; c++) {
        const int32_t value = x[c] - zero_point;
        for (size_t m = 0; m < multiplier; m++) {
            *acc = npu_add_wrapping(*acc, value * *weights);
            acc++;
            weights++;
        }
    }
}

void npu_depthwise_sums(const struct npu_window *window, size_t channels, size_t multiplier,
                        int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    for (size_t o = 0; o < channels * multiplier; o++) {
        acc[o] = bias[o];
    }
    for (size_t row = 0; row < window->rows; row++) {
        const int8_t *x = &window->x[row * window->x_row];
        const int8_t *weights = &window->weights[row * window->weights_row];
        for (size_t column = 0; column < window->columns; column++) {
            add_cell(x, weights, channels, multiplier, zero_point, acc);
            x += window->x_column;
            weights += window->weights_column;
        }
    }
}

#endif
