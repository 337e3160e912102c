#include "update.h"

enum { FRACTION_BITS = 8, TILE = 64, ONE = 1 << 16, HALF = 1 << 15, FARTHEST = 1 << 24 };

/* How one channel's products are rounded: rs(x * multiplier, right_shift) as
 * (x * multiplier + half) >> right, what is shifted left being in the multiplier already. */
struct factor {
    int64_t multiplier;
    int64_t half;
    int32_t right;
};

static struct factor channel_factor(const struct zo_ratio *ratio, size_t start, size_t inner)
{
    const size_t c = start / inner % ratio->channels;
    const int32_t shift = ratio->right_shift[c];
    struct factor factor = {ratio->multiplier[c], 0, 0};
    if (shift >= 63) {
        factor.multiplier = 0;
    } else if (shift > 0) {
        factor.half = (int64_t)1 << (shift - 1);
        factor.right = shift;
    } else {
        factor.multiplier *= (int64_t)1 << -shift;
    }
    return factor;
}

static int64_t times(int64_t x, struct factor factor)
{
    return (x * factor.multiplier + factor.half) >> factor.right;
}

/* u = rs(m * Lt, Ls), cut at 2^24: 256 codes already take any code to its rail. */
static int32_t step_of(int32_t momentum, struct factor factor)
{
    return (int32_t)zo_clamp(times(momentum, factor), -FARTHEST, FARTHEST);
}

