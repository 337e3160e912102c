/* The sums of mean.c with Arm's Helium (MVE): 4 sums, or 16 codes of one sum, at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "arith.h"
#include "mean.h"

enum { SUMS = 4, CODES = 16 };

void npu_add_codes(const int8_t *x, size_t n, int32_t *sums)
{
    for (size_t left = n / SUMS; left > 0; left--) {
        vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), vldrbq_s32(x)));
        x += SUMS;
        sums += SUMS;
    }
    for (size_t i = 0; i < n % SUMS; i++) {
        sums[i] = npu_add_wrapping(sums[i], x[i]);
    }
}

int32_t npu_total_of_codes(const int8_t *x, size_t n)
{
    int32_t total = 0;
    for (size_t left = n / CODES; left > 0; left--) {
        total = vaddvaq_s8(total, vld1q_s8(x));
        x += CODES;
    }
    return vaddvaq_s8(total, vld1q_z_s8(x, vctp8q((uint32_t)(n % CODES))));
}

#else

typedef int npu_mean_mve_is_empty; /* ISO C wants something in every file */

#endif
