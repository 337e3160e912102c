#include "elementwise.h"

#include "offset.h"
#include "requantize.h"

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out (n,) = one operand of an add, scaled. */
static void scaled_operand(const int8_t *x, size_t start, size_t stride, size_t n,
                           int32_t zero_point, int32_t left_shift,
                           const struct npu_requantization *r, int32_t *out)
{
    npu_differences(x, start, stride, n, zero_point, out);
    npu_shift_left(out, n, left_shift);
    npu_requantize_tensor_int32(out, n, r, out, 0);
}

void npu_add(const int8_t *a, const int8_t *b, const struct npu_add *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count)
{
    const size_t last = walk->rank - 1, n = (size_t)walk->shape[last], piece = count / 2;
    const size_t a_step = (size_t)walk->a_strides[last], b_step = (size_t)walk->b_strides[last];
    int32_t *const left = scratch, *const right = &scratch[piece];
    for (int32_t row = 0; row < npu_rows_of(walk->shape, walk->rank); row++) {
        const size_t a0 = npu_offset(row, walk->shape, walk->rank, walk->a_strides);
        const size_t b0 = npu_offset(row, walk->shape, walk->rank, walk->b_strides);
        for (size_t start = 0; start < n; start += piece) {
            const size_t m = lesser(piece, n - start);
            scaled_operand(a, a0 + start * a_step, a_step, m, p->a_zero_point, p->left_shift,
                           &p->a, left);
            scaled_operand(b, b0 + start * b_step, b_step, m, p->b_zero_point, p->left_shift,
                           &p->b, right);
            npu_add_to(left, m, right);
            npu_requantize_tensor_int8(left, m, r, y, 0);
            y += m;
        }
    }
}

void npu_mul(const int8_t *a, const int8_t *b, const struct npu_mul *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count)
{
    const size_t last = walk->rank - 1, n = (size_t)walk->shape[last], piece = count / 2;
    const size_t a_step = (size_t)walk->a_strides[last], b_step = (size_t)walk->b_strides[last];
    int32_t *const left = scratch, *const right = &scratch[piece];
    for (int32_t row = 0; row < npu_rows_of(walk->shape, walk->rank); row++) {
        const size_t a0 = npu_offset(row, walk->shape, walk->rank, walk->a_strides);
        const size_t b0 = npu_offset(row, walk->shape, walk->rank, walk->b_strides);
        for (size_t start = 0; start < n; start += piece) {
            const size_t m = lesser(piece, n - start);
            npu_differences(a, a0 + start * a_step, a_step, m, p->a_zero_point, left);
            npu_differences(b, b0 + start * b_step, b_step, m, p->b_zero_point, right);
            npu_multiply_by(left, m, right);
            npu_requantize_tensor_int8(left, m, r, y, 0);
            y += m;
        }
    }
}

#if !defined(__ARM_FEATURE_MVE)

void npu_differences(const int8_t *x, size_t start, size_t stride, size_t n, int32_t zero_point,
                     int32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = x[start + i * stride] - zero_point;
    }
}

void npu_shift_left(int32_t *values, size_t n, int32_t exponent)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = npu_shift_left_wrapping(values[i], exponent);
    }
}

void npu_add_to(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = npu_add_wrapping(values[i], others[i]);
    }
}

void npu_multiply_by(int32_t *values, size_t n, const int32_t *others)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = npu_multiply_wrapping(values[i], others[i]);
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
