/* The hot loops of elementwise.c with Arm's Helium (MVE): 4 numbers at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "arith.h"
#include "elementwise.h"

enum { LANES = 4 };

void npu_differences(const int8_t *x, size_t start, size_t stride, size_t n, int32_t zero_point,
                     int32_t *out)
{
    int32x4_t differences = vdupq_n_s32(x[start] - zero_point);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        if (stride != 0) {
            differences = vsubq_n_s32(vldrbq_s32(&x[start + i]), zero_point);
        }
        vst1q_s32(&out[i], differences);
    }
    for (; i < n; i++) {
        out[i] = x[start + i * stride] - zero_point;
    }
}

void npu_shift_left(int32_t *values, size_t n, int32_t exponent)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vst1q_s32(&values[i], vshlq_r_s32(vld1q_s32(&values[i]), exponent));
    }
    for (; i < n; i++) {
        values[i] = npu_shift_left_wrapping(values[i], exponent);
    }
}

void npu_add_to(int32_t *values, size_t n, const int32_t *others)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vst1q_s32(&values[i], vaddq_s32(vld1q_s32(&values[i]), vld1q_s32(&others[i])));
    }
    for (; i < n; i++) {
        values[i] = npu_add_wrapping(values[i], others[i]);
    }
}

void npu_multiply_by(int32_t *values, size_t n, const int32_t *others)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vst1q_s32(&values[i], vmulq_s32(vld1q_s32(&values[i]), vld1q_s32(&others[i])));
    }
    for (; i < n; i++) {
        values[i] = npu_multiply_wrapping(values[i], others[i]);
    }
}

#else

typedef int npu_elementwise_mve_is_empty; /* ISO C wants something in every file */

#endif
