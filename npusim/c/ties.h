/* Right shifts that round to nearest, with each rule for ties, as Neural-ART's units may be set.
 *
 *     v / 2^n:  floor, plus one where the remainder is above the threshold
 *
 * Each threshold is half of 2^n, or one less where a tie goes up; n = 0 leaves v as it is.
 * n is in 0..62. Twin of npusim/kernels/ties.py. */
#ifndef NPU_TIES_H
#define NPU_TIES_H

#include "structs.h"

/* Ties away from zero. */
static inline int64_t npu_shift_away(int64_t value, int32_t n)
{
    const int64_t mask = ((int64_t)1 << n) - 1, threshold = (mask >> 1) + (value < 0);
    return (value >> n) + ((value & mask) > threshold);
}

/* Ties to the even number. */
static inline int64_t npu_shift_even(int64_t value, int32_t n)
{
    const int64_t mask = ((int64_t)1 << n) - 1, floor = value >> n;
    const int64_t threshold = (mask >> 1) + ((floor & 1) == 0);
    return floor + ((value & mask) > threshold);
}

/* Ties toward +inf. */
static inline int64_t npu_shift_up(int64_t value, int32_t n)
{
    const int64_t mask = ((int64_t)1 << n) - 1;
    return (value >> n) + ((value & mask) > mask >> 1);
}

/* value / 2^n by one of enum npu_ties. */
static inline int64_t npu_rounded_shift(int64_t value, int32_t n, int32_t ties)
{
    switch (ties) {
    case NPU_AWAY:
        return npu_shift_away(value, n);
    case NPU_EVEN:
        return npu_shift_even(value, n);
    case NPU_UP:
        return npu_shift_up(value, n);
    default:
        return value >> n;
    }
}

#endif
