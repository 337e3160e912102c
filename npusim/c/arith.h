/* Integer arithmetic every kernel is made of; each rounding stands here once.
 *
 * Every rounding is an addition and an arithmetic shift: C's division truncates, Python's floors.
 * Arithmetic that may wrap is done on unsigned numbers.
 * Sources: gemmlowp fixedpoint.h (SaturatingRoundingDoublingHighMul, RoundingDivideByPOT), TFLite
 * Micro MultiplyByQuantizedMultiplier. Twin of npusim/kernels/arith.py. */
#ifndef NPU_ARITH_H
#define NPU_ARITH_H

#include <stddef.h>
#include <stdint.h>

/* C99 leaves the right shift of a negative number to the compiler; npusim needs it arithmetic. */
typedef char npu_right_shift_must_be_arithmetic[((-3) >> 1) == -2 ? 1 : -1];

/* value clamped to low..high. */
static inline int64_t npu_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The low 32 bits of a number read as two's complement. */
static inline int32_t npu_wrap32(int64_t value)
{
    return (int32_t)(uint32_t)(uint64_t)value;
}

/* a + b modulo 2^32. */
static inline int32_t npu_add_wrapping(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* a - b modulo 2^32. */
static inline int32_t npu_subtract_wrapping(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* a * b modulo 2^32. */
static inline int32_t npu_multiply_wrapping(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* round(a*b / 2^31), ties toward +inf; not for a = b = -2^31. */
static inline int32_t npu_rounding_high_mul(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* As `npu_rounding_high_mul`, and -2^31 * -2^31 gives 2^31 - 1. */
static inline int32_t npu_saturating_high_mul(int32_t a, int32_t b)
{
    return a == INT32_MIN && b == INT32_MIN ? INT32_MAX : npu_rounding_high_mul(a, b);
}

/* round(value / 2^exponent), ties away from zero, exponent 0..31. */
static inline int32_t npu_rounding_divide_by_pot(int32_t value, int32_t exponent)
{
    const uint32_t mask = ((uint32_t)1 << exponent) - 1u;
    const uint32_t remainder = (uint32_t)value & mask;
    const uint32_t threshold = (mask >> 1) + (value < 0 ? 1u : 0u);
    return (value >> exponent) + (remainder > threshold ? 1 : 0);
}

/* round(value / 2^exponent), ties toward +inf, exponent 0..62; value + 2^(exponent-1) fits. */
static inline int64_t npu_rounding_divide_up_by_pot(int64_t value, int32_t exponent)
{
    return (value + (((int64_t)1 << exponent) >> 1)) >> exponent;
}

/* acc * 2^shift modulo 2^32 where shift > 0, else acc. */
static inline int32_t npu_shift_left_wrapping(int32_t acc, int32_t shift)
{
    return shift > 0 ? (int32_t)((uint32_t)acc << shift) : acc;
}

/* Scale an accumulator by multiplier * 2^(shift - 31), rounded twice.
 *
 * acc          a left shift wraps to 32 bits
 * multiplier   Q0.31, 0..2^31-1
 * shift        > 0 left, < 0 right, -31..31 */
static inline int32_t npu_requantize_double_rounding(int32_t acc, int32_t multiplier, int32_t shift)
{
    const int32_t high = npu_rounding_high_mul(npu_shift_left_wrapping(acc, shift), multiplier);
    return npu_rounding_divide_by_pot(high, shift < 0 ? -shift : 0);
}

/* As `npu_requantize_double_rounding`, the second rounding's ties toward +inf like the first's. */
static inline int32_t npu_requantize_double_rounding_up(int32_t acc, int32_t multiplier,
                                                        int32_t shift)
{
    const int32_t high = npu_rounding_high_mul(npu_shift_left_wrapping(acc, shift), multiplier);
    return (int32_t)npu_rounding_divide_up_by_pot(high, shift < 0 ? -shift : 0);
}

/* As `npu_requantize_double_rounding`, but what the right shift drops is not rounded at all.
 * So LiteRT's ADD on x86 scales operands in rows along which one of them stands still. */
static inline int32_t npu_requantize_double_rounding_down(int32_t acc, int32_t multiplier,
                                                          int32_t shift)
{
    const int32_t high = npu_rounding_high_mul(npu_shift_left_wrapping(acc, shift), multiplier);
    return high >> (shift < 0 ? -shift : 0);
}

/* round(acc * multiplier * 2^(shift - 31)), ties toward +inf.
 *
 * acc          of any size; results that do not fit int32 saturate when acc does not
 * multiplier   Q0.31, 0..2^31-1
 * shift        > 0 left, < 0 right, -31..31 */
static inline int64_t npu_requantize_single_rounding(int64_t acc, int32_t multiplier, int32_t shift)
{
    const int32_t total = 31 - shift;
    if (acc == (int32_t)acc) {
        return npu_rounding_divide_up_by_pot(acc * multiplier, total);
    }
    /* acc = high * 2^32 + low: the product has up to 94 bits, of which 2^32 * upper + lower */
    const int64_t product = (acc & 0xFFFFFFFF) * multiplier;
    const int64_t upper = (acc >> 32) * multiplier + (product >> 32);
    if (total > 32) {
        return npu_rounding_divide_up_by_pot(upper, total - 32);
    }
    if (upper >= INT32_MAX) {
        return INT32_MAX;
    }
    const int64_t kept = upper > INT32_MIN ? upper : INT32_MIN;
    const int64_t low = product & 0xFFFFFFFF;
    return npu_rounding_divide_up_by_pot(kept * ((int64_t)1 << 32) + low, total);
}

/* round(acc * q16 * 2^(shift - 15)), ties toward +inf, q16 the multiplier's upper 16 bits.
 *
 * acc          below 2^47 in magnitude
 * multiplier   Q0.31, 0..2^31-1, rounded to Q0.15 and at most 0x7fff
 * shift        -31..14 */
static inline int64_t npu_requantize_int16_reduced(int64_t acc, int32_t multiplier, int32_t shift)
{
    const int64_t rounded = ((int64_t)multiplier + (1 << 15)) >> 16;
    const int64_t reduced = rounded < 0x7FFF ? rounded : 0x7FFF;
    return npu_rounding_divide_up_by_pot(acc * reduced, 15 - shift);
}

#endif
