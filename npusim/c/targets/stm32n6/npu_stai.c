/* ST's generated network through the STAI interface. */
#include "npu_copy.h"
#include "npu_network.h"

#include "stai_network.h"

enum npu_status npu_stai_start(void *network)
{
    if (stai_runtime_init() != STAI_SUCCESS) {
        return NPU_FAILED;
    }
    return stai_network_init((stai_network *)network) == STAI_SUCCESS ? NPU_OK : NPU_FAILED;
}

enum npu_status npu_stai_forward(void *network, const int8_t *input, size_t input_bytes,
                                 int8_t *output, size_t output_bytes)
{
    stai_network *net = (stai_network *)network;
    stai_ptr in[STAI_NETWORK_IN_NUM];
    stai_ptr out[STAI_NETWORK_OUT_NUM];
    stai_size n = 0;
    if (input_bytes != STAI_NETWORK_IN_1_SIZE_BYTES ||
        output_bytes != STAI_NETWORK_OUT_1_SIZE_BYTES) {
        return NPU_BAD_SIZE;
    }
    if (stai_network_get_inputs(net, in, &n) != STAI_SUCCESS ||
        stai_network_get_outputs(net, out, &n) != STAI_SUCCESS) {
        return NPU_FAILED;
    }
    npu_copy_in((int8_t *)in[0], input, input_bytes);
    if (stai_network_run(net, STAI_MODE_SYNC) != STAI_SUCCESS) {
        return NPU_FAILED;
    }
    npu_copy_out(output, (const int8_t *)out[0], output_bytes);
    return NPU_OK;
}
