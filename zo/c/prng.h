/* Random bits as a pure function of counters: Philox4x32-10.
 *
 *     words(block) = philox4x32(key = (seed low, seed high ^ purpose),
 *                               counter = (block, tensor, sample, step))
 *
 * Weight n (row-major) takes bit n mod 32 of word (n div 32) mod 4 of block n div 128; a 1 is
 * z = +1, a 0 is z = -1. In a Hadamard stream row i has at weight n the sign of sample 0, turned
 * where the parity of popcount(i & n) is odd. Twin of zo/prng.py.
 * Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11. */
#ifndef ZO_PRNG_H
#define ZO_PRNG_H

#include <stddef.h>
#include <stdint.h>

enum { ZO_PURPOSE_SIGNS, ZO_PURPOSE_ROUNDING, ZO_PURPOSE_SHUFFLING, ZO_PURPOSE_AUGMENTATION };

/* What all random words of one tensor in one step share: key and half of the counter.
 *
 * hadamard   1 where signs are rows of a Hadamard matrix, else 0 */
struct zo_stream {
    uint32_t key0;
    uint32_t key1;
    uint32_t tensor;
    uint32_t step;
    uint32_t hadamard;
};

/* The stream of the signs z.
 *
 * step     training steps done before this one
 * tensor   the number of the tensor's stream, kept in the exported model
 * hadamard   1 for orthogonal samples, 0 for independent ones */
struct zo_stream zo_sign_stream(uint64_t seed, uint32_t step, uint32_t tensor, uint32_t hadamard);

/* The stream of stochastic rounding, word n for weight n. */
struct zo_stream zo_rounding_stream(uint64_t seed, uint32_t step, uint32_t tensor);

/* The four words of one block of a stream, in Random123's order. */
void zo_philox4x32(const struct zo_stream *stream, uint32_t sample, uint32_t block,
                   uint32_t *words);

/* Bit b of the word for weights 32*index.. is the parity of popcount(row & (32*index + b)). */
uint32_t zo_walsh_word(uint32_t row, uint32_t index);

/* The four words of signs of one block. */
void zo_sign_words(const struct zo_stream *stream, uint32_t sample, uint32_t block,
                   uint32_t *words);

/* words (n,) = words first .. first+n-1 of a stream; word i is word i mod 4 of block i div 4. */
void zo_fill_words(const struct zo_stream *stream, uint32_t sample, uint64_t first,
                   uint32_t *words, size_t n);

/* z (n,) = signs of the weights first .. first+n-1. */
void zo_fill_signs(const struct zo_stream *stream, uint32_t sample, uint64_t first, int8_t *z,
                   size_t n);

/* words (n,) that decide how an image is augmented: counter (block, 0, image, epoch). */
void zo_augmentation_words(uint64_t seed, uint32_t epoch, uint32_t image, uint32_t *words,
                           size_t n);

/* order (n,) = a permutation of 0..n-1: Fisher-Yates for i = n-1..1, swapping i and
 * (x_i * (i+1)) >> 32, x_i = word i of counter (block, 0, 0, epoch). */
void zo_shuffle(uint64_t seed, uint32_t epoch, int32_t *order, size_t n);

#endif
