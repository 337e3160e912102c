/* Integers that stand for real numbers: one rounding, one saturation, one kind of ratio.
 *
 *     rs(x, t) = (x + 2^(t-1)) >> t,   ties toward +inf
 *
 * Twin of zo/fixed_point.py. */
#ifndef ZO_FIXED_POINT_H
#define ZO_FIXED_POINT_H

#include <stddef.h>
#include <stdint.h>

/* C99 leaves the right shift of a negative number to the compiler; zo needs it arithmetic. */
typedef char zo_right_shift_must_be_arithmetic[((-3) >> 1) == -2 ? 1 : -1];

/* multiplier * 2^-right_shift, one pair per channel, or one for all.
 *
 * multiplier    (channels,), 0..2^16
 * right_shift   (channels,); a negative one shifts left, 63 or more makes every product 0 */
struct zo_ratio {
    const int32_t *multiplier;
    const int32_t *right_shift;
    size_t channels;
};

/* x / 2^t rounded to the nearest integer, |x| < 2^62; negative t shifts left, 63 or more gives 0.
 * The caller has proved that a left shift stays in int64. */
static inline int64_t zo_rs(int64_t x, int32_t t)
{
    if (t >= 63) {
        return 0;
    }
    if (t <= 0) {
        return x * ((int64_t)1 << -t);
    }
    return (x + ((int64_t)1 << (t - 1))) >> t;
}

/* x clamped to int32. */
static inline int32_t zo_sat32(int64_t x)
{
    return (int32_t)(x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x);
}

/* x clamped to lo..hi. */
static inline int64_t zo_clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* The position of the highest set bit, v > 0. */
static inline int32_t zo_floor_log2(int64_t v)
{
    int32_t exponent = 0;
    for (int32_t step = 32; step > 0; step >>= 1) {
        if (v >= (int64_t)1 << step) {
            v >>= step;
            exponent += step;
        }
    }
    return exponent;
}

/* x / y toward -inf, as Python's //; y > 0. */
static inline int64_t zo_floor_divide(int64_t x, int64_t y)
{
    const int64_t quotient = x / y;
    return quotient * y > x ? quotient - 1 : quotient;
}

#endif
