/* The values that q may take. Twin of zo/ladder.py. */
#ifndef ZO_LADDER_H
#define ZO_LADDER_H

#include <stddef.h>

#include "metric.h"

/* The first rung of at least factor*q, or the last.
 *
 * rungs    (count,), ascending
 * factor   both parts below 2^31 */
int32_t zo_next_rung(const int32_t *rungs, size_t count, int32_t q,
                     const struct zo_fraction *factor);

/* The first of the rungs (count,) above q, or the last. */
int32_t zo_rung_above(const int32_t *rungs, size_t count, int32_t q);

#endif
