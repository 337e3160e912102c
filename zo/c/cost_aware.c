#include "cost_aware.h"

static void square(uint32_t *a, int64_t x)
{
    const uint64_t magnitude = (uint64_t)(x < 0 ? -x : x);
    zo_wide_set(a, magnitude);
    zo_wide_multiply(a, magnitude);
}

void zo_cost_aware_observe(struct zo_cost_aware *cost_aware, const struct zo_evidence *evidence)
{
    uint32_t term[ZO_WIDE_LIMBS], slope[ZO_WIDE_LIMBS];
    int64_t total = 0;
    zo_wide_set(slope, 0);
    for (size_t i = 0; i < evidence->q; i++) {
        const int64_t difference = evidence->losses[i] - evidence->base;
        total += difference;
        square(term, difference);
        zo_wide_add(slope, term);
    }
    zo_wide_multiply(slope, evidence->q);
    square(term, total);
    zo_wide_subtract(slope, term);
    zo_wide_add(cost_aware->shared, term);
    zo_wide_add(cost_aware->slope, slope);
    cost_aware->weights = evidence->weights < cost_aware->directions ? evidence->weights
                                                                     : cost_aware->directions;
}

/* a = costs[i] * (q*slope + weights*(slope + shared)) * other: what q = rungs[i] is predicted to
 * cost, times slope*q*other. Below 2^63 * 2^198 * 2^31, with q and other below 2^31. */
static void predict(const struct zo_cost_aware *cost_aware, size_t i, int32_t other, uint32_t *a)
{
    uint32_t noise[ZO_WIDE_LIMBS];
    zo_wide_set(noise, 0);
    zo_wide_add(noise, cost_aware->slope);
    zo_wide_add(noise, cost_aware->shared);
    zo_wide_multiply(noise, (uint64_t)cost_aware->weights);
    zo_wide_set(a, 0);
    zo_wide_add(a, cost_aware->slope);
    zo_wide_multiply(a, (uint64_t)cost_aware->rungs[i]);
    zo_wide_add(a, noise);
    zo_wide_multiply(a, (uint64_t)cost_aware->costs[i]);
    zo_wide_multiply(a, (uint64_t)other);
}

/* The q of the least predicted cost. */
static int32_t cheapest(const struct zo_cost_aware *cost_aware)
{
    size_t best = 0;
    for (size_t i = 1; i < cost_aware->count; i++) {
        uint32_t least[ZO_WIDE_LIMBS], cost[ZO_WIDE_LIMBS];
        predict(cost_aware, best, cost_aware->rungs[i], least);
        predict(cost_aware, i, cost_aware->rungs[best], cost);
        best = zo_wide_exceeds(least, cost) ? i : best;
    }
    return cost_aware->rungs[best];
}

int32_t zo_cost_aware_step(struct zo_cost_aware *cost_aware, const struct zo_metric *metric)
{
    uint32_t zero[ZO_WIDE_LIMBS];
    (void)metric;
    zo_wide_set(zero, 0);
    if (zo_wide_exceeds(cost_aware->slope, zero)) {
        cost_aware->q = cheapest(cost_aware);
    }
    zo_wide_set(cost_aware->shared, 0);
    zo_wide_set(cost_aware->slope, 0);
    cost_aware->weights = 0;
    return cost_aware->q;
}
