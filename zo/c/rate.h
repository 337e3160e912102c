/* Learning rates as 16-bit multipliers and shifts, one pair per channel and per q.
 *
 *     Lt = rs(Lm * COS[j], 15),  j = min(1023, 1024*t div T)
 *
 * All pairs are made before training, on the host; a step only looks them up.
 * Twin of zo/rate.py. */
#ifndef ZO_RATE_H
#define ZO_RATE_H

#include "fixed_point.h"
#include "status.h"

enum zo_decay { ZO_DECAY_COSINE, ZO_DECAY_CONSTANT };

/* The pairs of one tensor.
 *
 * pairs    (count,), one for each q of rungs (count,), ascending
 * decay    over the run
 * steps    T, all steps of the run; only the cosine reads it
 * cosine   (1024,): round(2^14 * (1 + cos(pi*j/1024))) */
struct zo_rates {
    const struct zo_ratio *pairs;
    const int32_t *rungs;
    size_t count;
    enum zo_decay decay;
    uint32_t steps;
    const int32_t *cosine;
};

/* The pair of the step with t steps done before it, and q samples.
 *
 * multiplier   out: Lt of each channel of the pair
 * rate         out: points at `multiplier` and at the pair's own shifts
 * returns      ZO_BAD_RATE when no pair was made for this q */
enum zo_status zo_rates_at(const struct zo_rates *rates, int32_t q, uint32_t t, int32_t *multiplier,
                           struct zo_ratio *rate);

#endif
