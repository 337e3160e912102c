/* Whether the constants in flash are those that were exported. */
#ifndef CONSTANTS_H
#define CONSTANTS_H

#include <stddef.h>
#include <stdint.h>

/* An array of constants: its name, NULL behind the last; its bytes, and the CRC-32 they must have
 * (that of zlib and IEEE 802.3). */
struct npu_constant {
    const char *name;
    const void *data;
    size_t bytes;
    uint32_t crc;
};

/* The first from `constant` on that differs, or NULL. */
const struct npu_constant *npu_differing_constant(const struct npu_constant *constant);

#endif
