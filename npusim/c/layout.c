#include "layout.h"

#include <string.h>

#include "offset.h"

/* y (n,) = every `step`-th element of x; a step of 0 repeats the first. */
static void gather(const uint8_t *x, size_t step, size_t n, size_t size, uint8_t *y)
{
    if (step == 1) {
        memcpy(y, x, n * size);
    } else if (size == 1) {
        for (size_t i = 0; i < n; i++) {
            y[i] = x[i * step];
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            memcpy(&y[i * size], &x[i * step * size], size);
        }
    }
}

void npu_pad(const void *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
             int32_t start, const void *value, size_t size, void *y, size_t n)
{
    const uint8_t *source = x;
    uint8_t *const target = y;
    const size_t bytes = (size_t)shape[rank - 1] * size;
    gather(value, 0, n, size, target);
    for (int32_t row = 0; row < npu_rows_of(shape, rank); row++) {
        const size_t first = (size_t)start + npu_offset(row, shape, rank, y_strides);
        memcpy(&target[first * size], source, bytes);
        source += bytes;
    }
}

void npu_transpose(const void *x, const int32_t *shape, size_t rank, const int32_t *x_strides,
                   size_t size, void *y)
{
    const uint8_t *const source = x;
    uint8_t *target = y;
    const size_t n = (size_t)shape[rank - 1], step = (size_t)x_strides[rank - 1];
    for (int32_t row = 0; row < npu_rows_of(shape, rank); row++) {
        const size_t first = npu_offset(row, shape, rank, x_strides);
        gather(&source[first * size], step, n, size, target);
        target += n * size;
    }
}

void npu_move(const void *x, void *y, size_t n)
{
    memcpy(y, x, n);
}
