/* Labelled images in one piece of memory, such as memory-mapped flash.
 *
 *     offset          what, little-endian
 *     0               the characters "ZOS1"
 *     4               uint32: bytes of an image
 *     8               uint32: training images T
 *     12              uint32: validation images V
 *     16              uint16 (T+V,): labels, then zeros up to a multiple of 16
 *     then            (T+V, bytes): codes of the images, as the network takes them */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* A part of them: images (count, bytes), labels (count,). */
struct samples {
    const int8_t *images;
    const uint16_t *labels;
    size_t count;
};

/* The parts that a region, aligned to 4 bytes, holds.
 *
 * bytes     of an image, as the network takes it
 * returns   0, or -1 where there are no such images */
int32_t samples_open(const uint8_t *region, size_t bytes, struct samples *train,
                     struct samples *validation);

#endif
