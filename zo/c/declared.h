/* A schedule that knows every q in advance. Twin of zo/declared.py. */
#ifndef ZO_DECLARED_H
#define ZO_DECLARED_H

#include <stddef.h>

#include "metric.h"

/* q by epoch.
 *
 * epochs   (count,), ascending from 0: the first epoch that uses each q
 * plan     (count,), the q
 * epoch    epochs done */
struct zo_declared {
    const int32_t *epochs;
    const int32_t *plan;
    size_t count;
    uint32_t epoch;
};

/* The q of the next epoch, whatever the metric is. */
int32_t zo_declared_step(struct zo_declared *declared, const struct zo_metric *metric);

#endif
