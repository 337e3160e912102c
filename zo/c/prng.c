#include "prng.h"

static struct zo_stream stream_of(uint64_t seed, uint32_t purpose, uint32_t step, uint32_t tensor)
{
    const uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    const struct zo_stream stream = {low, high ^ purpose, tensor, step, 0};
    return stream;
}

struct zo_stream zo_sign_stream(uint64_t seed, uint32_t step, uint32_t tensor, uint32_t hadamard)
{
    struct zo_stream stream = stream_of(seed, ZO_PURPOSE_SIGNS, step, tensor);
    stream.hadamard = hadamard;
    return stream;
}

struct zo_stream zo_rounding_stream(uint64_t seed, uint32_t step, uint32_t tensor)
{
    return stream_of(seed, ZO_PURPOSE_ROUNDING, step, tensor);
}

void zo_philox4x32(const struct zo_stream *stream, uint32_t sample, uint32_t block,
                   uint32_t *words)
{
    uint32_t c0 = block, c1 = stream->tensor, c2 = sample, c3 = stream->step;
    uint32_t k0 = stream->key0, k1 = stream->key1;
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

uint32_t zo_walsh_word(uint32_t row, uint32_t index)
{
    static const uint32_t masks[5] = {0xAAAAAAAAu, 0xCCCCCCCCu, 0xF0F0F0F0u, 0xFF00FF00u,
                                      0xFFFF0000u};
    uint32_t word = 0, odd = index & row >> 5;
    for (int bit = 0; bit < 5; bit++) {
        word ^= row >> bit & 1u ? masks[bit] : 0u;
    }
    for (int shift = 16; shift > 0; shift /= 2) {
        odd ^= odd >> shift;
    }
    return odd & 1u ? ~word : word;
}

void zo_sign_words(const struct zo_stream *stream, uint32_t sample, uint32_t block, uint32_t *words)
{
    zo_philox4x32(stream, stream->hadamard ? 0 : sample, block, words);
    for (uint32_t j = 0; stream->hadamard && j < 4; j++) {
        words[j] ^= zo_walsh_word(sample, 4 * block + j);
    }
}

void zo_fill_words(const struct zo_stream *stream, uint32_t sample, uint64_t first,
                   uint32_t *words, size_t n)
{
    uint32_t four[4];
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = first + i;
        if (i == 0 || at % 4 == 0) {
            zo_philox4x32(stream, sample, (uint32_t)(at / 4), four);
        }
        words[i] = four[at % 4];
    }
}

void zo_fill_signs(const struct zo_stream *stream, uint32_t sample, uint64_t first, int8_t *z,
                   size_t n)
{
    uint32_t four[4];
    size_t run;
    for (size_t start = 0; start < n; start += run) {
        const uint64_t at = first + start;
        const size_t bit = (size_t)(at % 32), rest = 32 - bit;
        if (start == 0 || at % 128 == 0) {
            zo_sign_words(stream, sample, (uint32_t)(at / 128), four);
        }
        uint32_t word = four[at / 32 % 4] >> bit;
        run = rest < n - start ? rest : n - start;
        for (size_t i = start; i < start + run; i++) {
            z[i] = (int8_t)(2 * (int32_t)(word & 1u) - 1);
            word >>= 1;
        }
    }
}

void zo_augmentation_words(uint64_t seed, uint32_t epoch, uint32_t image, uint32_t *words,
                           size_t n)
{
    const struct zo_stream stream = stream_of(seed, ZO_PURPOSE_AUGMENTATION, epoch, 0);
    zo_fill_words(&stream, image, 0, words, n);
}

void zo_shuffle(uint64_t seed, uint32_t epoch, int32_t *order, size_t n)
{
    const struct zo_stream stream = stream_of(seed, ZO_PURPOSE_SHUFFLING, epoch, 0);
    uint32_t four[4];
    for (size_t i = 0; i < n; i++) {
        order[i] = (int32_t)i;
    }
    for (size_t i = n; i-- > 1;) {
        if (i == n - 1 || i % 4 == 3) {
            zo_philox4x32(&stream, 0, (uint32_t)(i / 4), four);
        }
        const size_t j = (size_t)(((uint64_t)four[i % 4] * (i + 1)) >> 32);
        const int32_t moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}
