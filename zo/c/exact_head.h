/* The exact gradient of a last fully connected layer: one forward, an outer product.
 *
 *     p_j = ((E_j << 16) + (S >> 1)) div S,   S = sum_j E_j
 *     err = p - 65536*onehot, and 0 where a = 127 with err < 0 or a = -128 with err > 0
 *     g[c, d] = sum_b err[b, c] * (x[b, d] - zp_x)
 *
 * Twin of zo/exact_head.py. */
#ifndef ZO_EXACT_HEAD_H
#define ZO_EXACT_HEAD_H

#include "fixed_point.h"
#include "status.h"

/* The scale of the head's gradient after e_c doublings (channels,) of the weights' scale: each
 * right shift falls by e_c. The scale before, A_c*2^-sh_c = s_x*S_w[c]*2^8/B, is made on the host.
 *
 * batch         B, at most 2^20
 * right_shift   out, (channels,): memory for `doubled`
 * returns       ZO_BAD_RANGE if a gradient, shifted, could leave int64 */
enum zo_status zo_doubled_scale(const struct zo_ratio *scale, const int32_t *doublings,
                                int32_t batch, int32_t *right_shift, struct zo_ratio *doubled);

/* error (b, c) of logits (b, c) for labels (b,), in 2^-16; exp is E (256,). */
void zo_fill_error(const int8_t *logits, size_t b, size_t c, const int32_t *labels,
                   const int32_t *exp, int32_t *error);

/* gradient (c, d) = error^T (c, b) times x - zero_point (b, d); b at most 2^20. */
void zo_outer_product(const int32_t *error, size_t b, size_t c, const int8_t *x, size_t d,
                      int32_t zero_point, int64_t *gradient);

/* The entries first .. first+n-1 of `zo_outer_product`, row-major: gradient (n,). */
void zo_outer_product_part(const int32_t *error, size_t b, size_t c, const int8_t *x, size_t d,
                           int32_t zero_point, size_t first, int64_t *gradient, size_t n);

#endif
