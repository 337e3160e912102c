/* The accumulation of estimate.c with Arm's Helium (MVE): four samples and four weights at once.
 *
 * There are no 64-bit lanes to add in, so each coefficient is cut in two,
 *
 *     c = high * 2^23 + low,   0 <= low < 2^23
 *
 * and 32-bit lanes add the parts: 256 values of low stay below 2^31, and high stays below 2^24
 * while sum |c| < 2^46. The same bits. */
#if defined(__ARM_FEATURE_MVE)

#include "estimate.h"
#include "prng_mve.h"

enum { BLOCK = 128, LANES = 4, LOW_BITS = 23, SAMPLES = 256 };

/* Sums of the two parts for the weights of one block. */
struct sums {
    int32_t low[BLOCK];
    int32_t high[BLOCK];
};

/* The two parts of a coefficient. */
struct parts {
    int32_t low;
    int32_t high;
};

static struct parts parts_of(int64_t c)
{
    const struct parts parts = {(int32_t)(c & ((1 << LOW_BITS) - 1)), (int32_t)(c >> LOW_BITS)};
    return parts;
}

/* low and high (16,) += c_i*z_i of four samples, z (4, 16). */
static inline void add_signs(int32_t *low, int32_t *high, const int8_t *z, const struct parts *c)
{
    const struct parts c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
    for (int j = 0; j < 4; j++) {
        const int32x4_t z0 = vldrbq_s32(z), z1 = vldrbq_s32(z + 16);
        const int32x4_t z2 = vldrbq_s32(z + 32), z3 = vldrbq_s32(z + 48);
        int32x4_t sum = vmlaq_n_s32(vld1q_s32(low), z0, c0.low);
        sum = vmlaq_n_s32(vmlaq_n_s32(sum, z1, c1.low), z2, c2.low);
        vst1q_s32(low, vmlaq_n_s32(sum, z3, c3.low));
        sum = vmlaq_n_s32(vld1q_s32(high), z0, c0.high);
        sum = vmlaq_n_s32(vmlaq_n_s32(sum, z1, c1.high), z2, c2.high);
        vst1q_s32(high, vmlaq_n_s32(sum, z3, c3.high));
        z += 4;
        low += 4;
        high += 4;
    }
}

/* sums += c_i*z_i of four samples of one block. */
static void add_samples(struct sums *sums, const struct parts *c, const struct zo_stream *stream,
                        uint32_t sample, uint32_t block)
{
    const int8x16_t plus = vdupq_n_s8(1), minus = vdupq_n_s8(-1);
    uint16_t bits[LANES * BLOCK / 16];
    zo_four_blocks(stream, vidupq_n_u32(sample, 1), vdupq_n_u32(block), bits);
    for (int j = 0; j < BLOCK / 16; j++) {
        int8_t z[LANES * 16];
        vst1q_s8(z, vpselq_s8(plus, minus, bits[j]));
        vst1q_s8(z + 16, vpselq_s8(plus, minus, bits[j + 8]));
        vst1q_s8(z + 32, vpselq_s8(plus, minus, bits[j + 16]));
        vst1q_s8(z + 48, vpselq_s8(plus, minus, bits[j + 24]));
        add_signs(&sums->low[16 * j], &sums->high[16 * j], z, c);
    }
}

/* gradient (n,) += sum_i c_i*z_i of the weights bit .. bit+n-1 of a block, c (m,), m <= 256. */
static void add_block(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                      const struct zo_stream *stream, uint32_t sample, uint32_t block, size_t bit)
{
    struct sums sums = {{0}, {0}};
    for (size_t i = 0; i < m; i += LANES) {
        struct parts parts[LANES] = {{0, 0}};
        for (size_t j = 0; j < LANES && i + j < m; j++) {
            parts[j] = parts_of(c[i + j]);
        }
        add_samples(&sums, parts, stream, sample + (uint32_t)i, block);
    }
    for (size_t j = 0; j < n; j++) {
        gradient[j] += (int64_t)sums.high[bit + j] * (1 << LOW_BITS) + sums.low[bit + j];
    }
}

void zo_accumulate_signs(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                         const struct zo_stream *stream, uint32_t sample, uint64_t first)
{
    size_t run;
    for (size_t start = 0; start < n; start += run) {
        const uint64_t at = first + start;
        const size_t bit = (size_t)(at % BLOCK), rest = BLOCK - bit;
        run = rest < n - start ? rest : n - start;
        for (size_t i = 0; i < m; i += SAMPLES) {
            add_block(&gradient[start], run, &c[i], m - i < SAMPLES ? m - i : SAMPLES, stream,
                      sample + (uint32_t)i, (uint32_t)(at / BLOCK), bit);
        }
    }
}

#else

typedef int zo_estimate_mve_is_empty; /* ISO C wants something in every file */

#endif
