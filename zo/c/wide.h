/* Natural numbers of 320 bits, where products of 64 bits and sums of them must not be cut.
 *
 *     a = sum_i limbs[i] * 2^(32*i)
 *
 * A number is an array of ZO_WIDE_LIMBS limbs. Python's integers are of any width; callers state
 * why theirs fit. */
#ifndef ZO_WIDE_H
#define ZO_WIDE_H

#include <stdint.h>

enum { ZO_WIDE_LIMBS = 10 };

/* a = value */
void zo_wide_set(uint32_t *a, uint64_t value);

/* a += b */
void zo_wide_add(uint32_t *a, const uint32_t *b);

/* a -= b, b at most a */
void zo_wide_subtract(uint32_t *a, const uint32_t *b);

/* a *= factor */
void zo_wide_multiply(uint32_t *a, uint64_t factor);

/* 1 if a > b, else 0. */
int32_t zo_wide_exceeds(const uint32_t *a, const uint32_t *b);

#endif
