#include "ladder.h"

int32_t zo_next_rung(const int32_t *rungs, size_t count, int32_t q,
                     const struct zo_fraction *factor)
{
    const int64_t wanted = factor->numerator * q;
    size_t i = 0;
    while (i + 1 < count && rungs[i] * factor->denominator < wanted) {
        i++;
    }
    return rungs[i];
}

int32_t zo_rung_above(const int32_t *rungs, size_t count, int32_t q)
{
    size_t i = 0;
    while (i + 1 < count && rungs[i] <= q) {
        i++;
    }
    return rungs[i];
}
