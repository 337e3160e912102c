/* When a run has been without a better accuracy for too long. Twin of zo/early_stopping.py. */
#ifndef ZO_EARLY_STOPPING_H
#define ZO_EARLY_STOPPING_H

#include "metric.h"

/* Stop after `patience` epochs without a new best; a rise of q starts the count again.
 *
 * best       with denominator 0 before the first metric
 * stagnant   epochs since the best, or since q rose
 * q          the largest so far, 0 at first */
struct zo_early_stopping {
    int32_t patience;
    struct zo_fraction best;
    int32_t stagnant;
    int32_t q;
};

/* Take an epoch's metric and the q of the next epoch.
 *
 * stop      out: 1 when training should stop, else 0
 * returns   ZO_BAD_METRIC */
enum zo_status zo_early_stopping_step(struct zo_early_stopping *stopping,
                                      const struct zo_metric *metric, int32_t q, int32_t *stop);

#endif
