#include "npu_weights.h"

#include "ll_aton_caches_interface.h"

/* Whole lines around a range of addresses. */
struct lines {
    uintptr_t start;
    uint32_t size;
};

static struct lines lines_around(const int8_t *first, size_t bytes)
{
    const uintptr_t start = (uintptr_t)first & ~(uintptr_t)(NPU_LINE - 1u);
    const uintptr_t end = ((uintptr_t)first + bytes + NPU_LINE - 1u) & ~(uintptr_t)(NPU_LINE - 1u);
    const struct lines around = {start, (uint32_t)(end - start)};
    return around;
}

static enum npu_weights_status check(const struct npu_weights *w, size_t first, size_t bytes)
{
    if ((uintptr_t)w->memory % NPU_LINE != 0) {
        return NPU_WEIGHTS_UNALIGNED;
    }
    return first <= w->bytes && bytes <= w->bytes - first ? NPU_WEIGHTS_OK : NPU_WEIGHTS_OUTSIDE;
}

enum npu_weights_status npu_weights_load(const struct npu_weights *w)
{
    const enum npu_weights_status status = npu_weights_open(w, 0, w->bytes);
    if (status != NPU_WEIGHTS_OK) {
        return status;
    }
    for (size_t i = 0; i < w->bytes; i++) {
        w->memory[i] = w->flash[i];
    }
    return npu_weights_close(w, 0, w->bytes);
}

enum npu_weights_status npu_weights_open(const struct npu_weights *w, size_t first, size_t bytes)
{
    const enum npu_weights_status status = check(w, first, bytes);
    if (status == NPU_WEIGHTS_OK) {
        const struct lines around = lines_around(w->memory + first, bytes);
        LL_ATON_Cache_NPU_Clean_Invalidate_Range(around.start, around.size);
    }
    return status;
}

enum npu_weights_status npu_weights_close(const struct npu_weights *w, size_t first, size_t bytes)
{
    const enum npu_weights_status status = check(w, first, bytes);
    if (status == NPU_WEIGHTS_OK) {
        const struct lines around = lines_around(w->memory + first, bytes);
        LL_ATON_Cache_MCU_Clean_Range(around.start, around.size);
        /* nothing of it is dirty there, so this only forgets what was read before the writes */
        LL_ATON_Cache_NPU_Clean_Invalidate_Range(around.start, around.size);
    }
    return status;
}
