/* How many perturbations q an epoch uses.
 *
 * QScheduler raises q along a ladder when the metric has not improved for `patience` epochs.
 * Twin of zo/schedule.py, for metrics that are counts. */
#ifndef ZO_SCHEDULE_H
#define ZO_SCHEDULE_H

#include <stddef.h>

#include "metric.h"

/* Settings, then the state that a checkpoint keeps.
 *
 * rungs        (count,), every q that may occur, ascending
 * factor       q is multiplied by it, then rounded up to the next rung; both parts below 2^31
 * smoothing    weight of the past in a running mean of the metric, Q15; 0 is none
 * cooldown     epochs after a rise during which bad epochs do not count
 * best         the best metric, with denominator 0 before the first; total, or total << 16 with
 *              smoothing, is its denominator
 * level        the running mean, in 2^-16 counts, -1 before the first metric
 * total        of the last metric, 0 before the first
 * bad_epochs   since the last better metric or rise of q
 * cooling      epochs until bad epochs count again */
struct zo_q_scheduler {
    const int32_t *rungs;
    size_t count;
    struct zo_fraction factor;
    int32_t patience;
    int32_t cooldown;
    int32_t smoothing;
    struct zo_plateau plateau;
    int32_t q;
    struct zo_fraction best;
    int64_t level;
    int32_t total;
    int32_t bad_epochs;
    int32_t cooling;
};

/* Take an epoch's metric; afterwards scheduler->q is that of the next epoch.
 * returns   ZO_BAD_METRIC */
enum zo_status zo_q_scheduler_step(struct zo_q_scheduler *scheduler,
                                   const struct zo_metric *metric);

#endif
