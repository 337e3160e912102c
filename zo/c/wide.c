#include "wide.h"

void zo_wide_set(uint32_t *a, uint64_t value)
{
    for (int32_t i = 0; i < ZO_WIDE_LIMBS; i++) {
        a[i] = i < 2 ? (uint32_t)(value >> (32 * i)) : 0;
    }
}

void zo_wide_add(uint32_t *a, const uint32_t *b)
{
    uint64_t carry = 0;
    for (int32_t i = 0; i < ZO_WIDE_LIMBS; i++) {
        carry += (uint64_t)a[i] + b[i];
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

void zo_wide_subtract(uint32_t *a, const uint32_t *b)
{
    uint64_t borrow = 0;
    for (int32_t i = 0; i < ZO_WIDE_LIMBS; i++) {
        const uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
        a[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
}

void zo_wide_multiply(uint32_t *a, uint64_t factor)
{
    const uint64_t low = (uint32_t)factor, high = factor >> 32;
    uint64_t carry = 0;
    uint32_t below = 0; /* the limb under this one, as it was */
    for (int32_t i = 0; i < ZO_WIDE_LIMBS; i++) {
        /* each product is at most (2^32 - 1)^2, which leaves room for two limbs more */
        const uint64_t first = a[i] * low + (uint32_t)carry;
        const uint64_t second = below * high + (uint32_t)first;
        below = a[i];
        a[i] = (uint32_t)second;
        carry = (carry >> 32) + (first >> 32) + (second >> 32);
    }
}

int32_t zo_wide_exceeds(const uint32_t *a, const uint32_t *b)
{
    for (int32_t i = ZO_WIDE_LIMBS - 1; i >= 0; i--) {
        if (a[i] != b[i]) {
            return a[i] > b[i];
        }
    }
    return 0;
}
