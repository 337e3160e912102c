#include "calls.h"

#include <string.h>

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static uint64_t unsigned64(const uint8_t *at)
{
    uint64_t value;
    (void)memcpy(&value, at, sizeof value);
    return value;
}

/* The next 8 bytes; 0 after the end. */
static uint64_t next(struct batch *batch)
{
    if (batch->end - batch->in < 8) {
        batch->error = BATCH_BAD_RECORD;
        return 0;
    }
    batch->in += 8;
    return unsigned64(batch->in - 8);
}

int64_t batch_integer(struct batch *batch)
{
    return (int64_t)next(batch);
}

double batch_real(struct batch *batch)
{
    const uint64_t bits = next(batch);
    double value;
    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

static void *remember(struct batch *batch, size_t count, size_t size, size_t alignment)
{
    if (batch->used == BATCH_ARRAYS) {
        batch->error = BATCH_NO_MEMORY;
        return NULL;
    }
    struct batch_array *array = &batch->arrays[batch->used++];
    array->data = memory_take(count * size, alignment);
    array->count = count;
    array->size = size;
    if (array->data == NULL) {
        batch->error = BATCH_NO_MEMORY;
    }
    return array->data;
}

void *batch_elements(struct batch *batch, size_t size)
{
    const uint64_t count = next(batch);
    const size_t bytes = (size_t)count * size;
    if (count == UINT64_MAX || batch->error != BATCH_OK) {
        return NULL;
    }
    if (padded(bytes) > (size_t)(batch->end - batch->in)) {
        batch->error = BATCH_BAD_RECORD;
        return NULL;
    }
    void *data = remember(batch, (size_t)count, size, size);
    if (data != NULL) {
        (void)memcpy(data, batch->in, bytes);
    }
    batch->in += padded(bytes);
    return data;
}

void *batch_structs(struct batch *batch, size_t size)
{
    const uint64_t count = next(batch);
    if (count == UINT64_MAX || batch->error != BATCH_OK) {
        return NULL;
    }
    return remember(batch, (size_t)count, size, 8);
}

static const struct batch_array *find(const struct batch *batch, const void *data)
{
    for (size_t i = 0; i < batch->used; i++) {
        if (batch->arrays[i].data == data) {
            return &batch->arrays[i];
        }
    }
    return NULL;
}

size_t batch_count(const struct batch *batch, const void *data)
{
    const struct batch_array *array = find(batch, data);
    return array == NULL ? 0 : array->count;
}

static void put(struct batch *batch, const void *data, size_t bytes)
{
    if (padded(bytes) > batch->room) {
        batch->error = BATCH_OUTPUT_FULL;
        return;
    }
    (void)memset(batch->out, 0, padded(bytes));
    (void)memcpy(batch->out, data, bytes);
    batch->out += padded(bytes);
    batch->room -= padded(bytes);
}

void batch_put_integer(struct batch *batch, int64_t value)
{
    put(batch, &value, sizeof value);
}

void batch_put_real(struct batch *batch, double value)
{
    put(batch, &value, sizeof value);
}

void batch_put_elements(struct batch *batch, const void *data)
{
    const struct batch_array *array = find(batch, data);
    if (data != NULL && array != NULL) {
        put(batch, data, array->count * array->size);
    }
}

/* One record: number of the function, bytes of its arguments, arguments. */
static void run_record(struct batch *batch, const uint8_t *end)
{
    const uint32_t function = (uint32_t)next(batch);
    const uint64_t bytes = next(batch);
    if (batch->error != BATCH_OK || bytes > (uint64_t)(end - batch->in)) {
        batch->error = BATCH_BAD_RECORD;
        return;
    }
    batch->end = batch->in + (size_t)bytes;
    batch->used = 0;
    if (!dispatch(batch, function)) {
        batch->error = BATCH_UNKNOWN_FUNCTION;
    }
    if (!memory_release()) {
        batch->error = BATCH_DAMAGED;
    }
    if (batch->error == BATCH_OK && batch->in != batch->end) {
        batch->error = BATCH_BAD_RECORD;
    }
    batch->end = end;
}

int32_t run_batch(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
    struct batch batch = {in, in + in_size, out, out_size, {{NULL, 0, 0}}, 0, BATCH_OK};
    if (in_size < 16 || memcmp(in, "calls 1\n", 8) != 0) {
        return BATCH_BAD_MAGIC;
    }
    batch.in += 8;
    const uint64_t records = next(&batch);
    for (uint64_t i = 0; i < records && batch.error == BATCH_OK; i++) {
        run_record(&batch, in + in_size);
    }
    return batch.error != BATCH_OK ? batch.error : (int32_t)(batch.out - out);
}
