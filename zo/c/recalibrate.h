/* Scales that follow the weights and logits: a scale doubles where codes crowd at a rail.
 *
 *     weights of channel c   V = rs((w << 16) + r, 1), split as in the update; bias = rs(bias, 1);
 *                            shift_c += 1; m = sat32(2m); e_c += 1
 *     logits                 every shift -= 1; the loss takes the tables of twice the scale
 *
 * Call it after an epoch's evaluation; it doubles a channel at most once per call.
 * Twin of zo/recalibrate.py. */
#ifndef ZO_RECALIBRATE_H
#define ZO_RECALIBRATE_H

#include "loss.h"
#include "update.h"

/* Double the weight scale of each channel with more than 1 % of its codes at a rail, in place.
 *
 * bias      (C,), the layer's, in accumulator units
 * shift     (C,), the layer's requantisation, > 0 is left
 * doubled   (C,), out: 1 where a channel doubled, else 0
 * returns   how many channels doubled */
size_t zo_recalibrate_weights(struct zo_state *state, int32_t *bias, int32_t *shift,
                              const struct zo_rails *between, int32_t *doubled);

/* Halve codes and residual, double momentum and count it in e_c, where codes crowd at a rail.
 *
 * doubled   (C,), out, as above
 * Without a residual the half that is lost in an odd code is gone. */
size_t zo_double_channels(struct zo_state *state, const struct zo_rails *between, int32_t *doubled);

/* Double the logits' scale where more than 60 % of the validation logits are at a rail.
 *
 * at_rail   how many of the `entries` logits of the validation set are -128 or 127
 * shift     (c,) of the head's requantisation; each falls by 1
 * loss      takes the next tables
 * returns   1 if the scale doubled, else 0 (also after six doublings) */
int32_t zo_recalibrate_logits(int64_t at_rail, int64_t entries, int32_t *shift, size_t c,
                              struct zo_cross_entropy *loss);

/* counts (c,) = codes (n,) equal to lo or hi in each channel. */
void zo_count_at_rails(const int8_t *codes, size_t n, size_t inner, const struct zo_rails *between,
                       int32_t *counts, size_t c);

/* Halve (codes, residual) (n,) and double momentum (n,) in the channels marked in crowded (c,).
 * residual and momentum may be NULL. */
void zo_halve_channels(int8_t *codes, size_t n, int16_t *residual, int32_t *momentum, size_t inner,
                       const int32_t *crowded, size_t c);

#endif
