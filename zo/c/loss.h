/* Losses in integers, summed over a batch, in units of 2^-16 (nat for cross-entropy).
 *
 *     d_j = max(a) - a_j,   L = T[d_label] + ln_q16(sum_j E[d_j])
 *
 * for int8 logits a with zero point 0. The tables are data: E and T hold exp(-s*d) and s*d for each
 * of the 256 values of d, ln_q16 interpolates 257 logarithms. Twin of zo/loss.py. */
#ifndef ZO_LOSS_H
#define ZO_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Scales of the logits that tables are made for: a scale doubles six times at most. */
enum zo_exponents { ZO_EXPONENTS = 7 };

/* Row e serves logits of scale 2^e * s.
 *
 * exp    (7, 256): round(2^20 * exp(-2^e*s*d))
 * loss   (7, 256): round(2^16 * 2^e*s*d) */
struct zo_tables {
    const int32_t *exp;
    const int32_t *loss;
};

/* Softmax cross-entropy of int8 logits in 2^-16 nat.
 *
 * classes    C, at most 2047
 * exponent   the logits' scale is 2^exponent * s; one more after each recalibration, at most 6
 * log        (257,): round(2^24 * ln(1 + i/256)) */
struct zo_cross_entropy {
    int32_t classes;
    struct zo_tables tables;
    int32_t exponent;
    const int32_t *log;
};

/* E of the present scale, (256,). */
const int32_t *zo_cross_entropy_exp(const struct zo_cross_entropy *loss);

/* sums (s,) = the loss of each of s outputs (s, b, C) for the labels (b,) of one batch. */
void zo_cross_entropy_each(const struct zo_cross_entropy *loss, const int8_t *outputs, size_t s,
                           const int32_t *labels, size_t b, int64_t *sums);

/* Every loss of a batch lies in 0..bound. */
int64_t zo_cross_entropy_bound(const struct zo_cross_entropy *loss, int32_t batch);

/* The loss after the logits' scale has doubled, in place; ZO_BAD_SCALE after six doublings. */
enum zo_status zo_cross_entropy_doubled(struct zo_cross_entropy *loss);

/* ZO_BAD_LABEL unless labels (n,) are 0..classes-1. */
enum zo_status zo_check_labels(const int32_t *labels, size_t n, int32_t classes);

/* 2^16 * ln(v / 2^20), v in 1..2^31. */
int64_t zo_ln_q16(int64_t v, const int32_t *log);

/* sums (s,) = losses of outputs (s, b, c) for labels (b,); exp and loss (256,), log (257,). */
void zo_cross_entropy(const int8_t *outputs, size_t s, size_t b, size_t c, const int32_t *labels,
                      const int32_t *exp, const int32_t *loss, const int32_t *log, int64_t *sums);

/* Sum of (a - t)^2 over outputs (n,) and targets (n,). */
int64_t zo_squared_error(const int8_t *outputs, size_t n, const int8_t *targets);

/* How many rows of outputs (b, c) have their first maximum elsewhere than at the label. */
size_t zo_count_errors(const int8_t *outputs, size_t b, size_t c, const int32_t *labels);

#endif
