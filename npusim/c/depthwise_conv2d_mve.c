/* The sums of depthwise_conv2d.c with Arm's Helium (MVE): 16 or 8 channels at once, the same bits.
 *
 * Products of codes are exact in 16 bits, and so are those of x - zero_point, |255| at most, and
 * weights. Where the outputs are no multiple of a block, the last one begins earlier, and some are
 * summed twice. */
#if defined(__ARM_FEATURE_MVE)

#include "depthwise_conv2d.h"

#include <arm_mve.h>

enum { LANES = 8 };

/* The first output of the block that is to begin at `next`: earlier if it would not fit. */
static inline size_t block_at(size_t next, size_t block, size_t outputs)
{
    return next + block <= outputs ? next : outputs - block;
}

/* acc (outputs,) = bias + sums of (x - zero_point)*weights, M = 1, 2*LANES outputs or more. */
static inline void sum_wide_blocks(const struct npu_window *window, size_t outputs,
                                   int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    const size_t columns = window->columns, x_step = window->x_column;
    const size_t w_step = window->weights_column;
    for (size_t next = 0; next < outputs; next += 2 * LANES) {
        const size_t o = block_at(next, 2 * LANES, outputs);
        const int8_t *x_row = window->x + o, *w_row = window->weights + o;
        /* lane i of sum k belongs to output 4*i + k, as the products of bytes fall */
        const uint32x4_t fourth = vidupq_n_u32((uint32_t)o, 4);
        int32x4_t sum0 = vldrwq_gather_shifted_offset_s32(bias, fourth);
        int32x4_t sum1 = vldrwq_gather_shifted_offset_s32(bias + 1, fourth);
        int32x4_t sum2 = vldrwq_gather_shifted_offset_s32(bias + 2, fourth);
        int32x4_t sum3 = vldrwq_gather_shifted_offset_s32(bias + 3, fourth);
        for (size_t row = window->rows; row > 0; row--) {
            const int8_t *x = x_row, *w = w_row;
            size_t column = columns;
            do {
                const int8x16_t codes = vld1q_s8(x), weights = vld1q_s8(w);
                int16x8_t even = vmullbq_int_s8(codes, weights);
                int16x8_t odd = vmulltq_int_s8(codes, weights);
                if (zero_point != 0) {
                    even = vmlaq_n_s16(even, vmovlbq_s8(weights), (int16_t)-zero_point);
                    odd = vmlaq_n_s16(odd, vmovltq_s8(weights), (int16_t)-zero_point);
                }
                sum0 = vaddq_s32(sum0, vmovlbq_s16(even));
                sum1 = vaddq_s32(sum1, vmovlbq_s16(odd));
                sum2 = vaddq_s32(sum2, vmovltq_s16(even));
                sum3 = vaddq_s32(sum3, vmovltq_s16(odd));
                x += x_step;
                w += w_step;
            } while (--column > 0);
            x_row += window->x_row;
            w_row += window->weights_row;
        }
        vstrwq_scatter_shifted_offset_s32(acc, fourth, sum0);
        vstrwq_scatter_shifted_offset_s32(acc + 1, fourth, sum1);
        vstrwq_scatter_shifted_offset_s32(acc + 2, fourth, sum2);
        vstrwq_scatter_shifted_offset_s32(acc + 3, fourth, sum3);
    }
}

/* The channels of the outputs o .. o + LANES - 1: o div M. */
static uint16x8_t channels_of(size_t o, size_t multiplier)
{
    uint16_t channel[LANES];
    if (multiplier == 1) {
        return vidupq_n_u16((uint32_t)o, 1);
    }
    for (size_t i = 0; i < LANES; i++) {
        channel[i] = (uint16_t)((o + i) / multiplier);
    }
    return vld1q_u16(channel);
}

/* The same for any M, LANES outputs or more. */
static void sum_blocks(const struct npu_window *window, size_t outputs, size_t multiplier,
                       int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    const size_t columns = window->columns, x_step = window->x_column;
    const size_t w_step = window->weights_column;
    for (size_t next = 0; next < outputs; next += LANES) {
        const size_t o = block_at(next, LANES, outputs);
        const uint16x8_t channel = channels_of(o, multiplier);
        const int8_t *x_row = window->x, *w_row = window->weights + o;
        int32x4x2_t sums = vld2q_s32(&bias[o]);
        for (size_t row = window->rows; row > 0; row--) {
            const int8_t *x = x_row, *w = w_row;
            size_t column = columns;
            do {
                const int16x8_t codes = vldrbq_gather_offset_s16(x, channel);
                const int16x8_t values = vsubq_n_s16(codes, (int16_t)zero_point);
                const int16x8_t weights = vldrbq_s16(w);
                sums.val[0] = vaddq_s32(sums.val[0], vmullbq_int_s16(values, weights));
                sums.val[1] = vaddq_s32(sums.val[1], vmulltq_int_s16(values, weights));
                x += x_step;
                w += w_step;
            } while (--column > 0);
            x_row += window->x_row;
            w_row += window->weights_row;
        }
        vst2q_s32(&acc[o], sums);
    }
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

/* acc (n,) = bias: a window that holds no cell. */
static void copy_sums(const int32_t *bias, size_t n, int32_t *acc)
{
    for (size_t i = 0; i < n; i++) {
        acc[i] = bias[i];
    }
}

void npu_depthwise_sums(const struct npu_window *window, size_t channels, size_t multiplier,
                        int32_t zero_point, const int32_t *bias, int32_t *acc)
{
    const size_t outputs = channels * multiplier;
    if (window->rows == 0 || window->columns == 0) {
        copy_sums(bias, outputs, acc);
    } else if (outputs >= 2 * LANES && multiplier == 1 && zero_point == 0) {
        sum_wide_blocks(window, outputs, 0, bias, acc);
    } else if (outputs >= 2 * LANES && multiplier == 1) {
        sum_wide_blocks(window, outputs, zero_point, bias, acc);
    } else if (outputs >= LANES) {
        sum_blocks(window, outputs, multiplier, zero_point, bias, acc);
    } else {
        for (size_t o = 0; o < outputs; o++) {
            acc[o] = sum_one(window, o, multiplier, zero_point, bias[o]);
        }
    }
}

#else

typedef int npu_depthwise_conv2d_mve_is_empty; /* ISO C wants something in every file */

#endif
