/* Accuracy and loss of the present weights on a data set. Twin of zo/evaluate.py. */
#ifndef ZO_EVALUATE_H
#define ZO_EVALUATE_H

#include "batch.h"

/* Sums over all images.
 *
 * correct   images whose largest logit is the label's; the lowest index wins ties
 * total     images
 * loss      2^-16 nat
 * at_rail   logits equal to -128 or 127
 * entries   logits */
struct zo_evaluation {
    int32_t correct;
    int32_t total;
    int64_t loss;
    int64_t at_rail;
    int64_t entries;
};

/* One forward of every image, one after the other.
 * returns   ZO_BAD_LABEL */
enum zo_status zo_evaluate(struct zo_source *source, const struct zo_cross_entropy *loss,
                           struct zo_evaluation *found);

#endif
