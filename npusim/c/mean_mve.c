/* The sums of mean.c with Arm's Helium (MVE): 4 sums, or 16 codes of one sum, at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "mean.h"

enum { SUMS = 4, CODES = 16 };

void npu_add_codes(const int8_t *x, size_t n, int32_t *sums)
{
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS) {
        vst1q_s32(&sums[i], vaddq_s32(vld1q_s32(&sums[i]), vldrbq_s32(&x[i])));
    }
    if (i < n) {
        const mve_pred16_t rest = vctp32q((uint32_t)(n - i));
        const int32x4_t codes = vldrbq_z_s32(&x[i], rest);
        vst1q_p_s32(&sums[i], vaddq_s32(vld1q_z_s32(&sums[i], rest), codes), rest);
    }
}

int32_t npu_total_of_codes(const int8_t *x, size_t n)
{
    int32_t total = 0;
    size_t i = 0;
    for (; i + CODES <= n; i += CODES) {
        total = vaddvaq_s8(total, vld1q_s8(&x[i]));
    }
    return vaddvaq_s8(total, vld1q_z_s8(&x[i], vctp8q((uint32_t)(n - i))));
}

#else

typedef int npu_mean_mve_is_empty; /* ISO C wants something in every file */

#endif
