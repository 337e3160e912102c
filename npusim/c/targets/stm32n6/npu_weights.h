/* Weights that the CPU changes and the NPU reads, and the caches between them.
 *
 * Two caches stand between the Cortex-M55 and the memory that the NPU streams weights from: the
 * CPU's data cache, of 32-byte lines, and the NPU's own, of 64-byte lines. The latter cannot forget
 * a line without writing it back first, so it is emptied before the CPU writes, not after:
 *
 *     NPU idle -> NPU cache clean and invalidate -> CPU writes -> CPU cache clean
 *     -> NPU cache invalidate -> run
 *
 * `npu_weights_open` is what comes before the CPU writes, `npu_weights_close` what comes after.
 * Neither may be called while the NPU runs. Ranges are rounded out to whole lines, so the region
 * must have lines of its own: it begins at one, and NPU_SLACK bytes behind it hold nothing else. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#define NPU_CPU_LINE 32u
#define NPU_LINE 64u

/* Bytes behind a region that its last lines, and what ST's stream engines read ahead, may touch. */
#define NPU_SLACK 64u

enum npu_weights_status {
    NPU_WEIGHTS_OK = 0,
    NPU_WEIGHTS_UNALIGNED, /* the region must begin at a multiple of 64 */
    NPU_WEIGHTS_OUTSIDE    /* the range must lie within the region */
};

/* One region.
 *
 * flash    the weights as they were programmed, (bytes,)
 * memory   where the NPU reads them, (bytes + NPU_SLACK,), writable, begins at a multiple of 64
 * bytes    of the weights */
struct npu_weights {
    const int8_t *flash;
    int8_t *memory;
    size_t bytes;
};

/* Copies the weights from flash to where the NPU reads them; once, at boot. */
enum npu_weights_status npu_weights_load(const struct npu_weights *w);

/* Before the CPU writes bytes first .. first + bytes - 1 of the region. */
enum npu_weights_status npu_weights_open(const struct npu_weights *w, size_t first, size_t bytes);

/* After the CPU has written them, before the NPU runs. */
enum npu_weights_status npu_weights_close(const struct npu_weights *w, size_t first, size_t bytes);

#endif
