#include "recalibrate.h"

enum { WEIGHTS_PERCENT = 1, LOGITS_PERCENT = 60 };

size_t zo_recalibrate_weights(struct zo_state *state, int32_t *bias, int32_t *shift,
                              const struct zo_rails *between, int32_t *doubled)
{
    const size_t count = zo_double_channels(state, between, doubled);
    for (size_t c = 0; c < state->channels; c++) {
        if (doubled[c]) {
            bias[c] = (int32_t)zo_rs(bias[c], 1);
            shift[c]++;
        }
    }
    return count;
}

size_t zo_double_channels(struct zo_state *state, const struct zo_rails *between, int32_t *doubled)
{
    const size_t channels = state->channels;
    const int64_t each = (int64_t)(state->n / channels);
    size_t count = 0;
    zo_count_at_rails(state->codes, state->n, state->inner, between, doubled, channels);
    for (size_t c = 0; c < channels; c++) {
        doubled[c] = (int64_t)doubled[c] * 100 > WEIGHTS_PERCENT * each;
        state->doublings[c] += doubled[c];
        count += (size_t)doubled[c];
    }
    zo_halve_channels(state->codes, state->n, state->residual, state->momentum, state->inner,
                      doubled, channels);
    return count;
}

int32_t zo_recalibrate_logits(int64_t at_rail, int64_t entries, int32_t *shift, size_t c,
                              struct zo_cross_entropy *loss)
{
    if (at_rail * 100 <= LOGITS_PERCENT * entries || zo_cross_entropy_doubled(loss) != ZO_OK) {
        return 0;
    }
    for (size_t i = 0; i < c; i++) {
        shift[i]--;
    }
    return 1;
}

void zo_count_at_rails(const int8_t *codes, size_t n, size_t inner, const struct zo_rails *between,
                       int32_t *counts, size_t c)
{
    for (size_t i = 0; i < c; i++) {
        counts[i] = 0;
    }
    for (size_t start = 0; start < n; start += inner) {
        int32_t *count = &counts[start / inner % c];
        for (size_t i = start; i < start + inner; i++) {
            *count += codes[i] == between->lo || codes[i] == between->hi;
        }
    }
}

void zo_halve_channels(int8_t *codes, size_t n, int16_t *residual, int32_t *momentum, size_t inner,
                       const int32_t *crowded, size_t c)
{
    for (size_t start = 0; start < n; start += inner) {
        if (!crowded[start / inner % c]) {
            continue;
        }
        for (size_t i = start; i < start + inner; i++) {
            const int32_t master = codes[i] * 65536 + (residual == NULL ? 0 : residual[i]);
            const int64_t half = zo_rs(master, 1), code = zo_rs(half, 16);
            codes[i] = (int8_t)code;
            if (residual != NULL) {
                residual[i] = (int16_t)(half - code * 65536);
            }
            if (momentum != NULL) {
                momentum[i] = zo_sat32(2 * (int64_t)momentum[i]);
            }
        }
    }
}
