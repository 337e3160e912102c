/* The loops of conv2d.c with Arm's Helium (MVE): 16 products in one instruction, the same bits.
 *
 * Outputs advance in pairs or threes along whole vectors; where they are no multiple of that, the
 * last ones begin earlier, and some are summed twice. What is left behind the last whole vector is
 * added afterwards. */
#if defined(__ARM_FEATURE_MVE)

#include "conv2d.h"

#include <arm_mve.h>

enum { LANES = 16 };

void npu_fill_codes(int8_t *to, int8_t value, size_t n)
{
    const int8x16_t values = vdupq_n_s8(value);
    for (size_t left = n / LANES; left > 0; left--) {
        vst1q_s8(to, values);
        to += LANES;
    }
    if (n % LANES != 0) {
        vst1q_p_s8(to, values, vctp8q((uint32_t)(n % LANES)));
    }
}

void npu_copy_codes(int8_t *to, const int8_t *from, size_t n)
{
    for (size_t left = n / LANES; left > 0; left--) {
        vst1q_s8(to, vld1q_s8(from));
        to += LANES;
        from += LANES;
    }
    if (n % LANES != 0) {
        const mve_pred16_t rest = vctp8q((uint32_t)(n % LANES));
        vst1q_p_s8(to, vld1q_z_s8(from, rest), rest);
    }
}

void npu_start_sums(const int8_t *weights, size_t outputs, size_t depth, const int32_t *bias,
                    int32_t zero_point, int32_t *start)
{
    const mve_pred16_t rest = vctp8q((uint32_t)(depth % LANES));
    for (size_t o = 0; o < outputs; o++) {
        int32_t sum = vaddvq_s8(vld1q_z_s8(&weights[depth - depth % LANES], rest));
        const int8_t *w = weights;
        for (size_t i = depth / LANES; i > 0; i--) {
            sum = vaddvaq_s8(sum, vld1q_s8(w));
            w += LANES;
        }
        weights += depth;
        start[o] = npu_add_wrapping(bias[o], npu_multiply_wrapping(-zero_point, sum));
    }
}

/* Whole vectors, at least one, of pairs of outputs, at least one, at NPU_POSITIONS positions: six
 * sums. */
static void dot_pairs(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                      int32_t *acc, size_t stride)
{
    const size_t vectors = depth / LANES;
    const int32_t *const end = acc + outputs;
    const int8_t *w0 = weights;
    do {
        const int8_t *p0 = patch, *p1 = p0 + depth, *p2 = p1 + depth, *w1 = w0 + depth;
        int32_t a0 = acc[0], a1 = a0, a2 = a0, b0 = acc[1], b1 = b0, b2 = b0;
        size_t left = vectors;
        do {
            const int8x16_t u = vld1q_s8(w0), v = vld1q_s8(w1);
            const int8x16_t x0 = vld1q_s8(p0), x1 = vld1q_s8(p1), x2 = vld1q_s8(p2);
            a0 = vmladavaq_s8(a0, x0, u);
            b0 = vmladavaq_s8(b0, x0, v);
            a1 = vmladavaq_s8(a1, x1, u);
            b1 = vmladavaq_s8(b1, x1, v);
            a2 = vmladavaq_s8(a2, x2, u);
            b2 = vmladavaq_s8(b2, x2, v);
            w0 += LANES;
            w1 += LANES;
            p0 += LANES;
            p1 += LANES;
            p2 += LANES;
        } while (--left > 0);
        int32_t *const sums0 = acc + stride, *const sums1 = sums0 + stride;
        int32_t *const sums2 = sums1 + stride;
        sums0[0] = a0;
        sums0[1] = b0;
        sums1[0] = a1;
        sums1[1] = b1;
        sums2[0] = a2;
        sums2[1] = b2;
        acc += 2;
        w0 = w1 + depth % LANES;
    } while (acc < end);
}

/* Whole vectors, at least one, of outputs in threes, each beside the sum of its weights. */
static void dot_threes(const int8_t *patch, int32_t zero_point, size_t depth,
                       const int8_t *weights, size_t outputs, const int32_t *bias, int32_t *acc)
{
    for (size_t o = 0; o < outputs; o += 3) {
        const int8_t *p = patch, *w0 = &weights[o * depth], *w1 = w0 + depth, *w2 = w1 + depth;
        int32_t a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], s0 = 0, s1 = 0, s2 = 0;
        size_t left = depth / LANES;
        do {
            const int8x16_t x = vld1q_s8(p);
            const int8x16_t u = vld1q_s8(w0), v = vld1q_s8(w1), w = vld1q_s8(w2);
            a0 = vmladavaq_s8(a0, x, u);
            a1 = vmladavaq_s8(a1, x, v);
            a2 = vmladavaq_s8(a2, x, w);
            s0 = vaddvaq_s8(s0, u);
            s1 = vaddvaq_s8(s1, v);
            s2 = vaddvaq_s8(s2, w);
            p += LANES;
            w0 += LANES;
            w1 += LANES;
            w2 += LANES;
        } while (--left > 0);
        acc[o] = npu_add_wrapping(a0, npu_multiply_wrapping(-zero_point, s0));
        acc[o + 1] = npu_add_wrapping(a1, npu_multiply_wrapping(-zero_point, s1));
        acc[o + 2] = npu_add_wrapping(a2, npu_multiply_wrapping(-zero_point, s2));
    }
}

