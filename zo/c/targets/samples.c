#include "samples.h"

enum { HEAD = 16, LINE = 16 };

static uint32_t number(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int32_t samples_open(const uint8_t *region, size_t bytes, struct samples *train,
                     struct samples *validation)
{
    const size_t first = number(region + 8), second = number(region + 12);
    const size_t labels = (2 * (first + second) + LINE - 1) / LINE * LINE;
    if (region[0] != 'Z' || region[1] != 'O' || region[2] != 'S' || region[3] != '1'
        || number(region + 4) != bytes) {
        return -1;
    }
    train->labels = (const uint16_t *)(const void *)(region + HEAD);
    train->images = (const int8_t *)(region + HEAD + labels);
    train->count = first;
    validation->labels = train->labels + first;
    validation->images = train->images + first * bytes;
    validation->count = second;
    return 0;
}
