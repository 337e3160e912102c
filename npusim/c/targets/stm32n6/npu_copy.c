#include "npu_copy.h"

#include "ll_aton_caches_interface.h"

void npu_copy_in(int8_t *buffer, const int8_t *input, size_t bytes)
{
    LL_ATON_Cache_NPU_Clean_Invalidate_Range((uintptr_t)buffer, (uint32_t)bytes);
    for (size_t i = 0; i < bytes; i++) {
        buffer[i] = input[i];
    }
    LL_ATON_Cache_MCU_Clean_Range((uintptr_t)buffer, (uint32_t)bytes);
    LL_ATON_Cache_NPU_Clean_Invalidate_Range((uintptr_t)buffer, (uint32_t)bytes);
}

void npu_copy_out(int8_t *output, const int8_t *buffer, size_t bytes)
{
    LL_ATON_Cache_NPU_Clean_Range((uintptr_t)buffer, (uint32_t)bytes);
    LL_ATON_Cache_MCU_Invalidate_Range((uintptr_t)buffer, (uint32_t)bytes);
    for (size_t i = 0; i < bytes; i++) {
        output[i] = buffer[i];
    }
}
