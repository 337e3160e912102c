/* Four blocks of Philox4x32-10 at once with Arm's Helium (MVE), one per 32-bit lane. */
#ifndef ZO_PRNG_MVE_H
#define ZO_PRNG_MVE_H

#include <arm_mve.h>

#include "prng.h"

/* The 128 bits of each of the four blocks block[i] of the samples sample[i], 16 at a time:
 * bits[8*i + j] holds the bits of the weights 16*j .. 16*j+15 of block[i], the first one lowest. */
void zo_four_blocks(const struct zo_stream *stream, uint32x4_t sample, uint32x4_t block,
                    uint16_t *bits);

#endif
