/* The losses of perturbed codes.
 *
 *     one-sided    w + k*z_1, then from sample to sample in one pass, then back
 *     central      w + k*z_i and w - k*z_i
 *     saturated    clamp(w + k*z_i), from a copy of w
 *
 * Every way leaves the codes as they were. Twin of zo/sampling.py and zo/trainable.py. */
#ifndef ZO_SAMPLING_H
#define ZO_SAMPLING_H

#include "bias.h"
#include "rate.h"

/* One tensor under training.
 *
 * stream        number of its random stream
 * k             perturbation in codes
 * rule          how it is updated
 * state         codes and what is kept beside them
 * form          base and unit of a bias; NULLs for weights
 * array         the layer's int32 bias that `form` and codes are written to, NULL for weights
 * exact_scale   of its exact gradient, before doublings; no channels where zeroth order trains it
 * rates         learning rates
 * original      (state.n,), memory for a copy of the codes, where perturbations saturate; else NULL
 */
struct zo_trainable {
    uint32_t stream;
    int32_t k;
    struct zo_update_rule rule;
    struct zo_state state;
    struct zo_bias_codes form;
    int32_t *array;
    struct zo_ratio exact_scale;
    struct zo_rates rates;
    int8_t *original;
};

/* Which signs a step uses: seed, steps done before, samples.
 *
 * hadamard   1 where samples are orthogonal, else 0 */
struct zo_draw {
    uint64_t seed;
    uint32_t step;
    int32_t q;
    uint32_t hadamard;
};

/* The summed loss at the codes in effect: a forward pass of the batch.
 *
 * call      is given `context` and the number of the pass within its step; the unperturbed one,
 *           where there is one, is 0 */
struct zo_loss_now {
    int64_t (*call)(void *context, uint32_t pass);
    void *context;
};

/* Whether the head's exact gradient trains it. */
int32_t zo_trainable_exact(const struct zo_trainable *t);

/* Bring the codes into effect; weights are in effect at once. */
void zo_trainable_write(const struct zo_trainable *t);

/* The stream of one tensor's signs. */
struct zo_stream zo_draw_stream(const struct zo_draw *draw, const struct zo_trainable *t);

/* losses (q,) = L_1 .. L_q of the tensors (count,) that are not exact.
 * returns   ZO_BAD_SAMPLES unless q >= 1, ZO_BAD_STEP */
enum zo_status zo_one_sided_losses(const struct zo_trainable *tensors, size_t count,
                                   const struct zo_loss_now *loss, const struct zo_draw *draw,
                                   int64_t *losses);

/* losses (2, q) = the losses at +z_i, then those at -z_i.
 * returns   ZO_BAD_SAMPLES unless q >= 1, ZO_BAD_STEP unless 2k is a step */
enum zo_status zo_central_losses(const struct zo_trainable *tensors, size_t count,
                                 const struct zo_loss_now *loss, const struct zo_draw *draw,
                                 int64_t *losses);

/* losses (q,) = L_1 .. L_q at clamped codes; ZO_BAD_SAMPLES unless q >= 1. */
enum zo_status zo_saturated_losses(const struct zo_trainable *tensors, size_t count,
                                   const struct zo_loss_now *loss, const struct zo_draw *draw,
                                   int64_t *losses);

#endif
