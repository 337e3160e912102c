/* ADD and global average as Neural-ART's ARITH and POOL units compute them.
 *
 *     add    y = sat8(round1((round0(a_coefficient * a / 2^a_shift) + round0(b .. b_shift)
 *                            + (c << c_shift)) / 2^shift))
 *     mean   p = sat16(round0(sum * mulval / 2^pool_shift)), eight fraction bits
 *            y = sat8(round2((round1(p * a / 2^8) + c) / 2^shift))
 *
 * Both take the codes as they are: zero points are part of c.
 * Twin of npusim/kernels/neural_art_units.py. Sources: as neural_art.h. */
#ifndef NPU_NEURAL_ART_UNITS_H
#define NPU_NEURAL_ART_UNITS_H

#include "structs.h"

/* Add with broadcasting.
 *
 * a, b        as long as their strides reach
 * shape       (rank,), walk over y
 * a_strides   (rank,), in elements; the last is 0 or 1
 * b_strides   (rank,)
 * y           as long as the walk, out */
void npu_neural_art_add(const int8_t *a, const int8_t *b, const struct npu_neural_art_add *p,
                        const int32_t *shape, size_t rank, const int32_t *a_strides,
                        const int32_t *b_strides, int8_t *y);

/* Average of every channel's map.
 *
 * x      (n / channels, cells, channels)
 * y      (n,), out
 * sums   (channels,), scratch; a map has fewer than 2^24 cells */
void npu_neural_art_mean(const int8_t *x, const struct npu_neural_art_mean *p, int8_t *y, size_t n,
                         int32_t *sums);

#endif
