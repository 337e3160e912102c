/* Operators that only move data: pad, transpose and move.
 *
 *     pad         y[start + sum of i_d * y_strides_d] = x[i], value elsewhere
 *     transpose   y[i] = x[sum of i_d * x_strides_d]
 *     move        y = x                                                            (reshape)
 *
 * Elements have any type of `size` bytes, and need no alignment; x and y do not overlap.
 * Shapes and strides are those of merged walks (npusim/strides.py).
 * Twin of npusim/kernels/layout.py. */
#ifndef NPU_LAYOUT_H
#define NPU_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Surround x with a value.
 *
 * shape       (rank,), walk over x
 * y_strides   (rank,), of y in that walk, in elements; the last is 1
 * start       position of x's first element in y
 * value       (1,), the element outside x: the zero point of a quantised tensor
 * y           (n,) elements, out */
void npu_pad(const void *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
             int32_t start, const void *value, size_t size, void *y, size_t n);

/* Permute dimensions.
 *
 * shape       (rank,), walk over y
 * x_strides   (rank,), of x in that walk, in elements
 * y           as many elements as the walk, out */
void npu_transpose(const void *x, const int32_t *shape, size_t rank, const int32_t *x_strides,
                   size_t size, void *y);

/* y (n,) = x (n,), in bytes. */
void npu_move(const void *x, void *y, size_t n);

#endif
