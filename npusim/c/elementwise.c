#include "elementwise.h"

#include "offset.h"
#include "requantize.h"

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

void npu_add(const int8_t *a, const int8_t *b, const struct npu_add *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count)
{
    const size_t last = walk->rank - 1, n = (size_t)walk->shape[last];
    const size_t a_step = (size_t)walk->a_strides[last], b_step = (size_t)walk->b_strides[last];
    for (int32_t row = 0; row < npu_rows_of(walk->shape, walk->rank); row++) {
        const int8_t *from_a = &a[npu_offset(row, walk->shape, walk->rank, walk->a_strides)];
        const int8_t *from_b = &b[npu_offset(row, walk->shape, walk->rank, walk->b_strides)];
        for (size_t start = 0; start < n; start += count) {
            const size_t m = lesser(count, n - start);
            const struct npu_operand left
                = {&from_a[start * a_step], a_step, p->a_zero_point, p->left_shift, &p->a};
            const struct npu_operand right
                = {&from_b[start * b_step], b_step, p->b_zero_point, p->left_shift, &p->b};
            npu_scale_operand(&left, m, scratch);
            npu_add_operand(&right, m, scratch);
            npu_requantize_tensor_int8(scratch, m, r, y, 0);
            y += m;
        }
    }
}

void npu_mul(const int8_t *a, const int8_t *b, const struct npu_mul *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count)
{
    const size_t last = walk->rank - 1, n = (size_t)walk->shape[last];
    const size_t a_step = (size_t)walk->a_strides[last], b_step = (size_t)walk->b_strides[last];
    for (int32_t row = 0; row < npu_rows_of(walk->shape, walk->rank); row++) {
        const int8_t *from_a = &a[npu_offset(row, walk->shape, walk->rank, walk->a_strides)];
        const int8_t *from_b = &b[npu_offset(row, walk->shape, walk->rank, walk->b_strides)];
        for (size_t start = 0; start < n; start += count) {
            const size_t m = lesser(count, n - start);
            npu_multiply(&from_a[start * a_step], a_step, &from_b[start * b_step], b_step, m, p,
                         scratch);
            npu_requantize_tensor_int8(scratch, m, r, y, 0);
            y += m;
        }
    }
}

#if !defined(__ARM_FEATURE_MVE) /* else in elementwise_mve.c */

/* A copy of an operand cannot change while sums are written. */
void npu_scale_operand(const struct npu_operand *operand, size_t n, int32_t *sums)
{
    const struct npu_operand x = *operand;
    const struct npu_requantization r = *x.r;
    const size_t whole = n - n % (size_t)r.rounding.block;
    for (size_t i = 0; i < n; i++) {
        sums[i] = npu_scaled_code(&x, i, i < whole ? r.rounding.rule : r.rounding.rest);
    }
}

void npu_add_operand(const struct npu_operand *operand, size_t n, int32_t *sums)
{
    const struct npu_operand x = *operand;
    const struct npu_requantization r = *x.r;
    const size_t whole = n - n % (size_t)r.rounding.block;
    for (size_t i = 0; i < n; i++) {
        const int32_t rule = i < whole ? r.rounding.rule : r.rounding.rest;
        sums[i] = npu_add_wrapping(sums[i], npu_scaled_code(&x, i, rule));
    }
}

void npu_multiply(const int8_t *a, size_t a_stride, const int8_t *b, size_t b_stride, size_t n,
                  const struct npu_mul *p, int32_t *products)
{
    const int32_t a_zero_point = p->a_zero_point, b_zero_point = p->b_zero_point;
    for (size_t i = 0; i < n; i++) {
        products[i] = (a[i * a_stride] - a_zero_point) * (b[i * b_stride] - b_zero_point);
    }
}

#endif

/* Defines npu_rescale_X_Y for one pair of types. */
#define RESCALE(X, Y)                                                                           \
    void npu_rescale_##X##_##Y(const X##_t *x, size_t n, const struct npu_rescale *p,           \
                               const struct npu_requantization *r, Y##_t *y, int32_t *scratch,  \
                               size_t count)                                                    \
    {                                                                                           \
        for (size_t start = 0; start < n; start += count) {                                     \
            const size_t m = lesser(count, n - start);                                          \
            for (size_t i = 0; i < m; i++) {                                                    \
                scratch[i] = npu_subtract_wrapping(x[start + i], p->x_zero_point);              \
            }                                                                                   \
            npu_requantize_tensor_##Y(scratch, m, r, y, start);                                 \
        }                                                                                       \
    }

RESCALE(int8, int8)
RESCALE(int8, uint8)
RESCALE(int8, int16)
RESCALE(int8, int32)
RESCALE(uint8, int8)
RESCALE(int16, int8)
RESCALE(int16, int16)
RESCALE(int16, int32)
RESCALE(int32, int8)
RESCALE(int32, int16)
