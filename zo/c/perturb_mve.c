/* The loops of perturb.c with Arm's Helium (MVE): 16 weights at once, the same bits. */
#if defined(__ARM_FEATURE_MVE)

#include "perturb.h"
#include "prng_mve.h"

enum { GROUP = 512 };

/* Four blocks of weights (512,) += up where the bit is 1, down where it is 0, modulo 2^8. */
static inline void add_to_group(int8_t *weights, int8x16_t up, int8x16_t down,
                                const uint16_t *bits)
{
    for (int i = 0; i < GROUP / 16; i++) {
        vst1q_s8(weights, vaddq_s8(vld1q_s8(weights), vpselq_s8(up, down, bits[i])));
        weights += 16;
    }
}

/* The same for fewer weights (n,). */
static inline void add_to_rest(int8_t *weights, size_t n, int8x16_t up, int8x16_t down,
                               const uint16_t *bits)
{
    for (size_t i = 0; i < n; i += 16) {
        const mve_pred16_t inside = vctp8q((uint32_t)(n - i));
        const int8x16_t w = vld1q_z_s8(&weights[i], inside);
        const int8x16_t moved = vaddq_s8(w, vpselq_s8(up, down, bits[i / 16]));
        vst1q_p_s8(&weights[i], moved, inside);
    }
}

void zo_add_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                  uint32_t sample)
{
    const int8x16_t up = vdupq_n_s8((int8_t)k), down = vdupq_n_s8((int8_t)-k);
    uint16_t bits[32];
    uint32_t block = 0;
    for (; n >= GROUP; n -= GROUP) {
        zo_four_blocks(stream, vdupq_n_u32(sample), vidupq_wb_u32(&block, 1), bits);
        add_to_group(weights, up, down, bits);
        weights += GROUP;
    }
    if (n > 0) {
        zo_four_blocks(stream, vdupq_n_u32(sample), vidupq_n_u32(block, 1), bits);
        add_to_rest(weights, n, up, down, bits);
    }
}

/* Each sample's signs in turn: what the first leaves may not fit int8, but it wraps, and the second
 * wraps it back. */
void zo_move_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                   uint32_t sample)
{
    const int8x16_t up = vdupq_n_s8((int8_t)k), down = vdupq_n_s8((int8_t)-k);
    uint16_t before[32], after[32];
    uint32_t block = 0;
    for (; n >= GROUP; n -= GROUP) {
        zo_four_blocks(stream, vdupq_n_u32(sample), vidupq_n_u32(block, 1), before);
        zo_four_blocks(stream, vdupq_n_u32(sample + 1), vidupq_wb_u32(&block, 1), after);
        add_to_group(weights, down, up, before);
        add_to_group(weights, up, down, after);
        weights += GROUP;
    }
    if (n > 0) {
        zo_four_blocks(stream, vdupq_n_u32(sample), vidupq_n_u32(block, 1), before);
        zo_four_blocks(stream, vdupq_n_u32(sample + 1), vidupq_n_u32(block, 1), after);
        add_to_rest(weights, n, down, up, before);
        add_to_rest(weights, n, up, down, after);
    }
}

#else

typedef int zo_perturb_mve_is_empty; /* ISO C wants something in every file */

#endif
