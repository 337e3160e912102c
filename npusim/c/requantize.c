#include "requantize.h"

/* How many of n elements lie in whole blocks; the rest has a rule of its own. */
static size_t whole_blocks(size_t n, const struct npu_requantization *r)
{
    return n - n % (size_t)r->rounding.block;
}

/* The rule of element i. */
static inline int32_t rule_of(size_t i, size_t whole, const struct npu_requantization *r)
{
    return i < whole ? r->rounding.rule : r->rounding.rest;
}

/* The code of an accumulator that has the i-th multiplier. */
static inline int64_t code_of(int64_t acc, size_t i, int32_t rule,
                              const struct npu_requantization *r)
{
    return npu_code(npu_requantize(acc, r->multiplier[i], r->shift[i], rule), r);
}

void npu_requantize_rows_int64(const int64_t *acc, size_t rows, size_t n,
                               const struct npu_requantization *r, int8_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t row = 0; row < rows; row++) {
        const size_t base = row * n;
        for (size_t i = 0; i < n; i++) {
            y[start + base + i] = (int8_t)code_of(acc[base + i], i, rule_of(i, whole, r), r);
        }
    }
}

#if !defined(__ARM_FEATURE_MVE) /* else in requantize_mve.c */

/* The codes first .. end-1 of a row. A copy of r cannot change while y is written, and a rule that
 * is a constant is chosen when this is put into its caller. */
static inline void requantize_part(const int32_t *acc, size_t first, size_t end, int32_t rule,
                                   const struct npu_requantization r, int8_t *y)
{
    for (size_t i = first; i < end; i++) {
        y[i] = (int8_t)code_of(acc[i], i, rule, &r);
    }
}

void npu_requantize_rows(const int32_t *acc, size_t rows, size_t n,
                         const struct npu_requantization *r, int8_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t row = 0; row < rows; row++) {
        int8_t *const codes = &y[start + row * n];
        if (r->rounding.rule == NPU_DOUBLE_ROUNDING) {
            requantize_part(acc, 0, whole, NPU_DOUBLE_ROUNDING, *r, codes);
        } else {
            requantize_part(acc, 0, whole, r->rounding.rule, *r, codes);
        }
        requantize_part(acc, whole, n, r->rounding.rest, *r, codes);
        acc += n;
    }
}

void npu_requantize_tensor_int8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                int8_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t i = 0; i < n; i++) {
        y[start + i] = (int8_t)code_of(acc[i], 0, rule_of(i, whole, r), r);
    }
}

void npu_requantize_tensor_uint8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 uint8_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t i = 0; i < n; i++) {
        y[start + i] = (uint8_t)code_of(acc[i], 0, rule_of(i, whole, r), r);
    }
}

void npu_requantize_tensor_int16(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int16_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t i = 0; i < n; i++) {
        y[start + i] = (int16_t)code_of(acc[i], 0, rule_of(i, whole, r), r);
    }
}

void npu_requantize_tensor_int32(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int32_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    for (size_t i = 0; i < n; i++) {
        y[start + i] = (int32_t)code_of(acc[i], 0, rule_of(i, whole, r), r);
    }
}

#endif
