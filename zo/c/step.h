/* One training step, all of it in integers: losses, estimate, update.
 *
 *     L_0 at w, L_i at w + k*z_i  ->  c_i  ->  g = sum_i c_i*z_i  ->  new codes
 *
 * Tensors trained by zeroth order are perturbed together; the head's exact gradient is taken at the
 * unperturbed codes. All updates happen at the end. The forward pass is the caller's: a network
 * compiled for an NPU, or C kernels. Twin of zo/step.py. */
#ifndef ZO_STEP_H
#define ZO_STEP_H

#include "cost_aware.h"
#include "estimate.h"
#include "exact_head.h"
#include "gate.h"
#include "loss.h"
#include "sampling.h"

enum zo_perturbation { ZO_PERTURBATION_CLIP, ZO_PERTURBATION_SATURATE };

/* What a forward pass gives.
 *
 * logits     (B, C)
 * features   (B, I), what the head reads; NULL unless something is trained by the exact gradient */
struct zo_outputs {
    const int8_t *logits;
    const int8_t *features;
};

/* The images of one step.
 *
 * labels    (images,), 0..C-1
 * forward   the outputs with the codes in effect; is given `context` and the number of the pass
 *           within the step. What pass 0 returned as features must stay as it is until the step
 *           ends; logits only until the next pass */
struct zo_batch {
    const int32_t *labels;
    size_t images;
    struct zo_outputs (*forward)(void *context, uint32_t pass);
    void *context;
};

/* A loss of the caller's.
 *
 * call   sum over the images, at least 0, of logits (images, C); is given `context` */
struct zo_user_loss {
    int64_t (*call)(void *context, const int8_t *logits, const int32_t *labels, size_t images);
    void *context;
};

/* What is shown the evidence of every step that perturbs; each may be NULL. */
struct zo_watcher {
    struct zo_gate *gate;
    struct zo_cost_aware *cost_aware;
};

/* What every step of a run uses.
 *
 * tensors        (count,)
 * loss           cross-entropy; its exponent grows when the logits' scale doubles
 * user_loss      instead of `loss`, or NULL
 * feature_zero_point   of what the head reads
 * losses         memory for q numbers, 2q for the central estimator
 * c              memory for q numbers
 * error          memory for B*C numbers, or NULL when no tensor is exact
 * multiplier     memory for as many numbers as any tensor has channels, and
 * right_shift    as many again
 * watcher        the schedule, where it goes by what steps show */
struct zo_step {
    struct zo_trainable *tensors;
    size_t count;
    enum zo_estimator estimator;
    enum zo_perturbation perturbation;
    struct zo_cross_entropy loss;
    const struct zo_user_loss *user_loss;
    int32_t feature_zero_point;
    int64_t *losses;
    int64_t *c;
    int32_t *error;
    int32_t *multiplier;
    int32_t *right_shift;
    struct zo_watcher watcher;
};

/* Train on one batch.
 *
 * draw      seed, steps done before this one, and q
 * loss      out: of the batch before the step, summed over the images. The central estimator does
 *           without the unperturbed loss, and gives the mean of its own
 * returns   ZO_BAD_LABEL, ZO_BAD_SAMPLES, ZO_BAD_STEP, ZO_BAD_RATE or ZO_BAD_RANGE (of an exact
 *           gradient); no code has changed then */
enum zo_status zo_step(const struct zo_step *step, const struct zo_batch *batch,
                       const struct zo_draw *draw, int64_t *loss);

#endif
