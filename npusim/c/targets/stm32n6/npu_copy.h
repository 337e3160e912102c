/* Images into the NPU's buffers and results out of them, with the cache maintenance of either. */
#ifndef NPU_COPY_H
#define NPU_COPY_H

#include <stddef.h>
#include <stdint.h>

/* buffer (bytes,) = input; then the CPU's cache is written back, and the NPU's forgets the range. */
void npu_copy_in(int8_t *buffer, const int8_t *input, size_t bytes);

/* output (bytes,) = buffer, as it is in memory. */
void npu_copy_out(int8_t *output, const int8_t *buffer, size_t bytes);

#endif
