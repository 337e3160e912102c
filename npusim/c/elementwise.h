/* Elementwise operators on codes: add and mul with broadcasting, and rescale.
 *
 *     add      y = R(R_a((a - zp_a) << left_shift) + R_b((b - zp_b) << left_shift))
 *     mul      y = R((a - zp_a) * (b - zp_b))
 *     rescale  y = R(x - zp_x)                                 (quantize of codes, relu, relu6)
 *
 * R: requantise, see requantize.h. The operands of add and mul are walked together, row by row, in
 * pieces that the scratch holds; along a row each moves by 0 or 1. A piece is a multiple of the
 * blocks of every Requantization; longer pieces change nothing but the speed.
 * Twin of npusim/kernels/elementwise.py. Sources: TFLite reference_integer_ops::Add and Mul,
 * reference_ops::Requantize. */
#ifndef NPU_ELEMENTWISE_H
#define NPU_ELEMENTWISE_H

#include "requantize.h"

/* Add with broadcasting.
 *
 * a, b      as long as their strides reach
 * r         of the sum
 * y         as long as the walk, out
 * scratch   (count,): one piece */
void npu_add(const int8_t *a, const int8_t *b, const struct npu_add *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count);

/* Multiply with broadcasting; a, b, r, walk, y and scratch as in `npu_add`. */
void npu_mul(const int8_t *a, const int8_t *b, const struct npu_mul *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count);

/* y (n,) = codes x (n,) of one quantisation as codes of another, clamped.
 *
 * scratch   (count,): one piece; differences to the zero point wrap to 32 bits */
void npu_rescale_int8_int8(const int8_t *x, size_t n, const struct npu_rescale *p,
                           const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                           size_t count);
void npu_rescale_int8_uint8(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, uint8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int8_int16(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int8_int32(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int32_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_uint8_int8(const uint8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int16_int8(const int16_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int16_int16(const int16_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                             size_t count);
void npu_rescale_int16_int32(const int16_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int32_t *y, int32_t *scratch,
                             size_t count);
void npu_rescale_int32_int8(const int32_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int32_int16(const int32_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                             size_t count);

/* One operand of an add along a row.
 *
 * x             the first code; stride elements from one to the next, 0 or 1
 * zero_point    of x
 * left_shift    of the differences to it, 0..31
 * r             to the common scale of the operands: zero point 0, and every number is inside */
struct npu_operand {
    const int8_t *x;
    size_t stride;
    int32_t zero_point;
    int32_t left_shift;
    const struct npu_requantization *r;
};

/* R((x[i] - zero_point) << left_shift) by a rule of `enum npu_requantize_rule`, modulo 2^32. */
static inline int32_t npu_scaled_code(const struct npu_operand *operand, size_t i, int32_t rule)
{
    const int32_t difference = operand->x[i * operand->stride] - operand->zero_point;
    const int32_t shifted = npu_shift_left_wrapping(difference, operand->left_shift);
    const int32_t multiplier = operand->r->multiplier[0], shift = operand->r->shift[0];
    return npu_wrap32(npu_code(npu_requantize(shifted, multiplier, shift, rule), operand->r));
}

/* The hot loops of add and mul.
 *
 * scale_operand   sums (n,) = the scaled codes of an operand
 * add_operand     sums (n,) += the scaled codes of an operand, modulo 2^32
 * multiply        products (n,) = (a - a_zero_point) * (b - b_zero_point), a and b as `npu_operand`
 *                 has x */
void npu_scale_operand(const struct npu_operand *operand, size_t n, int32_t *sums);
void npu_add_operand(const struct npu_operand *operand, size_t n, int32_t *sums);
void npu_multiply(const int8_t *a, size_t a_stride, const int8_t *b, size_t b_stride, size_t n,
                  const struct npu_mul *p, int32_t *products);

#endif
