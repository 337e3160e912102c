#include "neural_art.h"

#include "arith.h"
#include "ties.h"

enum { INT24_MAX = (1 << 23) - 1 };
enum { SAFE_PRODUCTS = 1 << 16 }; /* so many products below 2^15 each fit an int32 */

static int64_t sat16(int64_t value)
{
    return npu_clamp(value, INT16_MIN, INT16_MAX);
}

/* What passes on after a piece with the sum `acc`. */
static int64_t folded(int64_t acc, int64_t partial, const struct npu_neural_art *r)
{
    if (r->partial_bits == 24) {
        return npu_clamp(partial + acc, -INT24_MAX - 1, INT24_MAX);
    }
    return sat16(npu_rounded_shift(acc + partial * ((int64_t)1 << r->s0), r->s0, r->round0));
}

/* r0 from what passed on after the last piece. */
static int64_t reduced(int64_t partial, const struct npu_neural_art *r)
{
    return r->partial_bits == 24 ? sat16(npu_rounded_shift(partial, r->s0, r->round0)) : partial;
}

/* Second and third stage of output channel o, and the clamp. */
static int8_t code(int64_t r0, int32_t o, const struct npu_neural_art *r)
{
    const int64_t r1 = sat16(npu_rounded_shift(r0 * r->a_c[o], r->s1, r->round1));
    const int64_t r2 = npu_rounded_shift(r1 * r->a2 + r->bc_c[o], r->s2, r->round2);
    return (int8_t)npu_clamp(r2, r->act_min, r->act_max);
}

/* r0 of one output with these weights. */
static int64_t reduced_sum(const int16_t *patch, const int8_t *weights,
                           const struct npu_neural_art *r)
{
    int64_t acc = 0, partial = 0;
    for (size_t s = 0; s < r->run_count; s++) {
        const int32_t *const run = &r->runs[3 * s];
        acc += npu_neural_art_dot(&patch[run[0]], &weights[run[0]], (size_t)run[1]);
        if (run[2]) {
            partial = folded(acc, partial, r);
            acc = 0;
        }
    }
    return reduced(partial, r);
}

/* A position of the output: its image (H,W,C), row and column. */
struct position {
    const int8_t *image;
    int32_t oh;
    int32_t ow;
};

/* The index-th position of the output. */
static struct position position_at(const int8_t *x, const struct npu_conv2d *g, int32_t index)
{
    const int32_t n = index / (g->oh * g->ow);
    const struct position position = {
        &x[(size_t)(n * g->h * g->w) * (size_t)g->c], index / g->ow % g->oh, index % g->ow
    };
    return position;
}

/* The input's cell (C,) under a tap of the kernel, or NULL outside. */
static const int8_t *cell_under(const struct position *at, int32_t tap, const struct npu_conv2d *g)
{
    const int32_t h = at->oh * g->stride_h - g->pad_top + tap / g->kw * g->dilation_h;
    const int32_t w = at->ow * g->stride_w - g->pad_left + tap % g->kw * g->dilation_w;
    if (h < 0 || h >= g->h || w < 0 || w >= g->w) {
        return NULL;
    }
    return &at->image[(size_t)(h * g->w + w) * (size_t)g->c];
}

/* patch (KH,KW,I) = x - x_zero_point under the kernel, 0 outside the input. */
static void gather_patch(const struct position *at, int32_t group, const struct npu_conv2d *g,
                         int16_t *patch)
{
    const int32_t channels = g->c / g->groups;
    for (int32_t tap = 0; tap < g->kh * g->kw; tap++) {
        const int8_t *const cell = cell_under(at, tap, g);
        for (int32_t i = 0; i < channels; i++) {
            *patch++ = (int16_t)(cell == NULL ? 0 : cell[group * channels + i] - g->x_zero_point);
        }
    }
}

void npu_neural_art_conv2d(const int8_t *x, const int8_t *weights, const struct npu_conv2d *g,
                           const struct npu_neural_art *r, int8_t *y, int16_t *patch)
{
    const int32_t outputs = g->o / g->groups;
    const size_t depth = (size_t)(g->kh * g->kw * (g->c / g->groups));
    for (int32_t index = 0; index < g->n * g->oh * g->ow; index++) {
        const struct position at = position_at(x, g, index);
        for (int32_t o = 0; o < g->o; o++) {
            if (o % outputs == 0) {
                gather_patch(&at, o / outputs, g, patch);
            }
            *y++ = code(reduced_sum(patch, &weights[(size_t)o * depth], r), o, r);
        }
    }
}

/* acc (O,) += products of one tap; cell (C,), weights (O,). */
static void add_products(const int8_t *cell, const int8_t *weights, const struct npu_conv2d *g,
                         int64_t *acc)
{
    const int32_t multiplier = g->o / g->c;
    for (int32_t o = 0; o < g->o; o++) {
        acc[o] += (cell[o / multiplier] - g->x_zero_point) * weights[o];
    }
}

/* acc (O,) += products of a run of taps. */
static void add_run(const struct position *at, const int8_t *weights, const int32_t *run,
                    const struct npu_conv2d *g, int64_t *acc)
{
    for (int32_t tap = run[0]; tap < run[0] + run[1]; tap++) {
        const int8_t *const cell = cell_under(at, tap, g);
        if (cell != NULL) {
            add_products(cell, &weights[(size_t)tap * (size_t)g->o], g, acc);
        }
    }
}

void npu_neural_art_depthwise_conv2d(const int8_t *x, const int8_t *weights,
                                     const struct npu_conv2d *g, const struct npu_neural_art *r,
                                     int8_t *y, int64_t *acc, int64_t *partial)
{
    for (int32_t index = 0; index < g->n * g->oh * g->ow; index++) {
        const struct position at = position_at(x, g, index);
        for (int32_t o = 0; o < g->o; o++) {
            acc[o] = 0;
            partial[o] = 0;
        }
        for (size_t s = 0; s < r->run_count; s++) {
            const int32_t *const run = &r->runs[3 * s];
            add_run(&at, weights, run, g, acc);
            for (int32_t o = 0; run[2] && o < g->o; o++) {
                partial[o] = folded(acc[o], partial[o], r);
                acc[o] = 0;
            }
        }
        for (int32_t o = 0; o < g->o; o++) {
            *y++ = code(reduced(partial[o], r), o, r);
        }
    }
}

void npu_neural_art_fully_connected(const int8_t *x, const int8_t *weights,
                                    const struct npu_fully_connected *g,
                                    const struct npu_neural_art *r, int8_t *y, int16_t *patch)
{
    for (int32_t n = 0; n < g->n; n++) {
        for (int32_t i = 0; i < g->i; i++) {
            patch[i] = (int16_t)(*x++ - g->x_zero_point);
        }
        for (int32_t o = 0; o < g->o; o++) {
            const int8_t *const row = &weights[(size_t)o * (size_t)g->i];
            *y++ = code(reduced_sum(patch, row, r), o, r);
        }
    }
}

#if !defined(__ARM_FEATURE_MVE)

int64_t npu_neural_art_dot(const int16_t *a, const int8_t *b, size_t n)
{
    int64_t sum = 0;
    for (size_t done = 0; done < n; done += SAFE_PRODUCTS) {
        const size_t end = n - done < SAFE_PRODUCTS ? n : done + SAFE_PRODUCTS;
        int32_t part = 0;
        for (size_t i = done; i < end; i++) {
            part += a[i] * b[i];
        }
        sum += part;
    }
    return sum;
}

#endif
