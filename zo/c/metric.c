#include "metric.h"

#include "wide.h"

enum zo_status zo_read_metric(const struct zo_metric *metric, struct zo_fraction *value)
{
    if (metric->correct < 0 || metric->correct > metric->total || metric->total <= 0) {
        return ZO_BAD_METRIC;
    }
    value->numerator = metric->correct;
    value->denominator = metric->total;
    return ZO_OK;
}

int32_t zo_product_exceeds(int64_t a, int64_t b, int64_t c, int64_t d)
{
    uint32_t left[ZO_WIDE_LIMBS], right[ZO_WIDE_LIMBS];
    zo_wide_set(left, (uint64_t)a);
    zo_wide_multiply(left, (uint64_t)b);
    zo_wide_set(right, (uint64_t)c);
    zo_wide_multiply(right, (uint64_t)d);
    return zo_wide_exceeds(left, right);
}

/* round(2^8 * threshold), ties toward +inf. */
static int64_t kappa_of(const struct zo_fraction *threshold)
{
    return (512 * threshold->numerator + threshold->denominator) / (2 * threshold->denominator);
}

int32_t zo_plateau_better(const struct zo_plateau *plateau, const struct zo_fraction *value,
                          const struct zo_fraction *best, int64_t total)
{
    const struct zo_fraction *tau = &plateau->threshold;
    const int64_t left = value->denominator, right = best->denominator;
    /* gain = d / common, best = at_best / common */
    const int64_t common = left == right ? left : left * right;
    const int64_t now = left == right ? value->numerator : value->numerator * right;
    const int64_t at_best = left == right ? best->numerator : best->numerator * left;
    const int64_t d = plateau->sign * (now - at_best);
    if (d <= 0) {
        return 0;
    }
    if (plateau->mode == ZO_THRESHOLD_ABS) {
        return zo_product_exceeds(d, tau->denominator, tau->numerator, common);
    }
    if (plateau->mode == ZO_THRESHOLD_REL) {
        return zo_product_exceeds(d, tau->denominator, tau->numerator, at_best);
    }
    const int64_t kappa = kappa_of(tau);
    return zo_product_exceeds(d * d, total * 65536, kappa * kappa, at_best * (total - at_best));
}
