#include "constants.h"

/* Bit by bit: a table would take more flash than it saves time. */
static uint32_t crc32(const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
    }
    return ~crc;
}

const struct npu_constant *npu_differing_constant(const struct npu_constant *constant)
{
    while (constant->name != NULL && crc32(constant->data, constant->bytes) == constant->crc) {
        constant++;
    }
    return constant->name != NULL ? constant : NULL;
}
