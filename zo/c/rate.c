#include "rate.h"

enum { COSINE_STEPS = 1024 };

/* COS[j], or one for a constant rate, in Q15. */
static int64_t decay_at(const struct zo_rates *rates, uint32_t t)
{
    if (rates->decay == ZO_DECAY_CONSTANT) {
        return 1 << 15;
    }
    const uint64_t j = (uint64_t)t * COSINE_STEPS / rates->steps;
    return rates->cosine[j < COSINE_STEPS ? j : COSINE_STEPS - 1];
}

enum zo_status zo_rates_at(const struct zo_rates *rates, int32_t q, uint32_t t, int32_t *multiplier,
                           struct zo_ratio *rate)
{
    for (size_t i = 0; i < rates->count; i++) {
        if (rates->rungs[i] == q) {
            const struct zo_ratio *pair = &rates->pairs[i];
            const int64_t decay = decay_at(rates, t);
            for (size_t c = 0; c < pair->channels; c++) {
                multiplier[c] = (int32_t)zo_rs(pair->multiplier[c] * decay, 15);
            }
            rate->multiplier = multiplier;
            rate->right_shift = pair->right_shift;
            rate->channels = pair->channels;
            return ZO_OK;
        }
    }
    return ZO_BAD_RATE;
}
