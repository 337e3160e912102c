#include "mean.h"

#include "offset.h"
#include "requantize.h"

void npu_mean(const int8_t *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
              const struct npu_mean *p, const struct npu_requantization *r, int8_t *y,
              int32_t *sums, size_t n)
{
    const int32_t zero_points = npu_multiply_wrapping(p->cells, p->x_zero_point);
    npu_sum_codes(x, shape, rank, y_strides, sums, n);
    for (size_t i = 0; i < n; i++) {
        sums[i] = npu_subtract_wrapping(sums[i], zero_points);
    }
    if (r->channels == 1) {
        npu_requantize_tensor_int8(sums, n, r, y, 0);
    } else {
        npu_requantize_rows(sums, n / r->channels, r->channels, r, y, 0);
    }
}

void npu_sum_codes(const int8_t *x, const int32_t *shape, size_t rank, const int32_t *y_strides,
                   int32_t *sums, size_t n)
{
    const size_t length = (size_t)shape[rank - 1];
    for (size_t i = 0; i < n; i++) {
        sums[i] = 0;
    }
    for (int32_t row = 0; row < npu_rows_of(shape, rank); row++) {
        int32_t *const target = &sums[npu_offset(row, shape, rank, y_strides)];
        if (y_strides[rank - 1] == 0) {
            *target = npu_add_wrapping(*target, npu_total_of_codes(x, length));
        } else {
            npu_add_codes(x, length, target);
        }
        x += length;
    }
}

#if !defined(__ARM_FEATURE_MVE)

void npu_add_codes(const int8_t *x, size_t n, int32_t *sums)
{
    for (size_t i = 0; i < n; i++) {
        sums[i] = npu_add_wrapping(sums[i], x[i]);
    }
}

int32_t npu_total_of_codes(const int8_t *x, size_t n)
{
    int32_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total = npu_add_wrapping(total, x[i]);
    }
    return total;
}

#endif
