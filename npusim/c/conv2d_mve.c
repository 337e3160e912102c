/* The sums of conv2d.c with Arm's Helium (MVE): 16 products in one instruction, the same bits. */
#if defined(__ARM_FEATURE_MVE)

#include "conv2d.h"

#include <arm_mve.h>

enum { LANES = 16 };

void npu_start_sums(const int8_t *weights, size_t outputs, size_t depth, const int32_t *bias,
                    int32_t zero_point, int32_t *start)
{
    const mve_pred16_t rest = vctp8q((uint32_t)(depth % LANES));
    for (size_t o = 0; o < outputs; o++) {
        int32_t sum = 0;
        for (size_t i = depth / LANES; i > 0; i--) {
            sum = vaddvaq_s8(sum, vld1q_s8(weights));
            weights += LANES;
        }
        sum = vaddvaq_s8(sum, vld1q_z_s8(weights, rest));
        weights += depth % LANES;
        start[o] = npu_add_wrapping(bias[o], npu_multiply_wrapping(-zero_point, sum));
    }
}

/* Two outputs at NPU_POSITIONS positions: six sums of five vectors. */
static void dot_two_outputs(const int8_t *patch, size_t depth, const int8_t *weights,
                            const int32_t *start, int32_t *acc, size_t stride)
{
    const int8_t *p0 = patch, *p1 = p0 + depth, *p2 = p1 + depth;
    const int8_t *w0 = weights, *w1 = w0 + depth;
    int32_t a0 = start[0], a1 = a0, a2 = a0, b0 = start[1], b1 = b0, b2 = b0;
    for (size_t i = depth / LANES; i > 0; i--) {
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
    }
    if (depth % LANES != 0) {
        const mve_pred16_t rest = vctp8q((uint32_t)(depth % LANES));
        const int8x16_t u = vld1q_z_s8(w0, rest), v = vld1q_z_s8(w1, rest);
        const int8x16_t x0 = vld1q_z_s8(p0, rest), x1 = vld1q_z_s8(p1, rest);
        const int8x16_t x2 = vld1q_z_s8(p2, rest);
        a0 = vmladavaq_s8(a0, x0, u);
        b0 = vmladavaq_s8(b0, x0, v);
        a1 = vmladavaq_s8(a1, x1, u);
        b1 = vmladavaq_s8(b1, x1, v);
        a2 = vmladavaq_s8(a2, x2, u);
        b2 = vmladavaq_s8(b2, x2, v);
    }
    acc[0] = a0;
    acc[1] = b0;
    acc[stride] = a1;
    acc[stride + 1] = b1;
    acc[2 * stride] = a2;
    acc[2 * stride + 1] = b2;
}

void npu_dot_block(const int8_t *patch, size_t depth, const int8_t *weights, size_t outputs,
                   const int32_t *start, int32_t *acc, size_t stride)
{
    size_t o = 0;
    for (; o + 2 <= outputs; o += 2) {
        dot_two_outputs(patch, depth, weights, &start[o], &acc[o], stride);
        weights += 2 * depth;
    }
    for (size_t p = 0; p < NPU_POSITIONS && o < outputs; p++) {
        npu_dot_row(&patch[p * depth], 0, depth, weights, 1, &start[o], &acc[p * stride + o]);
    }
}

/* One output and the sum of its weights. */
static int32_t dot_one(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                       int32_t bias)
{
    const mve_pred16_t rest = vctp8q((uint32_t)(depth % LANES));
    int32_t a = bias, s = 0;
    for (size_t i = depth / LANES; i > 0; i--) {
        const int8x16_t w = vld1q_s8(weights);
        a = vmladavaq_s8(a, vld1q_s8(patch), w);
        s = vaddvaq_s8(s, w);
        patch += LANES;
        weights += LANES;
    }
    const int8x16_t w = vld1q_z_s8(weights, rest);
    a = vmladavaq_s8(a, vld1q_z_s8(patch, rest), w);
    s = vaddvaq_s8(s, w);
    return npu_add_wrapping(a, npu_multiply_wrapping(-zero_point, s));
}

/* Three outputs and the sums of their weights. */
static void dot_three(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                      const int32_t *bias, int32_t *acc)
{
    const int8_t *w0 = weights, *w1 = w0 + depth, *w2 = w1 + depth;
    int32_t a0 = bias[0], a1 = bias[1], a2 = bias[2], s0 = 0, s1 = 0, s2 = 0;
    for (size_t i = depth / LANES; i > 0; i--) {
        const int8x16_t x = vld1q_s8(patch);
        const int8x16_t u = vld1q_s8(w0), v = vld1q_s8(w1), w = vld1q_s8(w2);
        a0 = vmladavaq_s8(a0, x, u);
        a1 = vmladavaq_s8(a1, x, v);
        a2 = vmladavaq_s8(a2, x, w);
        s0 = vaddvaq_s8(s0, u);
        s1 = vaddvaq_s8(s1, v);
        s2 = vaddvaq_s8(s2, w);
        patch += LANES;
        w0 += LANES;
        w1 += LANES;
        w2 += LANES;
    }
    if (depth % LANES != 0) {
        const mve_pred16_t rest = vctp8q((uint32_t)(depth % LANES));
        const int8x16_t x = vld1q_z_s8(patch, rest);
        const int8x16_t u = vld1q_z_s8(w0, rest), v = vld1q_z_s8(w1, rest);
        const int8x16_t w = vld1q_z_s8(w2, rest);
        a0 = vmladavaq_s8(a0, x, u);
        a1 = vmladavaq_s8(a1, x, v);
        a2 = vmladavaq_s8(a2, x, w);
        s0 = vaddvaq_s8(s0, u);
        s1 = vaddvaq_s8(s1, v);
        s2 = vaddvaq_s8(s2, w);
    }
    acc[0] = npu_add_wrapping(a0, npu_multiply_wrapping(-zero_point, s0));
    acc[1] = npu_add_wrapping(a1, npu_multiply_wrapping(-zero_point, s1));
    acc[2] = npu_add_wrapping(a2, npu_multiply_wrapping(-zero_point, s2));
}

void npu_dot_row(const int8_t *patch, int32_t zero_point, size_t depth, const int8_t *weights,
                 size_t outputs, const int32_t *bias, int32_t *acc)
{
    size_t o = 0;
    for (; o + 3 <= outputs; o += 3) {
        dot_three(patch, zero_point, depth, weights, &bias[o], &acc[o]);
        weights += 3 * depth;
    }
    for (; o < outputs; o++) {
        acc[o] = dot_one(patch, zero_point, depth, weights, bias[o]);
        weights += depth;
    }
}

#else

typedef int npu_conv2d_mve_is_empty; /* ISO C wants something in every file */

#endif
