/* Four accumulators at once by each rule, with Arm's Helium (MVE). */
#ifndef NPU_REQUANTIZE_MVE_H
#define NPU_REQUANTIZE_MVE_H

#include "requantize.h"

#include <arm_mve.h>

/* acc * multiplier * 2^(shift - 31) by a rule of `enum npu_requantize_rule`, as `npu_requantize`.
 *
 * vqrdmulh is rounding_high_mul.
 *
 * shift   of single_rounding below 0
 * right   whether every shift is below 0: fewer instructions, the same bits */
static inline int32x4_t npu_scaled_lanes(int32x4_t acc, int32x4_t multiplier, int32x4_t shift,
                                         int32_t rule, int32_t right)
{
    if (rule == NPU_SINGLE_ROUNDING) {
        /* what floor(2*acc*multiplier / 2^32) drops lies below the rounding bit */
        return vrshlq_s32(vqdmulhq_s32(acc, multiplier), shift);
    }
    const int32x4_t zero = vdupq_n_s32(0), down = right ? shift : vminq_s32(shift, zero);
    const int32x4_t all = right ? acc : vshlq_s32(acc, vmaxq_s32(shift, zero));
    const int32x4_t high = vqrdmulhq_s32(all, multiplier);
    if (rule == NPU_DOUBLE_ROUNDING) {
        /* what is negative and shifted gives one up, so that its ties go down */
        const int32x4_t shifted = right ? high : vandq_s32(high, down);
        return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(shifted, 31)), down);
    }
    return rule == NPU_DOUBLE_ROUNDING_UP ? vrshlq_s32(high, down) : vshlq_s32(high, down);
}

#endif
