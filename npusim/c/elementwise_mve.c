/* The hot loops of elementwise.c with Arm's Helium (MVE): 4 numbers at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "arith.h"
#include "elementwise.h"

enum { LANES = 4 };

void npu_differences(const int8_t *x, size_t start, size_t stride, size_t n, int32_t zero_point,
                     int32_t *out)
{
    const int8_t *from = &x[start];
    int32x4_t differences = vdupq_n_s32(*from - zero_point);
    for (size_t left = n / LANES; left > 0; left--) {
        if (stride != 0) {
            differences = vsubq_n_s32(vldrbq_s32(from), zero_point);
            from += LANES;
        }
        vst1q_s32(out, differences);
        out += LANES;
    }
    for (size_t i = 0; i < n % LANES; i++) {
        out[i] = from[i * stride] - zero_point;
    }
}

void npu_shift_left(int32_t *values, size_t n, int32_t exponent)
{
    for (size_t left = n / LANES; left > 0; left--) {
        vst1q_s32(values, vshlq_r_s32(vld1q_s32(values), exponent));
        values += LANES;
    }
    for (size_t i = 0; i < n % LANES; i++) {
        values[i] = npu_shift_left_wrapping(values[i], exponent);
    }
}

void npu_add_to(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t left = n / LANES; left > 0; left--) {
        vst1q_s32(values, vaddq_s32(vld1q_s32(values), vld1q_s32(others)));
        values += LANES;
        others += LANES;
    }
    for (size_t i = 0; i < n % LANES; i++) {
        values[i] = npu_add_wrapping(values[i], others[i]);
    }
}

void npu_multiply_by(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t left = n / LANES; left > 0; left--) {
        vst1q_s32(values, vmulq_s32(vld1q_s32(values), vld1q_s32(others)));
        values += LANES;
        others += LANES;
    }
    for (size_t i = 0; i < n % LANES; i++) {
        values[i] = npu_multiply_wrapping(values[i], others[i]);
    }
}

#else

typedef int npu_elementwise_mve_is_empty; /* ISO C wants something in every file */

#endif
