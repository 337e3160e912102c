/* The q that reaches the next improvement at the least predicted cost.
 *
 *     q = argmin costs[q] * (q + nu) / q,     nu = min(weights, directions) * (1 + shared/slope)
 *
 * With S = sum_i d_i of one step's differences d_i = L_i - L_0, shared is S^2 and slope
 * q*sum_i d_i^2 - S^2, both summed over the epoch. Twin of zo/cost_aware.py, which says why. */
#ifndef ZO_COST_AWARE_H
#define ZO_COST_AWARE_H

#include "evidence.h"
#include "wide.h"

/* Settings, then the state; a checkpoint between two epochs keeps q and costs.
 *
 * rungs         (count,), every q that may occur, ascending
 * directions    that share the loss's curvature, above 0
 * costs         (count,), of a step with each, above 0
 * shared        (ZO_WIDE_LIMBS,), of the steps observed in this epoch
 * slope         (ZO_WIDE_LIMBS,), of the same; below 2^156: see `zo_cost_aware_observe`
 * weights       all that are perturbed, below 2^40, or directions */
struct zo_cost_aware {
    const int32_t *rungs;
    int64_t directions;
    int64_t *costs;
    size_t count;
    int32_t q;
    uint32_t *shared;
    uint32_t *slope;
    int64_t weights;
};

/* Add a step's coefficients.
 *
 * evidence   q times the largest |d_i| is below 2^62, so that both sums grow by less than 2^124:
 *            cross-entropy is below 2^31 for each image, so q times the batch may be up to 2^31 */
void zo_cost_aware_observe(struct zo_cost_aware *cost_aware, const struct zo_evidence *evidence);

/* The q of the next epoch, the smallest among equals; the present one where no step has told
 * directions apart. */
int32_t zo_cost_aware_step(struct zo_cost_aware *cost_aware, const struct zo_metric *metric);

#endif
