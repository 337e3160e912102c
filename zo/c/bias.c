#include "bias.h"

void zo_write_bias(int32_t *bias, size_t c, const struct zo_bias_codes *form, const int8_t *codes)
{
    for (size_t i = 0; i < c; i++) {
        bias[i] = form->base[i] + form->unit[i] * codes[i];
    }
}

void zo_rebase(struct zo_bias_codes *form, struct zo_state *state, const int32_t *bias,
               const int32_t *channels)
{
    for (size_t c = 0; c < state->n; c++) {
        if (!channels[c]) {
            continue;
        }
        if (form->unit[c] > 1) {
            form->unit[c] >>= 1;
        } else {
            state->doublings[c]++;
            if (state->momentum != NULL) {
                state->momentum[c] = zo_sat32(2 * (int64_t)state->momentum[c]);
            }
        }
        form->base[c] = bias[c] - form->unit[c] * state->codes[c];
    }
}
