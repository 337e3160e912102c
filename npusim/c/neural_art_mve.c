/* The sum of neural_art.c with Arm's Helium (MVE): 8 products at once. */
#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

#include "neural_art.h"

enum { PRODUCTS = 8 };
enum { SAFE_PRODUCTS = 1 << 16 }; /* so many products below 2^15 each fit an int32 */

/* Of at most SAFE_PRODUCTS. */
static int32_t short_dot(const int16_t *a, const int8_t *b, size_t n)
{
    int32_t sum = 0;
    for (size_t left = n / PRODUCTS; left > 0; left--) {
        sum = vmladavaq_s16(sum, vld1q_s16(a), vldrbq_s16(b));
        a += PRODUCTS;
        b += PRODUCTS;
    }
    const mve_pred16_t rest = vctp16q((uint32_t)(n % PRODUCTS));
    return vmladavaq_p_s16(sum, vld1q_z_s16(a, rest), vldrbq_z_s16(b, rest), rest);
}

int64_t npu_neural_art_dot(const int16_t *a, const int8_t *b, size_t n)
{
    int64_t sum = 0;
    for (; n > SAFE_PRODUCTS; n -= SAFE_PRODUCTS) {
        sum += short_dot(a, b, SAFE_PRODUCTS);
        a += SAFE_PRODUCTS;
        b += SAFE_PRODUCTS;
    }
    return sum + short_dot(a, b, n);
}

#else

typedef int npu_neural_art_mve_is_empty; /* ISO C wants something in every file */

#endif
