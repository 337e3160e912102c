#include "evidence.h"

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* sum_i |q*d_i - S| and q*|S| of the differences d_i = L_i - L_0 with sum S. */
static void spread(const struct zo_evidence *evidence, int64_t *slope, int64_t *shared)
{
    const int64_t q = (int64_t)evidence->q;
    int64_t total = 0;
    for (size_t i = 0; i < evidence->q; i++) {
        total += evidence->losses[i] - evidence->base;
    }
    *shared = q * magnitude(total);
    *slope = 0;
    for (size_t i = 0; i < evidence->q; i++) {
        *slope += magnitude(q * (evidence->losses[i] - evidence->base) - total);
    }
}

int32_t zo_is_noisy(enum zo_measure measure, const struct zo_evidence *evidence,
                    const struct zo_fraction *threshold)
{
    const int64_t numerator = threshold->numerator, denominator = threshold->denominator;
    if (measure == ZO_MEASURE_SPLIT_HALF) {
        return zo_product_exceeds(evidence->apart, denominator, numerator, evidence->together);
    }
    if (measure == ZO_MEASURE_DEAD_ZONE) {
        const int64_t still = evidence->weights - evidence->changed;
        return zo_product_exceeds(still, denominator, numerator, evidence->weights);
    }
    int64_t slope, shared;
    spread(evidence, &slope, &shared);
    return zo_product_exceeds(numerator, shared, slope, denominator);
}
