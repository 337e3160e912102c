/* Four blocks of Philox at once with Arm's Helium (MVE): the same bits as in prng.c. */
#if defined(__ARM_FEATURE_MVE)

#include "prng_mve.h"

/* Counters and keys of four blocks; one key in a vector, the other not, because eight vector
 * registers hold exactly this, both multipliers and one product. */
struct lanes {
    uint32x4_t c0, c1, c2, c3, k0;
    uint32_t k1;
};

static inline struct lanes round_of(struct lanes s, uint32x4_t multiplier0, uint32x4_t multiplier1)
{
    const uint32x4_t high1 = veorq_u32(veorq_u32(vmulhq_u32(s.c2, multiplier1), s.c1), s.k0);
    s.c1 = vmulq_u32(s.c2, multiplier1);
    const uint32x4_t high0 = veorq_u32(vmulhq_u32(s.c0, multiplier0), s.c3);
    s.c3 = vmulq_u32(s.c0, multiplier0);
    s.c0 = high1;
    s.c2 = veorq_u32(high0, vdupq_n_u32(s.k1));
    s.k0 = vaddq_n_u32(s.k0, 0x9E3779B9u);
    s.k1 += 0xBB67AE85u;
    return s;
}

/* Turns the signs of sample 0 into those of rows of a Hadamard matrix. */
static void turn_rows(uint32x4_t sample, uint32x4_t block, uint16_t *bits)
{
    uint32_t rows[4], blocks[4];
    vst1q_u32(rows, sample);
    vst1q_u32(blocks, block);
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t word = zo_walsh_word(rows[i / 4], 4 * blocks[i / 4] + i % 4);
        bits[2 * i] ^= (uint16_t)word;
        bits[2 * i + 1] ^= (uint16_t)(word >> 16);
    }
}

void zo_four_blocks(const struct zo_stream *stream, uint32x4_t sample, uint32x4_t block,
                    uint16_t *bits)
{
    const uint32x4_t multiplier0 = vdupq_n_u32(0xD2511F53u), multiplier1 = vdupq_n_u32(0xCD9E8D57u);
    const uint16x8_t place = {0, 1, 8, 9, 16, 17, 24, 25};
    struct lanes s = {block,
                      vdupq_n_u32(stream->tensor),
                      stream->hadamard ? vdupq_n_u32(0) : sample,
                      vdupq_n_u32(stream->step),
                      vdupq_n_u32(stream->key0),
                      stream->key1};
    for (int pair = 0; pair < 5; pair++) { /* in pairs, because one round would need moves */
        s = round_of(s, multiplier0, multiplier1);
        s = round_of(s, multiplier0, multiplier1);
    }
    vstrhq_scatter_shifted_offset_u16(bits, place, vreinterpretq_u16_u32(s.c0));
    vstrhq_scatter_shifted_offset_u16(bits + 2, place, vreinterpretq_u16_u32(s.c1));
    vstrhq_scatter_shifted_offset_u16(bits + 4, place, vreinterpretq_u16_u32(s.c2));
    vstrhq_scatter_shifted_offset_u16(bits + 6, place, vreinterpretq_u16_u32(s.c3));
    if (stream->hadamard) {
        turn_rows(sample, block, bits);
    }
}

#else

typedef int zo_prng_mve_is_empty; /* ISO C wants something in every file */

#endif
