#include "xnnpack.h"

#include "arith.h"
#include "offset.h"

enum { RESCALE_SHIFT = 8 };

/* One element of the sum. */
static int8_t sum_code(int8_t a, int8_t b, const struct npu_add_xnnpack *p)
{
    const int32_t total =
        (a - p->a_zero_point) * p->a_multiplier + (b - p->b_zero_point) * p->b_multiplier;
    const int64_t scaled = npu_rounding_divide_up_by_pot(total, p->shift) + p->y_zero_point;
    return (int8_t)npu_clamp(scaled, p->act_min, p->act_max);
}

void npu_add_xnnpack(const int8_t *a, const int8_t *b, const struct npu_add_xnnpack *p,
                     const struct npu_pairs *walk, int8_t *y)
{
    const size_t last = walk->rank - 1, n = (size_t)walk->shape[last];
    const size_t a_step = (size_t)walk->a_strides[last], b_step = (size_t)walk->b_strides[last];
    for (int32_t row = 0; row < npu_rows_of(walk->shape, walk->rank); row++) {
        const int8_t *row_a = &a[npu_offset(row, walk->shape, walk->rank, walk->a_strides)];
        const int8_t *row_b = &b[npu_offset(row, walk->shape, walk->rank, walk->b_strides)];
        for (size_t i = 0; i < n; i++) {
            *y++ = sum_code(row_a[i * a_step], row_b[i * b_step], p);
        }
    }
}

void npu_rescale_xnnpack(const int8_t *x, size_t n, const struct npu_rescale_xnnpack *p,
                         int8_t *y)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t product = (x[i] - p->x_zero_point) * p->multiplier;
        const int64_t scaled =
            npu_rounding_divide_up_by_pot(product, RESCALE_SHIFT) + p->y_zero_point;
        y[i] = (int8_t)npu_clamp(scaled, p->act_min, p->act_max);
    }
}
