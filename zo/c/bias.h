/* Trainable biases as int8 codes, so that perturbation and update only ever see int8.
 *
 *     bias_c = base_c + unit_c * code_c
 *
 * Twin of zo/bias.py. */
#ifndef ZO_BIAS_H
#define ZO_BIAS_H

#include "update.h"

/* base (C,) and unit (C,), a power of two; both in accumulator units. */
struct zo_bias_codes {
    int32_t *base;
    int32_t *unit;
};

/* bias (c,) = base + unit*codes, in place: after each perturbation, restoration and update. */
void zo_write_bias(int32_t *bias, size_t c, const struct zo_bias_codes *form, const int8_t *codes);

/* Follow a doubling of the weight scale of the channels marked in channels (C,), whose biases are
 * halved already: unit halves, and base takes what is left of the bias. A unit of 1 stays: the code
 * is then worth twice as much, so momentum and doublings rise as for weights.
 *
 * state   of the bias's codes, changed in place, as `form` is
 * bias    (C,) after `zo_recalibrate_weights` */
void zo_rebase(struct zo_bias_codes *form, struct zo_state *state, const int32_t *bias,
               const int32_t *channels);

#endif