static int32_t clamp32(int32_t x, int32_t lo, int32_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

void zo_gradient_scale(int64_t den, size_t channels, int32_t *multiplier, int32_t *right_shift)
{
    const int32_t bits = zo_floor_log2(den) + 1;
    const int64_t scale = (((int64_t)1 << (15 + bits)) + den / 2) / den;
    for (size_t c = 0; c < channels; c++) {
        multiplier[c] = (int32_t)scale;
        right_shift[c] = 15 + bits - FRACTION_BITS;
    }
}

void zo_add_momentum(int32_t *momentum, size_t n, const int64_t *gradient,
                     const struct zo_ratio *scale, int32_t beta, size_t inner)
{
    for (size_t start = 0; start < n; start += inner) {
        const struct factor factor = channel_factor(scale, start, inner);
        for (size_t i = start; i < start + inner; i++) {
            const int64_t kept = zo_rs((int64_t)momentum[i] * beta, 15);
            momentum[i] = zo_sat32(kept + times(gradient[i], factor));
        }
    }
}

size_t zo_error_feedback(int8_t *codes, size_t n, int16_t *residual, const int32_t *momentum,
                         const struct zo_ratio *rate, const struct zo_rails *between, size_t inner)
{
    const int32_t lo = between->lo * ONE, hi = between->hi * ONE;
    size_t moved = 0;
    for (size_t start = 0; start < n; start += inner) {
        const struct factor factor = channel_factor(rate, start, inner);
        for (size_t i = start; i < start + inner; i++) {
            int32_t master = codes[i] * ONE + residual[i] - step_of(momentum[i], factor);
            master = clamp32(master, lo, hi);
            const int8_t code = (int8_t)((master + HALF) >> 16);
            residual[i] = (int16_t)(master - code * ONE);
            moved += code != codes[i];
            codes[i] = code;
        }
    }
    return moved;
}

/* code = clamp(code - step); 1 if it changed, else 0. */
static size_t move(int8_t *code, int32_t step, const struct zo_rails *between)
{
    const int8_t before = *code;
    *code = (int8_t)clamp32(before - step, between->lo, between->hi);
    return *code != before;
}

size_t zo_nearest(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                  const struct zo_rails *between, size_t inner)
{
    size_t moved = 0;
    for (size_t start = 0; start < n; start += inner) {
        const struct factor factor = channel_factor(rate, start, inner);
        for (size_t i = start; i < start + inner; i++) {
            moved += move(&codes[i], (step_of(momentum[i], factor) + HALF) >> 16, between);
        }
    }
    return moved;
}

size_t zo_stochastic(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                     const struct zo_rails *between, size_t inner, const uint32_t *words)
{
    size_t moved = 0;
    for (size_t start = 0; start < n; start += inner) {
        const struct factor factor = channel_factor(rate, start, inner);
        for (size_t i = start; i < start + inner; i++) {
            const int32_t up = (int32_t)(words[i] >> 16);
            moved += move(&codes[i], (step_of(momentum[i], factor) + up) >> 16, between);
        }
    }
    return moved;
}

size_t zo_threshold(int8_t *codes, size_t n, const int32_t *momentum, const struct zo_ratio *rate,
                    const struct zo_rails *between, size_t inner, int64_t least)
{
    size_t moved = 0;
    for (size_t start = 0; start < n; start += inner) {
        const struct factor factor = channel_factor(rate, start, inner);
        for (size_t i = start; i < start + inner; i++) {
            const int64_t u = times(momentum[i], factor);
            moved += move(&codes[i], (u >= least) - (u <= -least), between);
        }
    }
    return moved;
}

/* Weights in a row, at most TILE: whole channels, or a part of one.
 *
 * channel, channels   the channels they belong to
 * inner               weights of each */
struct tile {
    size_t start;
    size_t size;
    size_t channel;
    size_t channels;
    size_t inner;
};

static struct tile tile_at(const struct zo_state *state, size_t start, size_t end)
{
    const size_t inner = state->inner, channel = start / inner % state->channels;
    const size_t rest = inner - start % inner, most = end - start < TILE ? end - start : TILE;
    struct tile tile = {start, rest < most ? rest : most, channel, 1, 0};
    if (start % inner == 0 && inner <= most) {
        const size_t wanted = most / inner, left = state->channels - channel;
        tile.channels = wanted < left ? wanted : left;
        tile.size = tile.channels * inner;
    }
    tile.inner = tile.size / tile.channels;
    return tile;
}

/* The channels of a ratio that belong to a tile. */
static struct zo_ratio part_of(const struct zo_ratio *ratio, const struct tile *tile)
{
    const size_t skipped = ratio->channels == 1 ? 0 : tile->channel;
    const struct zo_ratio part = {&ratio->multiplier[skipped], &ratio->right_shift[skipped],
                                  ratio->channels == 1 ? 1 : tile->channels};
    return part;
}

static size_t apply(struct zo_state *state, const struct tile *tile, const int32_t *momentum,
                    const struct zo_ratio *rate, const struct zo_update_rule *rule,
                    const struct zo_stream *stream)
{
    int8_t *codes = &state->codes[tile->start];
    const struct zo_rails *between = &rule->rails;
    const size_t n = tile->size, inner = tile->inner;
    if (rule->name == ZO_RULE_ERROR_FEEDBACK) {
        return zo_error_feedback(codes, n, &state->residual[tile->start], momentum, rate, between,
                                 inner);
    }
    if (rule->name == ZO_RULE_NEAREST) {
        return zo_nearest(codes, n, momentum, rate, between, inner);
    }
    if (rule->name == ZO_RULE_STOCHASTIC) {
        uint32_t words[TILE];
        zo_fill_words(stream, 0, tile->start, words, n);
        return zo_stochastic(codes, n, momentum, rate, between, inner, words);
    }
    return zo_threshold(codes, n, momentum, rate, between, inner,
                        rule->name == ZO_RULE_THRESHOLD ? rule->threshold : 1);
}

/* One tile of `zo_update`; gradient is the tile's. */
static size_t update_tile(struct zo_state *state, const struct tile *tile, const int64_t *gradient,
                          const struct zo_ratio *scale, const struct zo_ratio *rate,
                          const struct zo_update_rule *rule, const struct zo_stream *stream)
{
    int32_t none[TILE], multiplier[TILE], right_shift[TILE];
    int32_t *momentum = state->momentum == NULL ? none : &state->momentum[tile->start];
    const struct zo_ratio scale_part = part_of(scale, tile), rate_part = part_of(rate, tile);
    const struct zo_ratio doubled = {multiplier, right_shift, tile->channels};
    for (size_t c = 0; c < tile->channels; c++) {
        multiplier[c] = rate_part.multiplier[c % rate_part.channels];
        right_shift[c] = rate_part.right_shift[c % rate_part.channels]
                         + 2 * state->doublings[tile->channel + c];
    }
    for (size_t i = 0; momentum == none && i < tile->size; i++) {
        none[i] = 0;
    }
    zo_add_momentum(momentum, tile->size, gradient, &scale_part, rule->beta, tile->inner);
    return apply(state, tile, momentum, &doubled, rule, stream);
}

size_t zo_update(struct zo_state *state, const int64_t *gradient, const struct zo_ratio *scale,
                 const struct zo_ratio *rate, const struct zo_update_rule *rule,
                 const struct zo_stream *stream)
{
    return zo_update_part(state, 0, gradient, state->n, scale, rate, rule, stream);
}

size_t zo_update_part(struct zo_state *state, size_t first, const int64_t *gradient, size_t n,
                      const struct zo_ratio *scale, const struct zo_ratio *rate,
                      const struct zo_update_rule *rule, const struct zo_stream *stream)
{
    size_t moved = 0;
    for (size_t start = first; start < first + n;) {
        const struct tile tile = tile_at(state, start, first + n);
        moved += update_tile(state, &tile, &gradient[start - first], scale, rate, rule, stream);
        start += tile.size;
    }
    return moved;
}
