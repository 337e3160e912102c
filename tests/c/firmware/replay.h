/* Training steps of zo whose forward passes are played back. */
#ifndef REPLAY_H
#define REPLAY_H

#include "step.h"

/* What the forward passes of the steps gave, all of them in a row.
 *
 * labels     (steps, images)
 * logits     (passes, images, classes)
 * features   (steps, images, inputs), or NULL */
struct replay_tape {
    const int32_t *labels;
    const int8_t *logits;
    const int8_t *features;
    size_t images;
    size_t classes;
    size_t inputs;
};

/* Runs `steps` training steps, each from where the last one ended.
 *
 * tensors     (count,); their arrays are changed
 * loss        cross-entropy
 * errors      1: count errors instead
 * draws       (steps,)
 * codes       (passes,), out: checksum of the codes and biases in effect during each pass, and of
 *             the number zo_step gave it
 * states      (steps,), out: checksum of everything training keeps after each step
 * losses      (steps,), out
 * returns     the first status that is not ZO_OK, or ZO_OK; ZO_BAD_RANGE beyond 8 tensors or 4096
 *             logits a step */
enum zo_status replay_steps(const struct zo_trainable *tensors, size_t count,
                            enum zo_estimator estimator, enum zo_perturbation perturbation,
                            const struct zo_cross_entropy *loss, int32_t errors,
                            int32_t feature_zero_point, const struct replay_tape *tape,
                            const struct zo_draw *draws, size_t steps, int64_t *codes,
                            int64_t *states, int64_t *losses);

#endif
