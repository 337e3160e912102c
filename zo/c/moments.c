#include "moments.h"

#include "fixed_point.h"

enum { FRACTION = 16, MAX_CELLS = (1 << 23) - 1 };

void zo_add_sums(const int8_t *values, size_t n, size_t c, int32_t zero_point, int64_t *sums)
{
    for (size_t cell = 0; cell < n; cell++) {
        for (size_t i = 0; i < c; i++) {
            const int32_t d = values[cell * c + i] - zero_point;
            sums[i] += d;
            sums[c + i] += d * d;
        }
    }
}

static int32_t deviation_of(int64_t count, int64_t total, int64_t squares)
{
    const int64_t spread = count * squares - total * total; /* n^2 * variance, below 2^62 */
    const int32_t even = (61 - zo_floor_log2(spread > 1 ? spread : 1)) & ~1;
    const int64_t root = zo_square_root(spread * ((int64_t)1 << even)); /* from 2^30 on, unless 0 */
    const int64_t divisor = count << (even >> 1);
    return (int32_t)(((root << FRACTION) + (divisor >> 1)) / divisor);
}

enum zo_status zo_channel_moments(int64_t count, const int64_t *total, size_t c,
                                  const int64_t *squares, struct zo_moments *found)
{
    if (count < 1 || count > MAX_CELLS) {
        return ZO_BAD_COUNT;
    }
    for (size_t i = 0; i < c; i++) {
        const int64_t scaled = total[i] * (1 << FRACTION) + (count >> 1);
        found->mean[i] = (int32_t)zo_floor_divide(scaled, count);
        found->deviation[i] = deviation_of(count, total[i], squares[i]);
    }
    return ZO_OK;
}

int64_t zo_square_root(int64_t v)
{
    int64_t root = 0;
    for (int32_t bit = 30; bit >= 0; bit--) {
        const int64_t longer = root | (int64_t)1 << bit;
        root = longer * longer <= v ? longer : root;
    }
    return root;
}
