#include "softmax.h"

#include "arith.h"

#define ONE INT32_MAX                  /* the largest Q0.31 */
#define QUARTER ((int32_t)1 << 24)     /* 1/4 in Q5.26 */
#define EXP_MINUS_EIGHTH 1895147668    /* round(exp(-1/8) * 2^31) */
#define THIRD 715827883                /* round(2^31 / 3) */
#define NEWTON_START 1515870810        /* round(48/17 * 2^29) */
#define NEWTON_SLOPE (-1010580540)     /* round(-32/17 * 2^29) */

enum { LOWEST_POWER_BIT = 24 };        /* 2^-2 in Q5.26 */
enum { SUM_INTEGER_BITS = 12 };        /* the sum of exponentials is Q12.19 */

/* value * 2^exponent clamped to int32. */
static int32_t saturating_shift(int64_t value, int32_t exponent)
{
    return (int32_t)npu_clamp(value * ((int64_t)1 << exponent), INT32_MIN, INT32_MAX);
}

/* round(a*b / 2^31), ties toward +inf, for factors that may leave int32: so they do where the sum
 * of 8192 equal codes wraps to 0. */
static int64_t wide_high_mul(int64_t a, int64_t b)
{
    return (a * b + ((int64_t)1 << 30)) >> 31;
}

/* exp(a) in Q0.31 for a in [-1/4, 0) in Q0.31, by the Taylor polynomial about -1/8. */
static int32_t exp_of_quarter(int32_t a)
{
    const int32_t x = a + ((int32_t)1 << 28);
    const int32_t x2 = npu_rounding_high_mul(x, x), x3 = npu_rounding_high_mul(x2, x);
    const int32_t x4_over_4 = npu_rounding_divide_by_pot(npu_rounding_high_mul(x2, x2), 2);
    const int32_t tail =
        npu_rounding_divide_by_pot(npu_rounding_high_mul(x4_over_4 + x3, THIRD) + x2, 1);
    return EXP_MINUS_EIGHTH + npu_rounding_high_mul(EXP_MINUS_EIGHTH, x + tail);
}

int32_t npu_exp_of_negative(int32_t a)
{
    /* round(exp(-2^e) * 2^31) for e = -2..4 */
    static const int32_t factors[] = {
        1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242,
    };
    if (a == 0) {
        return ONE;
    }
    const int32_t rest = (a & (QUARTER - 1)) - QUARTER;
    int32_t result = exp_of_quarter(rest * 32);
    int32_t bits = (rest - a) >> LOWEST_POWER_BIT;
    for (size_t i = 0; bits > 0; i++, bits >>= 1) {
        if (bits & 1) {
            result = npu_rounding_high_mul(result, factors[i]);
        }
    }
    return result;
}

int32_t npu_reciprocal_of_one_plus(int32_t a)
{
    const int64_t half_denominator = (a + ((int64_t)1 << 31)) >> 1;
    int64_t x = NEWTON_START + wide_high_mul(half_denominator, NEWTON_SLOPE);
    for (int step = 0; step < 3; step++) {
        const int64_t error = ((int64_t)1 << 29) - wide_high_mul(half_denominator, x);
        x += saturating_shift(wide_high_mul(x, error), 2);
    }
    return saturating_shift(x, 1);
}

/* Zero bits above the highest one bit. */
static int32_t leading_zeros32(uint32_t value)
{
    int32_t zeros = 32;
    while (value > 0) {
        value >>= 1;
        zeros--;
    }
    return zeros;
}

static int8_t largest_of(const int8_t *x, int32_t depth)
{
    int8_t largest = -128;
    for (int32_t i = 0; i < depth; i++) {
        largest = x[i] > largest ? x[i] : largest;
    }
    return largest;
}

/* exponentials (depth,) of the differences to the largest code; returns their sum modulo 2^32. */
static uint32_t sum_exponentials(const int8_t *x, const struct npu_softmax *p,
                                 int32_t *exponentials)
{
    const int32_t largest = largest_of(x, p->depth);
    uint32_t total = 0;
    for (int32_t i = 0; i < p->depth; i++) {
        const int32_t difference = x[i] - largest;
        int32_t value = 0;
        if (difference >= p->diff_min) {
            const int32_t a =
                npu_requantize_double_rounding(difference, p->multiplier, p->shift);
            value = npu_exp_of_negative(a);
        }
        exponentials[i] = value;
        total += (uint32_t)npu_rounding_divide_by_pot(value, SUM_INTEGER_BITS);
    }
    return total;
}

void npu_softmax(const int8_t *x, const struct npu_softmax *p, int8_t *y, int32_t *exponentials)
{
    for (int32_t row = 0; row < p->rows; row++) {
        const uint32_t total = sum_exponentials(x, p, exponentials);
        const int32_t headroom = leading_zeros32(total);
        const int64_t fraction = ((int64_t)total << headroom) - ((int64_t)1 << 31);
        const int32_t reciprocal = npu_reciprocal_of_one_plus((int32_t)fraction);
        const int32_t exponent = SUM_INTEGER_BITS - headroom + 31 - 8;
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t scaled = npu_rounding_high_mul(reciprocal, exponentials[i]);
            /* scaled is below half of 2^32 */
            const int32_t share = exponent > 31 ? 0 : npu_rounding_divide_by_pot(scaled, exponent);
            y[i] = (int8_t)(share < 256 ? share - 128 : 127);
        }
        x += p->depth;
        y += p->depth;
    }
}