/* Whole vectors of one output and the sum of its weights. */
static int32_t dot_one(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                       int32_t bias)
{
    int32_t a = bias, s = 0;
    for (size_t left = depth / LANES; left > 0; left--) {
        const int8x16_t w = vld1q_s8(weights);
        a = vmladavaq_s8(a, vld1q_s8(patch), w);
        s = vaddvaq_s8(s, w);
        patch += LANES;
        weights += LANES;
    }
    return npu_add_wrapping(a, npu_multiply_wrapping(-zero_point, s));
}

/* acc[o] += what lies behind the last whole vector. */
static void add_rest(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                     size_t outputs, int32_t *acc)
{
    const size_t rest = depth % LANES;
    const mve_pred16_t inside = vctp8q((uint32_t)rest);
    const int8x16_t x = vld1q_z_s8(&patch[depth - rest], inside);
    const int8_t *w = &weights[depth - rest];
    for (size_t left = outputs; left > 0; left--) {
        const int8x16_t some = vld1q_z_s8(w, inside);
        const int32_t sum = npu_multiply_wrapping(-zero_point, vaddvq_s8(some));
        *acc = npu_add_wrapping(vmladavaq_s8(*acc, x, some), sum);
        acc++;
        w += depth;
    }
}

/* The same at NPU_POSITIONS positions. */
static void add_rests(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                      int32_t *acc, size_t stride)
{
    const size_t rest = depth % LANES;
    const mve_pred16_t inside = vctp8q((uint32_t)rest);
    const int8x16_t x0 = vld1q_z_s8(&patch[depth - rest], inside);
    const int8x16_t x1 = vld1q_z_s8(&patch[2 * depth - rest], inside);
    const int8x16_t x2 = vld1q_z_s8(&patch[3 * depth - rest], inside);
    const int8_t *w = &weights[depth - rest];
    int32_t *acc0 = acc + stride, *acc1 = acc0 + stride, *acc2 = acc1 + stride;
    for (size_t left = outputs; left > 0; left--) {
        const int8x16_t some = vld1q_z_s8(w, inside);
        *acc0 = vmladavaq_s8(*acc0, x0, some);
        *acc1 = vmladavaq_s8(*acc1, x1, some);
        *acc2 = vmladavaq_s8(*acc2, x2, some);
        acc0++;
        acc1++;
        acc2++;
        w += depth;
    }
}

void npu_dot_block(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                   int32_t *acc, size_t stride)
{
    if (outputs < 2 || depth < LANES) {
        for (size_t p = 0; p < NPU_POSITIONS; p++) {
            int32_t *const sums = &acc[(p + 1) * stride];
            npu_dot_row(&patch[p * depth], 0, depth, weights, outputs, acc, sums);
        }
        return;
    }
    dot_pairs(patch, depth, weights, outputs - outputs % 2, acc, stride);
    if (outputs % 2 != 0) {
        const size_t o = outputs - 2;
        dot_pairs(patch, depth, &weights[o * depth], 2, &acc[o], stride);
    }
    if (depth % LANES != 0) {
        add_rests(patch, depth, weights, outputs, acc, stride);
    }
}

void npu_dot_row(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                 size_t outputs, const int32_t *bias, int32_t *acc)
{
    if (outputs < 3 || depth < LANES) {
        for (size_t o = 0; o < outputs; o++) {
            acc[o] = dot_one(patch, zero_point, depth, &weights[o * depth], bias[o]);
        }
    } else {
        dot_threes(patch, zero_point, depth, weights, outputs - outputs % 3, bias, acc);
        if (outputs % 3 != 0) {
            const size_t o = outputs - 3;
            dot_threes(patch, zero_point, depth, &weights[o * depth], 3, &bias[o], &acc[o]);
        }
    }
    if (depth % LANES != 0) {
        add_rest(patch, zero_point, depth, weights, outputs, acc);
    }
}

#else

typedef int npu_conv2d_mve_is_empty; /* ISO C wants something in every file */

#endif
