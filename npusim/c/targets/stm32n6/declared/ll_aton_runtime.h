/* What this project calls of ST's LL_ATON runtime, declared so that it compiles without a copy of
 * it. With STEDGEAI_CORE_DIR, ST's own header takes its place. */
#ifndef LL_ATON_RUNTIME_DECLARED_H
#define LL_ATON_RUNTIME_DECLARED_H

#include <stdint.h>

typedef struct npu_declared_instance NN_Instance_TypeDef;
typedef struct npu_declared_buffer LL_Buffer_InfoTypeDef;

typedef enum { LL_ATON_RT_NO_WFE, LL_ATON_RT_WFE, LL_ATON_RT_DONE } LL_ATON_RT_RetValues_t;

void LL_ATON_RT_RuntimeInit(void);
void LL_ATON_RT_Init_Network(NN_Instance_TypeDef *nn_instance);
void LL_ATON_RT_Reset_Network(NN_Instance_TypeDef *nn_instance);
LL_ATON_RT_RetValues_t LL_ATON_RT_RunEpochBlock(NN_Instance_TypeDef *nn_instance);
void LL_ATON_OSAL_WFE(void);

const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info(const NN_Instance_TypeDef *nn_instance);
const LL_Buffer_InfoTypeDef *LL_ATON_Output_Buffers_Info(const NN_Instance_TypeDef *nn_instance);
unsigned char *LL_Buffer_addr_start(const LL_Buffer_InfoTypeDef *buffer);
uint32_t LL_Buffer_len(const LL_Buffer_InfoTypeDef *buffer);

#endif
