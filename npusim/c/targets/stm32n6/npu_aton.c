/* ST's generated network through the LL_ATON runtime. */
#include "npu_copy.h"
#include "npu_network.h"

#include "ll_aton_runtime.h"

enum npu_status npu_aton_start(void *network)
{
    LL_ATON_RT_RuntimeInit();
    LL_ATON_RT_Init_Network((NN_Instance_TypeDef *)network);
    return NPU_OK;
}

/* One inference; returns when the last epoch is done, so the NPU is idle. */
static void run_epochs(NN_Instance_TypeDef *network)
{
    LL_ATON_RT_RetValues_t state = LL_ATON_RT_NO_WFE;
    LL_ATON_RT_Reset_Network(network);
    while (state != LL_ATON_RT_DONE) {
        state = LL_ATON_RT_RunEpochBlock(network);
        if (state == LL_ATON_RT_WFE) {
            LL_ATON_OSAL_WFE();
        }
    }
}

enum npu_status npu_aton_forward(void *network, const int8_t *input, size_t input_bytes,
                                 int8_t *output, size_t output_bytes)
{
    NN_Instance_TypeDef *instance = (NN_Instance_TypeDef *)network;
    const LL_Buffer_InfoTypeDef *in = LL_ATON_Input_Buffers_Info(instance);
    const LL_Buffer_InfoTypeDef *out = LL_ATON_Output_Buffers_Info(instance);
    if (LL_Buffer_len(in) != input_bytes || LL_Buffer_len(out) != output_bytes) {
        return NPU_BAD_SIZE;
    }
    npu_copy_in((int8_t *)LL_Buffer_addr_start(in), input, input_bytes);
    run_epochs(instance);
    npu_copy_out(output, (const int8_t *)LL_Buffer_addr_start(out), output_bytes);
    return NPU_OK;
}
