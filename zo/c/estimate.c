#include "estimate.h"

#include "fixed_point.h"

void zo_one_sided(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
                  struct zo_estimate *found)
{
    for (size_t i = 0; i < q; i++) {
        found->c[i] = losses[i] - base;
    }
    found->den = (int64_t)q * batch * k;
}

enum zo_status zo_centred(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
                          struct zo_estimate *found)
{
    const int64_t count = (int64_t)q;
    int64_t sum = 0;
    if (count < 2) {
        return ZO_BAD_SAMPLES;
    }
    for (size_t i = 0; i < q; i++) {
        sum += losses[i] - base;
    }
    for (size_t i = 0; i < q; i++) {
        found->c[i] = count * (losses[i] - base) - sum;
    }
    found->den = count * (count - 1) * batch * k;
    return ZO_OK;
}

void zo_central(const int64_t *plus, size_t q, const int64_t *minus, int32_t k, int32_t batch,
                struct zo_estimate *found)
{
    for (size_t i = 0; i < q; i++) {
        found->c[i] = plus[i] - minus[i];
    }
    found->den = 2 * (int64_t)q * batch * k;
}

void zo_sign(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
             struct zo_estimate *found)
{
    const int64_t one = (int64_t)batch << 16;
    for (size_t i = 0; i < q; i++) {
        found->c[i] = losses[i] > base ? one : losses[i] < base ? -one : 0;
    }
    found->den = (int64_t)q * batch * k;
}

enum zo_status zo_check_range(enum zo_estimator estimator, int32_t q, int64_t bound, int32_t reach)
{
    /* Half of the losses at 0 and half at the bound make sum |c| largest when centred: q*q/2*bound.
     * So reach * q * bound * (q or 2) must stay below 2 * 2^46; divided, for it may not fit. */
    const int64_t limit = (int64_t)1 << 47;
    const int64_t factors[3] = {q, estimator == ZO_ESTIMATOR_CENTRED ? q : 2, reach};
    int64_t product = bound;
    for (size_t i = 0; i < 3; i++) {
        if (factors[i] > 0 && product > (limit - 1) / factors[i]) {
            return ZO_BAD_RANGE;
        }
        product *= factors[i];
    }
    return ZO_OK;
}

/* Weights in a row whose signs lie in one word.
 *
 * block, word   where that is
 * bit           of the first weight
 * size          how many weights */
struct run {
    uint32_t block;
    uint32_t word;
    uint32_t bit;
    size_t size;
};

static struct run run_from(uint64_t at, size_t n)
{
    const uint32_t bit = (uint32_t)(at % 32);
    const size_t rest = 32 - bit;
    const struct run run = {(uint32_t)(at / 128), (uint32_t)(at / 32 % 4), bit,
                            rest < n ? rest : n};
    return run;
}

#if !defined(__ARM_FEATURE_MVE) /* else in estimate_mve.c */

/* gradient (n,) += value where the bits from the lowest on are 1. */
static void add_where_set(int64_t *gradient, size_t n, int64_t value, uint32_t bits)
{
    for (size_t i = 0; i < n; i++) {
        gradient[i] += value & -(int64_t)(bits & 1u);
        bits >>= 1;
    }
}

void zo_accumulate_signs(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                         const struct zo_stream *stream, uint32_t sample, uint64_t first)
{
    /* c*z = 2*c*bit - c: the -c of all samples are one constant, the rest a masked addition. */
    int64_t constant = 0;
    for (size_t i = 0; i < m; i++) {
        constant += c[i];
    }
    for (size_t i = 0; i < n; i++) {
        gradient[i] -= constant;
    }
    for (size_t i = 0; i < m; i++) {
        uint32_t four[4];
        for (size_t start = 0; start < n;) {
            const struct run run = run_from(first + start, n - start);
            if (start == 0 || run.word == 0) {
                zo_sign_words(stream, sample + (uint32_t)i, run.block, four);
            }
            add_where_set(&gradient[start], run.size, 2 * c[i], four[run.word] >> run.bit);
            start += run.size;
        }
    }
}

#endif

/* gradient (n,) += c * (clamp(original +- k) - original), the sign from the bits. */
static void add_steps(int64_t *gradient, size_t n, int64_t c, const int8_t *original, int32_t k,
                      uint32_t bits)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t w = original[i], moved = w + (bits & 1u ? k : -(int64_t)k);
        gradient[i] += c * (zo_clamp(moved, -128, 127) - w);
        bits >>= 1;
    }
}

void zo_accumulate_steps(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                         const int8_t *original, int32_t k, const struct zo_stream *stream,
                         uint64_t first)
{
    for (size_t i = 0; i < m; i++) {
        uint32_t four[4];
        for (size_t start = 0; start < n;) {
            const struct run run = run_from(first + start, n - start);
            if (start == 0 || run.word == 0) {
                zo_sign_words(stream, (uint32_t)i, run.block, four);
            }
            add_steps(&gradient[start], run.size, c[i], &original[start], k,
                      four[run.word] >> run.bit);
            start += run.size;
        }
    }
}

void zo_add_differences(const int64_t *half, size_t n, const int64_t *whole, int64_t *sums)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t apart = 2 * half[i] - whole[i];
        sums[0] += apart < 0 ? -apart : apart;
        sums[1] += whole[i] < 0 ? -whole[i] : whole[i];
    }
}
