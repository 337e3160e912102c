/* The hot loops of elementwise.c with Arm's Helium (MVE): 4 numbers at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "elementwise.h"

enum { LANES = 4 };

/* The lanes of numbers i, i + 1, .. below n. */
static inline mve_pred16_t lanes_below(size_t i, size_t n)
{
    return vctp32q((uint32_t)(n - i));
}

void npu_differences(const int8_t *x, size_t start, size_t stride, size_t n, int32_t zero_point,
                     int32_t *out)
{
    const int32x4_t first = vdupq_n_s32(x[start] - zero_point);
    for (size_t i = 0; i < n; i += LANES) {
        const mve_pred16_t lanes = lanes_below(i, n);
        if (stride == 0) {
            vst1q_p_s32(&out[i], first, lanes);
        } else {
            const int32x4_t codes = vldrbq_z_s32(&x[start + i], lanes);
            vst1q_p_s32(&out[i], vsubq_n_s32(codes, zero_point), lanes);
        }
    }
}

void npu_shift_left(int32_t *values, size_t n, int32_t exponent)
{
    for (size_t i = 0; i < n; i += LANES) {
        const mve_pred16_t lanes = lanes_below(i, n);
        vst1q_p_s32(&values[i], vshlq_r_s32(vld1q_z_s32(&values[i], lanes), exponent), lanes);
    }
}

void npu_add_to(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t i = 0; i < n; i += LANES) {
        const mve_pred16_t lanes = lanes_below(i, n);
        const int32x4_t other = vld1q_z_s32(&others[i], lanes);
        vst1q_p_s32(&values[i], vaddq_s32(vld1q_z_s32(&values[i], lanes), other), lanes);
    }
}

void npu_multiply_by(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t i = 0; i < n; i += LANES) {
        const mve_pred16_t lanes = lanes_below(i, n);
        const int32x4_t other = vld1q_z_s32(&others[i], lanes);
        vst1q_p_s32(&values[i], vmulq_s32(vld1q_z_s32(&values[i], lanes), other), lanes);
    }
}

#else

typedef int npu_elementwise_mve_is_empty; /* ISO C wants something in every file */

#endif
