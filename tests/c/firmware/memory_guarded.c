/* Arrays in one region, each between guards that must come back unchanged, and each aligned to its
 * elements and to nothing wider: a byte array starts at an odd address. */
#include "calls.h"

enum { GUARD = 32, REGION = 8 << 20 };

struct span {
    size_t start;
    size_t bytes;
};

#if defined(__arm__)
__attribute__((section(".ddr")))
#endif
static uint64_t region[REGION / 8];
static struct span spans[BATCH_ARRAYS];
static size_t count, used;

static void guard(size_t start)
{
    uint8_t *bytes = (uint8_t *)region;
    for (size_t i = 0; i < GUARD; i++) {
        bytes[start + i] = (uint8_t)(0xA5u ^ i);
    }
}

static int is_whole(size_t start)
{
    const uint8_t *bytes = (const uint8_t *)region;
    for (size_t i = 0; i < GUARD; i++) {
        if (bytes[start + i] != (uint8_t)(0xA5u ^ i)) {
            return 0;
        }
    }
    return 1;
}

void *memory_take(size_t bytes, size_t alignment)
{
    const size_t start = ((used + GUARD + 15) & ~(size_t)15) + alignment;
    if (count == BATCH_ARRAYS || bytes > REGION || start + bytes + GUARD > REGION) {
        return NULL;
    }
    guard(start - GUARD);
    guard(start + bytes);
    spans[count].start = start;
    spans[count].bytes = bytes;
    count++;
    used = start + bytes + GUARD;
    return (uint8_t *)region + start;
}

int memory_release(void)
{
    int whole = 1;
    while (count > 0) {
        count--;
        whole = whole && is_whole(spans[count].start - GUARD)
                && is_whole(spans[count].start + spans[count].bytes);
    }
    used = 0;
    return whole;
}
