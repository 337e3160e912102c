#include "adapt.h"

#include "fixed_point.h"

enum {
    FRACTION = 16,
    SILENT = 1 << (FRACTION - 1),
    RATIO_MIN = 1 << (FRACTION - 2),
    RATIO_MAX = 1 << (FRACTION + 2),
    BIAS_LIMIT = 1 << 30,
    SHIFT_LIMIT = 31
};

/* One channel of zo_scales. */
struct scale {
    int64_t bias;
    int64_t multiplier;
    int64_t shift;
};

/* source / target in Q16, to nearest, clamped to 1/4 .. 4. */
static int64_t deviation_ratio(int32_t source, int32_t target)
{
    const int64_t divisor = target > 1 ? target : 1;
    const int64_t ratio = ((int64_t)source * (1 << FRACTION) + (divisor >> 1)) / divisor;
    return zo_clamp(ratio, RATIO_MIN, RATIO_MAX);
}

/* wanted * 2^-16 / M to nearest, ties toward +inf; wanted in 2^-16 output code, below 2^28.
 * M = multiplier * 2^(shift - 31). Where the quotient is 2^31 or more the result is 2^31. */
static int64_t accumulator_units(int64_t wanted, const struct scale *layer)
{
    const int64_t left = 31 - FRACTION - layer->shift;
    const int64_t size = wanted < 0 ? -wanted : wanted;
    /* |wanted| * 2^left >= 2^62 and multiplier < 2^31: the quotient is 2^31 or more */
    if (size >> zo_clamp(62 - left, 0, 62) != 0) {
        return (int64_t)1 << 31;
    }
    const int64_t numerator = wanted * ((int64_t)1 << zo_clamp(left, 0, 62));
    const int64_t divisor = layer->multiplier * ((int64_t)1 << zo_clamp(-left, 0, 31));
    return zo_floor_divide(numerator + (divisor >> 1), divisor);
}

/* Multiplier in [2^30, 2^31) and shift of M * ratio, ratio in Q16. */
static void rescale(struct scale *layer, int64_t ratio)
{
    const int64_t product = layer->multiplier * ratio; /* below 2^49 */
    const int32_t excess = zo_floor_log2(product) - 30;
    const int64_t multiplier = zo_rs(product, excess);
    const int64_t carry = multiplier >> 31; /* rounded up to 2^31 */
    layer->multiplier = multiplier >> carry;
    layer->shift += excess + carry - FRACTION;
}

static int is_within(int64_t value, int64_t limit)
{
    return value > -limit && value < limit;
}

size_t zo_match_channels(struct zo_scales *layer, size_t c, const struct zo_moments *source,
                         const struct zo_moments *target)
{
    size_t changed = 0;
    for (size_t i = 0; i < c; i++) {
        struct scale scale = {layer->bias[i], layer->multiplier[i], layer->shift[i]};
        if (source->deviation[i] < SILENT || target->deviation[i] < SILENT
            || scale.multiplier <= 0) {
            continue;
        }
        const int64_t ratio = deviation_ratio(source->deviation[i], target->deviation[i]);
        const int64_t mean = (int64_t)source->mean[i] * (1 << FRACTION) + (ratio >> 1);
        const int64_t wanted = zo_floor_divide(mean, ratio) - target->mean[i];
        const int64_t change = accumulator_units(wanted, &scale);
        scale.bias += change;
        rescale(&scale, ratio);
        if (is_within(change, BIAS_LIMIT) && is_within(scale.bias, BIAS_LIMIT)
            && is_within(scale.shift, SHIFT_LIMIT + 1)) {
            layer->bias[i] = (int32_t)scale.bias;
            layer->multiplier[i] = (int32_t)scale.multiplier;
            layer->shift[i] = (int32_t)scale.shift;
            changed++;
        }
    }
    return changed;
}
