#include "schedule.h"

#include "fixed_point.h"
#include "ladder.h"

/* M += rs(((n << 16) - M)*(32768 - smoothing), 15); M starts at the first n << 16. */
static struct zo_fraction smoothed(struct zo_q_scheduler *scheduler, const struct zo_metric *metric)
{
    const int64_t now = (int64_t)metric->correct * 65536;
    if (scheduler->level < 0) {
        scheduler->level = now;
    }
    const int64_t kept = (1 << 15) - scheduler->smoothing;
    scheduler->level += zo_rs((now - scheduler->level) * kept, 15);
    const struct zo_fraction value = {scheduler->level, (int64_t)metric->total * 65536};
    return value;
}

static void raise_q(struct zo_q_scheduler *scheduler)
{
    if (scheduler->q == scheduler->rungs[scheduler->count - 1]) {
        return;
    }
    scheduler->q = zo_next_rung(scheduler->rungs, scheduler->count, scheduler->q,
                                &scheduler->factor);
    scheduler->cooling = scheduler->cooldown;
}

enum zo_status zo_q_scheduler_step(struct zo_q_scheduler *scheduler,
                                   const struct zo_metric *metric)
{
    const int fixed = scheduler->plateau.mode == ZO_THRESHOLD_SE || scheduler->smoothing > 0;
    const int another = scheduler->total != 0 && scheduler->total != metric->total;
    struct zo_fraction value;
    if (zo_read_metric(metric, &value) != ZO_OK || (fixed && another)) {
        return ZO_BAD_METRIC;
    }
    scheduler->total = metric->total;
    if (scheduler->smoothing > 0) {
        value = smoothed(scheduler, metric);
    }
    if (scheduler->best.denominator == 0
        || zo_plateau_better(&scheduler->plateau, &value, &scheduler->best, metric->total)) {
        scheduler->best = value;
        scheduler->bad_epochs = 0;
    } else {
        scheduler->bad_epochs++;
    }
    if (scheduler->cooling > 0) {
        scheduler->cooling--;
        scheduler->bad_epochs = 0;
    }
    if (scheduler->bad_epochs >= scheduler->patience) {
        scheduler->bad_epochs = 0;
        raise_q(scheduler);
    }
    return ZO_OK;
}
