/* The hot loops of elementwise.c with Arm's Helium (MVE): 4 numbers at once, the same bits.
 *
 * What is left over behind the last four goes one by one, and so does an operand that is shifted
 * left by its multiplier, which no add has. */
#if defined(__ARM_FEATURE_MVE)

#include "elementwise.h"

#include "requantize_mve.h"

enum { LANES = 4 };

/* sums (n,) = scaled codes or, with `adds`, += scaled codes, n a multiple of LANES, stride 1.
 *
 * rule   below a shift of 0, or double_rounding_up */
static inline void scale_lanes(const struct npu_operand *operand, size_t n, int32_t rule,
                               int32_t adds, int32_t *sums)
{
    const int32x4_t multiplier = vdupq_n_s32(operand->r->multiplier[0]);
    const int32x4_t shift = vdupq_n_s32(operand->r->shift[0]);
    const int32_t zero_point = operand->zero_point, left_shift = operand->left_shift;
    const int8_t *x = operand->x;
    for (size_t left = n / LANES; left > 0; left--) {
        const int32x4_t differences = vsubq_n_s32(vldrbq_s32(x), zero_point);
        const int32x4_t shifted = vshlq_r_s32(differences, left_shift);
        const int32x4_t scaled = npu_scaled_lanes(shifted, multiplier, shift, rule, 1);
        vst1q_s32(sums, adds ? vaddq_s32(vld1q_s32(sums), scaled) : scaled);
        x += LANES;
        sums += LANES;
    }
}

/* The same, the rule a constant in each loop. */
static inline void scale_whole(const struct npu_operand *operand, size_t n, int32_t adds,
                               int32_t *sums)
{
    /* without a shift to the right all rules are one */
    const int32_t shifted = operand->r->shift[0] < 0;
    switch (shifted ? operand->r->rounding.rule : NPU_DOUBLE_ROUNDING_UP) {
    case NPU_DOUBLE_ROUNDING:
        scale_lanes(operand, n, NPU_DOUBLE_ROUNDING, adds, sums);
        break;
    case NPU_DOUBLE_ROUNDING_UP:
        scale_lanes(operand, n, NPU_DOUBLE_ROUNDING_UP, adds, sums);
        break;
    case NPU_SINGLE_ROUNDING:
        scale_lanes(operand, n, NPU_SINGLE_ROUNDING, adds, sums);
        break;
    default:
        scale_lanes(operand, n, NPU_DOUBLE_ROUNDING_DOWN, adds, sums);
        break;
    }
}

/* All of them: in lanes where they move and are not shifted left, a constant where they do not. */
static inline void scale(const struct npu_operand *operand, size_t n, int32_t adds, int32_t *sums)
{
    const struct npu_rounding *rounding = &operand->r->rounding;
    const size_t whole = n - n % (size_t)rounding->block;
    const size_t lanes = operand->stride == 1 && operand->r->shift[0] <= 0 ? whole / LANES : 0;
    scale_whole(operand, lanes * LANES, adds, sums);
    int32_t scaled = 0;
    for (size_t i = lanes * LANES; i < n; i++) {
        if (operand->stride == 1 || i == 0 || i == whole) {
            const int32_t rule = i < whole ? rounding->rule : rounding->rest;
            scaled = npu_scaled_code(operand, i, rule);
        }
        sums[i] = adds ? npu_add_wrapping(sums[i], scaled) : scaled;
    }
}

void npu_scale_operand(const struct npu_operand *operand, size_t n, int32_t *sums)
{
    scale(operand, n, 0, sums);
}

void npu_add_operand(const struct npu_operand *operand, size_t n, int32_t *sums)
{
    scale(operand, n, 1, sums);
}

void npu_multiply(const int8_t *a, size_t a_stride, const int8_t *b, size_t b_stride, size_t n,
                  const struct npu_mul *p, int32_t *products)
{
    const int32_t a_zero_point = p->a_zero_point, b_zero_point = p->b_zero_point;
    const size_t lanes = a_stride == 1 && b_stride == 1 ? n / LANES : 0;
    int32_t *to = products;
    for (size_t left = lanes; left > 0; left--) {
        const int32x4_t x = vsubq_n_s32(vldrbq_s32(a), a_zero_point);
        vst1q_s32(to, vmulq_s32(x, vsubq_n_s32(vldrbq_s32(b), b_zero_point)));
        a += LANES;
        b += LANES;
        to += LANES;
    }
    for (size_t left = n - lanes * LANES; left > 0; left--) {
        *to = (*a - a_zero_point) * (*b - b_zero_point);
        a += a_stride;
        b += b_stride;
        to++;
    }
}

#else

typedef int npu_elementwise_mve_is_empty; /* ISO C wants something in every file */

#endif
