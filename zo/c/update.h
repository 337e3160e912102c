/* From a gradient to new int8 codes, bit by bit.
 *
 *     gh = rs(g*G_c, s_c)                  unit 2^-24 nat per code (F = 8 bits below 2^-16)
 *     m  = sat32(rs(m*beta, 15) + gh)      no (1 - beta); beta = 0 is no momentum
 *     u  = rs(m*Lt_c, Ls_c + 2*e_c)        unit 2^-16 code; e_c = doublings of the channel's scale
 *     error_feedback   V = clamp((w << 16) + r - u),  w = rs(V, 16),  r = V - (w << 16)
 *     nearest          w = clamp(w - rs(u, 16))
 *     stochastic       w = clamp(w - ((u + h) >> 16)), h 16 random bits
 *     threshold        w = clamp(w - sign(u)) where |u| >= t
 *     sign             threshold with t = 1
 *
 * Twin of zo/update.py. */
#ifndef ZO_UPDATE_H
#define ZO_UPDATE_H

#include "fixed_point.h"
#include "perturb.h"

enum zo_rule {
    ZO_RULE_ERROR_FEEDBACK,
    ZO_RULE_NEAREST,
    ZO_RULE_STOCHASTIC,
    ZO_RULE_THRESHOLD,
    ZO_RULE_SIGN
};

/* A trainable tensor and what training keeps beside it; every array is changed in place.
 *
 * codes       (n,), the tensor itself; the channel of weight i is (i div inner) mod channels
 * residual    (n,) in 2^-16 code, or NULL under rules that keep none
 * momentum    (n,) in 2^-24 nat per code, or NULL without momentum
 * doublings   (channels,), e_c: how often the scale of channel c has doubled
 * inner       weights in a row that share a channel: I of (O, I), 1 of depthwise or a bias */
struct zo_state {
    int8_t *codes;
    size_t n;
    int16_t *residual;
    int32_t *momentum;
    int32_t *doublings;
    size_t channels;
    size_t inner;
};

/* How a gradient changes codes.
 *
 * beta        momentum in Q15, 0..32767; 0 turns it off and saves its buffer
 * threshold   of ZO_RULE_THRESHOLD, in 2^-16 code, above 0 */
struct zo_update_rule {
    enum zo_rule name;
    struct zo_rails rails;
    int32_t beta;
    int64_t threshold;
};

/* (G, 15 + eb - F) for `channels` channels: eb = bitlength(den),
 * G = (2^(15+eb) + den div 2) div den, in 2^15..2^16; 0 < den < 2^47. */
void zo_gradient_scale(int64_t den, size_t channels, int32_t *multiplier, int32_t *right_shift);

/* One step of one tensor, in place; returns how many codes changed.
 *
 * gradient   g (n,)
 * scale      (G, shift) from `zo_gradient_scale`, or of the exact head
 * rate       (Lt, Ls) of this step, from `zo_rates_at`, without doublings
 * stream     `zo_rounding_stream` of this step and tensor; only ZO_RULE_STOCHASTIC reads it */
size_t zo_update(struct zo_state *state, const int64_t *gradient, const struct zo_ratio *scale,
                 const struct zo_ratio *rate, const struct zo_update_rule *rule,
                 const struct zo_stream *stream);

/* `zo_update` of the weights first .. first+n-1 alone, of which gradient (n,) is. */
size_t zo_update_part(struct zo_state *state, size_t first, const int64_t *gradient, size_t n,
                      const struct zo_ratio *scale, const struct zo_ratio *rate,
                      const struct zo_update_rule *rule, const struct zo_stream *stream);

/* momentum (n,) = sat32(rs(momentum*beta, 15) + rs(gradient*G_c, s_c)), in place. */
void zo_add_momentum(int32_t *momentum, size_t n, const int64_t *gradient,
                     const struct zo_ratio *scale, int32_t beta, size_t inner);

/* codes and residual (n,) after the step u; returns how many codes changed. */
size_t zo_error_feedback(int8_t *codes, size_t n, int16_t *residual, const int32_t *momentum,
                         const struct zo_ratio *rate, const struct zo_rails *between, size_t inner);

/* codes (n,) = clamp(codes - rs(u, 16)); returns how many changed. */
size_t zo_nearest(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                  const struct zo_rails *between, size_t inner);

/* codes (n,) = clamp(codes - ((u + h) >> 16)), h = top 16 bits of words (n,); returns moves. */
size_t zo_stochastic(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                     const struct zo_rails *between, size_t inner, const uint32_t *words);

/* codes (n,) move by one against u where |u| >= least; returns how many changed. */
size_t zo_threshold(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                    const struct zo_rails *between, size_t inner, int64_t least);

#endif
