/* The sums of depthwise_conv2d.c with Arm's Helium (MVE): 16 or 8 channels at once, the same bits.
 *
 * |x - zero_point| <= 255 fits 16 bits, and products of 16 by 16 bits are exact in 32. Where the
 * channels are no multiple of a block, the last block begins earlier and some are summed twice. */
#if defined(__ARM_FEATURE_MVE)

#include "depthwise_conv2d.h"

#include <arm_mve.h>

enum { LANES = 8 };

/* sums (LANES,) += (x - zero_point)*weights; val[0] has the even lanes, val[1] the odd ones. */
static inline int32x4x2_t add_products(int32x4x2_t sums, int16x8_t x, int16_t zero_point,
                                       const int8_t *weights)
{
    const int16x8_t values = vsubq_n_s16(x, zero_point), w = vldrbq_s16(weights);
    sums.val[0] = vaddq_s32(sums.val[0], vmullbq_int_s16(values, w));
    sums.val[1] = vaddq_s32(sums.val[1], vmulltq_int_s16(values, w));
    return sums;
}

/* The sums of the outputs o .. o + 2*LANES - 1, M = 1. */
static void sum_two_blocks(const struct npu_window *window, size_t o, int16_t zero_point,
                           const int32_t *bias, int32_t *acc)
{
    int32x4x2_t low = vld2q_s32(&bias[o]), high = vld2q_s32(&bias[o + LANES]);
    for (size_t row = 0; row < window->rows; row++) {
        const int8_t *x = &window->x[row * window->x_row + o];
        const int8_t *w = &window->weights[row * window->weights_row + o];
        for (size_t column = window->columns; column > 0; column--) {
            low = add_products(low, vldrbq_s16(x), zero_point, w);
            high = add_products(high, vldrbq_s16(x + LANES), zero_point, w + LANES);
            x += window->x_column;
            w += window->weights_column;
        }
    }
    vst2q_s32(&acc[o], low);
    vst2q_s32(&acc[o + LANES], high);
}

/* The sums of the outputs o .. o + LANES - 1, whose channels of x are `channel`. */
static void sum_block(const struct npu_window *window, size_t o, uint16x8_t channel,
                      int16_t zero_point, const int32_t *bias, int32_t *acc)
{
    int32x4x2_t sums = vld2q_s32(&bias[o]);
    for (size_t row = 0; row < window->rows; row++) {
        const int8_t *x = &window->x[row * window->x_row];
        const int8_t *w = &window->weights[row * window->weights_row + o];
        for (size_t column = window->columns; column > 0; column--) {
            sums = add_products(sums, vldrbq_gather_offset_s16(x, channel), zero_point, w);
            x += window->x_column;
            w += window->weights_column;
        }
    }
    vst2q_s32(&acc[o], sums);
}

/* The channels of the outputs o .. o + LANES - 1: o div M. */
static uint16x8_t channels_of(size_t o, size_t multiplier)
{
    uint16_t channel[LANES];
    for (size_t i = 0; i < LANES; i++) {
        channel[i] = (uint16_t)((o + i) / multiplier);
    }
    return vld1q_u16(channel);
}

/* One output, where there are fewer than a block. */
static int32_t sum_one(const struct npu_window *window, size_t o, size_t multiplier,
                       int32_t zero_point, int32_t bias)
{
    int32_t sum = bias;
    for (size_t row = 0; row < window->rows; row++) {
        const int8_t *x = &window->x[row * window->x_row + o / multiplier];
        const int8_t *w = &window->weights[row * window->weights_row + o];
        for (size_t column = window->columns; column > 0; column--) {
            sum = npu_add_wrapping(sum, (*x - zero_point) * *w);
            x += window->x_column;
            w += window->weights_column;
        }
    }
    return sum;
}

void npu_depthwise_sums(const struct npu_window *window, size_t channels, size_t multiplier,
                        int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    const size_t outputs = channels * multiplier;
    const size_t block = multiplier == 1 && outputs >= 2 * LANES ? 2 * LANES : LANES;
    if (outputs < LANES) {
        for (size_t o = 0; o < outputs; o++) {
            acc[o] = sum_one(window, o, multiplier, zero_point, bias[o]);
        }
        return;
    }
    for (size_t next = 0; next < outputs; next += block) {
        const size_t o = next + block <= outputs ? next : outputs - block;
        if (block == 2 * LANES) {
            sum_two_blocks(window, o, (int16_t)zero_point, bias, acc);
        } else {
            sum_block(window, o, channels_of(o, multiplier), (int16_t)zero_point, bias, acc);
        }
    }
}

#else

typedef int npu_depthwise_conv2d_mve_is_empty; /* ISO C wants something in every file */

#endif
