/* A fake of ST's runtime: it runs a "network" of one layer, and writes down what it was asked.
 *
 * The output is the sum of all weights, plus i and the i-th input, modulo 256. Each event is noted
 * with the first weight as it is in memory then, so that a test sees who wrote when. */
#include "fake_st.h"

#include "ll_aton_caches_interface.h"
#include "ll_aton_runtime.h"
#include "stai_network.h"

struct npu_declared_buffer {
    unsigned char *start;
    uint32_t size;
};

struct npu_declared_instance {
    int32_t epochs;
};

struct npu_declared_network {
    int32_t started;
};

static struct fake_log events;
static const int8_t *watched;
static size_t watched_bytes;
static int32_t failing;
static unsigned char input[64];
static unsigned char output[64];
static struct npu_declared_buffer in = {input, 64};
static struct npu_declared_buffer out = {output, 10};
static struct npu_declared_instance instance;
static struct npu_declared_network network;

static void note(enum fake_event event, uintptr_t address, uint32_t size)
{
    if (events.count < FAKE_EVENTS) {
        struct fake_entry *entry = &events.entries[events.count++];
        entry->event = (int32_t)event;
        entry->offset = (int64_t)((intptr_t)address - (intptr_t)watched);
        entry->size = (int64_t)size;
        entry->first_weight = watched == 0 ? 0 : watched[0];
    }
}

static void compute(void)
{
    int64_t sum = 0;
    for (size_t i = 0; i < watched_bytes; i++) {
        sum += watched[i];
    }
    for (uint32_t i = 0; i < out.size; i++) {
        output[i] = (unsigned char)(sum + (int64_t)i + input[i]);
    }
}

void fake_reset(const int8_t *weights, size_t bytes, int32_t fails)
{
    events.count = 0;
    watched = weights;
    watched_bytes = bytes;
    failing = fails;
}

const struct fake_log *fake_events(void)
{
    return &events;
}

void *fake_aton_network(void)
{
    return &instance;
}

void *fake_stai_network(void)
{
    return &network;
}

void LL_ATON_Cache_MCU_Clean_Range(uintptr_t virtual_addr, uint32_t size)
{
    note(FAKE_MCU_CLEAN, virtual_addr, size);
}

void LL_ATON_Cache_MCU_Invalidate_Range(uintptr_t virtual_addr, uint32_t size)
{
    note(FAKE_MCU_INVALIDATE, virtual_addr, size);
}

void LL_ATON_Cache_NPU_Clean_Range(uintptr_t virtual_addr, uint32_t size)
{
    note(FAKE_NPU_CLEAN, virtual_addr, size);
}

void LL_ATON_Cache_NPU_Clean_Invalidate_Range(uintptr_t virtual_addr, uint32_t size)
{
    note(FAKE_NPU_CLEAN_INVALIDATE, virtual_addr, size);
}

void LL_ATON_RT_RuntimeInit(void)
{
    note(FAKE_RUNTIME_INIT, (uintptr_t)watched, 0);
}

void LL_ATON_RT_Init_Network(NN_Instance_TypeDef *nn_instance)
{
    nn_instance->epochs = 0;
    note(FAKE_NETWORK_INIT, (uintptr_t)watched, 0);
}

void LL_ATON_RT_Reset_Network(NN_Instance_TypeDef *nn_instance)
{
    nn_instance->epochs = 0;
}

LL_ATON_RT_RetValues_t LL_ATON_RT_RunEpochBlock(NN_Instance_TypeDef *nn_instance)
{
    nn_instance->epochs++;
    if (nn_instance->epochs < 3) {
        note(FAKE_EPOCH, (uintptr_t)watched, 0);
        return nn_instance->epochs == 1 ? LL_ATON_RT_NO_WFE : LL_ATON_RT_WFE;
    }
    compute();
    note(FAKE_DONE, (uintptr_t)watched, 0);
    return LL_ATON_RT_DONE;
}

void LL_ATON_OSAL_WFE(void)
{
    note(FAKE_WAIT, (uintptr_t)watched, 0);
}

const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info(const NN_Instance_TypeDef *nn_instance)
{
    (void)nn_instance;
    return &in;
}

const LL_Buffer_InfoTypeDef *LL_ATON_Output_Buffers_Info(const NN_Instance_TypeDef *nn_instance)
{
    (void)nn_instance;
    return &out;
}

unsigned char *LL_Buffer_addr_start(const LL_Buffer_InfoTypeDef *buffer)
{
    return buffer->start;
}

uint32_t LL_Buffer_len(const LL_Buffer_InfoTypeDef *buffer)
{
    return buffer->size;
}

stai_return_code stai_runtime_init(void)
{
    note(FAKE_RUNTIME_INIT, (uintptr_t)watched, 0);
    return failing == 1 ? STAI_ERROR_GENERIC : STAI_SUCCESS;
}

stai_return_code stai_network_init(stai_network *net)
{
    net->started = 1;
    note(FAKE_NETWORK_INIT, (uintptr_t)watched, 0);
    return failing == 2 ? STAI_ERROR_GENERIC : STAI_SUCCESS;
}

stai_return_code stai_network_get_inputs(stai_network *net, stai_ptr *inputs, stai_size *n_inputs)
{
    (void)net;
    inputs[0] = input;
    *n_inputs = 1;
    return failing == 3 ? STAI_ERROR_GENERIC : STAI_SUCCESS;
}

stai_return_code stai_network_get_outputs(stai_network *net, stai_ptr *outputs,
                                          stai_size *n_outputs)
{
    (void)net;
    outputs[0] = output;
    *n_outputs = 1;
    return STAI_SUCCESS;
}

stai_return_code stai_network_run(stai_network *net, const stai_run_mode mode)
{
    (void)net;
    (void)mode;
    compute();
    note(FAKE_DONE, (uintptr_t)watched, 0);
    return failing == 4 ? STAI_ERROR_GENERIC : STAI_SUCCESS;
}
