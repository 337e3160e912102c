/* What a training step shows a schedule that watches: integers that the step has anyway.
 *
 * For a threshold t, a fraction, a step is noisy by one of three measures when
 *
 *     split_half     sum |g_A - g_B|  >  t * sum |g_A + g_B|      A, B: halves of the samples
 *     coefficients   sum_i |q*d_i - S|  <  t * q*|S|              d_i = L_i - L_0, S = sum_i d_i
 *     dead_zone      weights - changed  >  t * weights            codes an update left as they were
 *
 * Twin of zo/evidence.py. */
#ifndef ZO_EVIDENCE_H
#define ZO_EVIDENCE_H

#include <stddef.h>

#include "metric.h"

enum zo_measure { ZO_MEASURE_SPLIT_HALF, ZO_MEASURE_COEFFICIENTS, ZO_MEASURE_DEAD_ZONE };

/* One step.
 *
 * base       L_0, the loss before it
 * losses     (q,): L_1 .. L_q; q up to 2^15
 * changed    perturbed codes that the update changed, of
 * weights    all that are perturbed
 * apart      sum |g_A - g_B| of the gradients of the first and the second half of the samples
 * together   sum |g_A + g_B|; both 0 unless the schedule wants halves */
struct zo_evidence {
    int64_t base;
    const int64_t *losses;
    size_t q;
    int64_t changed;
    int64_t weights;
    int64_t apart;
    int64_t together;
};

/* 1 if a step is noisy by the rules above, else 0.
 *
 * threshold   above 0 */
int32_t zo_is_noisy(enum zo_measure measure, const struct zo_evidence *evidence,
                    const struct zo_fraction *threshold);

#endif
