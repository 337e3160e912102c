#include "pool.h"

#include "mean.h"

/* The cells of the input under the kernel: rows top..bottom-1, columns left..right-1. */
struct window {
    int32_t top;
    int32_t bottom;
    int32_t left;
    int32_t right;
};

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t greater(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static struct window window_at(const struct npu_pool2d *g, int32_t oh, int32_t ow)
{
    const int32_t top = oh * g->stride_h - g->pad_top, left = ow * g->stride_w - g->pad_left;
    const struct window window = {
        greater(top, 0), lesser(top + g->kh, g->h), greater(left, 0), lesser(left + g->kw, g->w)
    };
    return window;
}

/* Where cell (n, h, w) begins in x. */
static size_t cell_at(const struct npu_pool2d *g, int32_t n, int32_t h, int32_t w)
{
    return (size_t)((n * g->h + h) * g->w + w) * (size_t)g->c;
}

int32_t npu_rounded_quotient(int32_t total, int32_t count)
{
    const int32_t magnitude = ((total < 0 ? -total : total) + (count >> 1)) / count;
    return total < 0 ? -magnitude : magnitude;
}

/* sums (C,) of a window of image n; returns the number of its cells. */
static int32_t sum_window(const int8_t *x, const struct npu_pool2d *g, int32_t n,
                          const struct window *window, int32_t *sums)
{
    for (int32_t c = 0; c < g->c; c++) {
        sums[c] = 0;
    }
    for (int32_t h = window->top; h < window->bottom; h++) {
        for (int32_t w = window->left; w < window->right; w++) {
            npu_add_codes(&x[cell_at(g, n, h, w)], (size_t)g->c, sums);
        }
    }
    return (window->bottom - window->top) * (window->right - window->left);
}

void npu_average_pool2d(const int8_t *x, const struct npu_pool2d *g, int8_t *y, int32_t *sums)
{
    for (int32_t n = 0; n < g->n; n++) {
        for (int32_t oh = 0; oh < g->oh; oh++) {
            for (int32_t ow = 0; ow < g->ow; ow++) {
                const struct window window = window_at(g, oh, ow);
                const int32_t count = sum_window(x, g, n, &window, sums);
                for (int32_t c = 0; c < g->c; c++) {
                    const int32_t mean = npu_rounded_quotient(sums[c], count);
                    *y++ = (int8_t)lesser(greater(mean, g->act_min), g->act_max);
                }
            }
        }
    }
}

void npu_max_pool2d(const int8_t *x, const struct npu_pool2d *g, int8_t *y)
{
    const size_t channels = (size_t)g->c;
    for (int32_t n = 0; n < g->n; n++) {
        for (int32_t oh = 0; oh < g->oh; oh++) {
            for (int32_t ow = 0; ow < g->ow; ow++) {
                const struct window window = window_at(g, oh, ow);
                for (size_t c = 0; c < channels; c++) {
                    y[c] = (int8_t)g->act_min;
                }
                for (int32_t h = window.top; h < window.bottom; h++) {
                    for (int32_t w = window.left; w < window.right; w++) {
                        npu_raise_codes(&x[cell_at(g, n, h, w)], channels, y);
                    }
                }
                for (size_t c = 0; c < channels; c++) {
                    y[c] = (int8_t)lesser(y[c], g->act_max);
                }
                y += channels;
            }
        }
    }
}

#if !defined(__ARM_FEATURE_MVE)

void npu_raise_codes(const int8_t *x, size_t n, int8_t *y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = (int8_t)greater(y[i], x[i]);
    }
}

#endif
