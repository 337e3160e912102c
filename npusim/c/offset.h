/* Rows of a strided walk: how many there are, and where each begins in an operand.
 *
 * A walk has a shape (rank,), rank >= 1, and per operand strides (rank,) in elements. A row runs
 * along the last dimension; rows are counted in row-major order of the others.
 * Twin of npusim/kernels/offset.py. */
#ifndef NPU_OFFSET_H
#define NPU_OFFSET_H

#include <stddef.h>
#include <stdint.h>

/* Number of rows of a walk. */
static inline int32_t npu_rows_of(const int32_t *shape, size_t rank)
{
    int32_t rows = 1;
    for (size_t d = 0; d + 1 < rank; d++) {
        rows *= shape[d];
    }
    return rows;
}

/* Position of a row's first element in the operand with these strides. */
static inline size_t npu_offset(int32_t row, const int32_t *shape, size_t rank,
                                const int32_t *strides)
{
    int32_t position = 0;
    for (size_t d = rank - 1; d-- > 0;) {
        position += row % shape[d] * strides[d];
        row /= shape[d];
    }
    return (size_t)position;
}

#endif
