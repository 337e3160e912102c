/* Adaptation without labels: channel statistics matched to those of the source, in integers.
 *
 *     R  = deviation_source / deviation_target               clamped to 1/4 .. 4
 *     M' = R * M
 *     b' = b + (mean_source / R - mean_target) / M           in accumulator units
 *
 * Layer by layer, each measured behind the adapted ones before it. Twin of zo/adapt.py. */
#ifndef ZO_ADAPT_H
#define ZO_ADAPT_H

#include "moments.h"

/* Bias, multiplier and shift of a layer's channels, (C,). */
struct zo_scales {
    int32_t *bias;
    int32_t *multiplier;
    int32_t *shift;
};

/* Change a layer's c channels, in place, so that target moments become source moments. A channel
 * is left alone where either deviation is below half a code, or where its bias or the change of it
 * would leave +-2^30, or its shift -31..31.
 * returns   how many channels changed */
size_t zo_match_channels(struct zo_scales *layer, size_t c, const struct zo_moments *source,
                         const struct zo_moments *target);

#endif
