#include "early_stopping.h"

enum zo_status zo_early_stopping_step(struct zo_early_stopping *stopping,
                                      const struct zo_metric *metric, int32_t q, int32_t *stop)
{
    const struct zo_fraction *best = &stopping->best;
    struct zo_fraction value;
    if (zo_read_metric(metric, &value) != ZO_OK) {
        return ZO_BAD_METRIC;
    }
    if (best->denominator == 0
        || value.numerator * best->denominator > best->numerator * value.denominator) {
        stopping->best = value;
        stopping->stagnant = 0;
    } else {
        stopping->stagnant++;
    }
    if (q > stopping->q) {
        stopping->q = q;
        stopping->stagnant = 0;
    }
    *stop = stopping->stagnant >= stopping->patience;
    return ZO_OK;
}
