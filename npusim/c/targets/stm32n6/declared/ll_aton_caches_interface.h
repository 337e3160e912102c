/* What this project calls of the interface of the same name in ST's LL_ATON library, declared so
 * that it compiles without a copy of it. With STEDGEAI_CORE_DIR, ST's own header takes its place. */
#ifndef LL_ATON_CACHES_INTERFACE_DECLARED_H
#define LL_ATON_CACHES_INTERFACE_DECLARED_H

#include <stdint.h>

/* size   bytes; address and size are of whole lines: 32 bytes in the CPU's cache, 64 in the NPU's */
void LL_ATON_Cache_MCU_Clean_Range(uintptr_t virtual_addr, uint32_t size);
void LL_ATON_Cache_MCU_Invalidate_Range(uintptr_t virtual_addr, uint32_t size);
void LL_ATON_Cache_NPU_Clean_Range(uintptr_t virtual_addr, uint32_t size);
void LL_ATON_Cache_NPU_Clean_Invalidate_Range(uintptr_t virtual_addr, uint32_t size);

#endif
