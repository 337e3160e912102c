/* A batch of calls: read from bytes, executed, results written to bytes. See ../README.md for the
 * form. The dispatcher that `../dispatch.py` makes from the headers takes arguments with the
 * functions below, calls, and puts the results. */
#ifndef CALLS_H
#define CALLS_H

#include <stddef.h>
#include <stdint.h>

enum { BATCH_ARRAYS = 256 };

enum batch_error {
    BATCH_OK = 0,
    BATCH_BAD_MAGIC = -1,
    BATCH_UNKNOWN_FUNCTION = -2,
    BATCH_BAD_RECORD = -3,    /* the arguments taken are not as long as the record */
    BATCH_OUTPUT_FULL = -4,
    BATCH_NO_MEMORY = -5,
    BATCH_DAMAGED = -6        /* a function wrote outside its arrays */
};

/* An array of the current call. */
struct batch_array {
    void *data;
    size_t count;
    size_t size;
};

struct batch {
    const uint8_t *in;
    const uint8_t *end;
    uint8_t *out;
    size_t room;
    struct batch_array arrays[BATCH_ARRAYS];
    size_t used;
    int32_t error;
};

/* Executes the calls of in (in_size,); returns how many bytes of out were written, or an error. */
int32_t run_batch(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);

/* Takes the next argument. */
int64_t batch_integer(struct batch *batch);
double batch_real(struct batch *batch);
void *batch_elements(struct batch *batch, size_t size);
void *batch_structs(struct batch *batch, size_t size);

/* Puts a result. */
void batch_put_integer(struct batch *batch, int64_t value);
void batch_put_real(struct batch *batch, double value);
void batch_put_elements(struct batch *batch, const void *data);

/* How many structs `batch_structs` made at this place. */
size_t batch_count(const struct batch *batch, const void *data);

/* Calls a function by its number; 0 for an unknown number. Made by dispatch.py. */
int dispatch(struct batch *batch, uint32_t function);

/* Memory for one array of the current call, aligned to its elements; NULL when there is no more. */
void *memory_take(size_t bytes, size_t alignment);

/* Gives all memory of a call back; returns 0 when something was written between the arrays. */
int memory_release(void);

#endif
