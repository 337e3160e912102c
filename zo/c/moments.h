/* Channel statistics of a network's layers, in integers: what a chip shows of its inputs.
 *
 *     mean = S1 / n        deviation = sqrt(n*S2 - S1^2) / n        in units of 2^-16 code
 *
 * S1 and S2 are the sums of d and d^2 over all images and positions of a channel, d = code - zero
 * point. Twin of zo/moments.py. */
#ifndef ZO_MOMENTS_H
#define ZO_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Mean, relative to the zero point, and deviation of each channel of a layer's output, (C,), in
 * 2^-16 code. */
struct zo_moments {
    int32_t *mean;
    int32_t *deviation;
};

/* sums (2, c) += those of d and of d^2, d = values (n, c) - zero_point. */
void zo_add_sums(const int8_t *values, size_t n, size_t c, int32_t zero_point, int64_t *sums);

/* Moments from the count, the sums and the sums of squares.
 *
 * count            values per channel, 1 .. 2^23 - 1, else ZO_BAD_COUNT
 * total, squares   (c,), |total| <= 255 * count, squares <= 255^2 * count
 * found            out, the caller's memory */
enum zo_status zo_channel_moments(int64_t count, const int64_t *total, size_t c,
                                  const int64_t *squares, struct zo_moments *found);

/* floor(sqrt(v)), 0 <= v < 2^62, one bit of the root at a time. */
int64_t zo_square_root(int64_t v);

#endif
