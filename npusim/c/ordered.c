#include "ordered.h"

/* Sums under way, one for each output of a position. */
struct sums {
    int64_t *acc;
    int64_t *first;
    int64_t low;
    int64_t high;
};

/* Lowest and highest sum that is kept: the accumulator's range, int64's under NPU_WRAP. */
static struct sums sums_of(const struct npu_accumulation *a, int64_t *acc, int64_t *first)
{
    const int32_t bits = a->overflow == NPU_WRAP ? 64 : a->bits;
    const int64_t high = (int64_t)(UINT64_MAX >> (65 - bits));
    const struct sums sums = {acc, first, -high - 1, high};
    return sums;
}

/* acc = bias, clamped as any sum is. */
static void begin(const int32_t *bias, size_t outputs, const struct sums *sums)
{
    for (size_t o = 0; o < outputs; o++) {
        const int64_t exact = bias[o];
        sums->acc[o] = npu_clamp(exact, sums->low, sums->high);
        sums->first[o] = sums->acc[o] == exact ? 0 : exact;
    }
}

/* acc[channel + j] += value * weights[j*step], clamped, for j < outputs. */
static inline void add_products(int32_t value, const int8_t *weights, size_t step, size_t channel,
                                size_t outputs, const struct sums *sums)
{
    for (size_t o = channel; o < channel + outputs; o++) {
        const int64_t exact = sums->acc[o] + value * *weights;
        const int64_t kept = npu_clamp(exact, sums->low, sums->high);
        if (kept != exact && sums->first[o] == 0) {
            sums->first[o] = exact;
        }
        sums->acc[o] = kept;
        weights += step;
    }
}

/* Wrap the exact sums under NPU_WRAP; report the first overflow under NPU_ERROR. */
static void finish(size_t index, size_t outputs, const struct npu_accumulation *a,
                   const struct sums *sums, int64_t *fault)
{
    if (a->overflow == NPU_WRAP) {
        const int32_t spare = 64 - a->bits;
        for (size_t o = 0; o < outputs; o++) {
            sums->acc[o] = (int64_t)((uint64_t)sums->acc[o] << spare) >> spare;
        }
    }
    for (size_t o = 0; o < outputs && a->overflow == NPU_ERROR && fault[0] < 0; o++) {
        if (sums->first[o] != 0) {
            fault[0] = (int64_t)(index + o);
            fault[1] = sums->first[o];
        }
    }
}

/* A convolution's products at one output position.
 *
 * repeats   outputs of an input channel: of its group, or the multiplier of a depthwise layer
 * inputs    channels of a group; 1 for a depthwise layer
 * step      weights from one output to the next
 * cell      weights from one kernel cell to the next */
struct walk {
    size_t repeats;
    size_t inputs;
    size_t step;
    size_t cell;
};

/* The products of one kernel cell: x (C,) and the weights of the cell. */
static void add_cell(const int8_t *x, const int8_t *weights, const struct npu_conv2d *g,
                     const struct walk *walk, const struct sums *sums)
{
    for (size_t c = 0; c < (size_t)g->c; c++) {
        const size_t o = c / walk->inputs * walk->repeats;
        add_products(x[c] - g->x_zero_point, &weights[o * walk->step + c % walk->inputs],
                     walk->step, o, walk->repeats, sums);
    }
}

/* The products of an output position, kernel row by kernel row. */
static void add_position(const int8_t *x, const int8_t *weights, size_t position,
                         const struct npu_conv2d *g, const struct walk *walk,
                         const struct sums *sums)
{
    const size_t oh = position / (size_t)g->ow % (size_t)g->oh;
    const size_t n = position / ((size_t)g->oh * (size_t)g->ow);
    const int32_t h0 = (int32_t)oh * g->stride_h - g->pad_top;
    const int32_t w0 = (int32_t)(position % (size_t)g->ow) * g->stride_w - g->pad_left;
    for (int32_t kh = 0; kh < g->kh; kh++) {
        const int32_t h = h0 + kh * g->dilation_h;
        for (int32_t kw = 0; kw < g->kw; kw++) {
            const int32_t w = w0 + kw * g->dilation_w;
            if (h >= 0 && h < g->h && w >= 0 && w < g->w) {
                const size_t cell = (n * (size_t)g->h + (size_t)h) * (size_t)g->w + (size_t)w;
                const size_t tap = (size_t)(kh * g->kw + kw);
                add_cell(&x[cell * (size_t)g->c], &weights[tap * walk->cell], g, walk, sums);
            }
        }
    }
}

/* All positions of a convolution. */
static void convolve(const int8_t *x, const int8_t *weights, const int32_t *bias,
                     const struct npu_conv2d *g, const struct npu_requantization *r,
                     const struct npu_accumulation *a, int8_t *y, int64_t *acc, int64_t *first,
                     int64_t *fault, const struct walk *walk)
{
    const struct sums sums = sums_of(a, acc, first);
    const size_t positions = (size_t)g->n * (size_t)g->oh * (size_t)g->ow, o = (size_t)g->o;
    for (size_t position = 0; position < positions; position++) {
        begin(bias, o, &sums);
        add_position(x, weights, position, g, walk, &sums);
        finish(position * o, o, a, &sums, fault);
        npu_requantize_rows_int64(acc, 1, o, r, y, position * o);
    }
}

void npu_conv2d_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                        const struct npu_conv2d *g, const struct npu_requantization *r,
                        const struct npu_accumulation *a, int8_t *y, int64_t *acc, int64_t *first,
                        int64_t *fault)
{
    const size_t inputs = (size_t)(g->c / g->groups), cells = (size_t)g->kh * (size_t)g->kw;
    const struct walk walk = {(size_t)(g->o / g->groups), inputs, cells * inputs, inputs};
    convolve(x, weights, bias, g, r, a, y, acc, first, fault, &walk);
}

void npu_depthwise_conv2d_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                                  const struct npu_conv2d *g, const struct npu_requantization *r,
                                  const struct npu_accumulation *a, int8_t *y, int64_t *acc,
                                  int64_t *first, int64_t *fault)
{
    const struct walk walk = {(size_t)(g->o / g->c), 1, 1, (size_t)g->o};
    convolve(x, weights, bias, g, r, a, y, acc, first, fault, &walk);
}

void npu_fully_connected_ordered(const int8_t *x, const int8_t *weights, const int32_t *bias,
                                 const struct npu_fully_connected *g,
                                 const struct npu_requantization *r,
                                 const struct npu_accumulation *a, int8_t *y, int64_t *acc,
                                 int64_t *first, int64_t *fault)
{
    const struct sums sums = sums_of(a, acc, first);
    const size_t inputs = (size_t)g->i, o = (size_t)g->o;
    for (size_t n = 0; n < (size_t)g->n; n++) {
        begin(bias, o, &sums);
        for (size_t i = 0; i < inputs; i++) {
            add_products(x[n * inputs + i] - g->x_zero_point, &weights[i], inputs, 0, o, &sums);
        }
        finish(n * o, o, a, &sums, fault);
        npu_requantize_rows_int64(acc, 1, o, r, y, n * o);
    }
}
