/* A network that runs on the NPU, or anywhere else, behind one function.
 *
 * `npu_aton_forward` runs what ST's compiler made, through the LL_ATON runtime; `npu_stai_forward`
 * through the STAI interface of newer versions; a function around exported kernels has the same
 * form. One of them, with what it calls `network`, is all that training knows of the hardware. */
#ifndef NPU_NETWORK_H
#define NPU_NETWORK_H

#include <stddef.h>
#include <stdint.h>

enum npu_status {
    NPU_OK = 0,
    NPU_BAD_SIZE, /* the compiled network's input or output has another number of bytes */
    NPU_FAILED    /* the runtime reported an error */
};

/* One image: reads `input`, writes `output`, returns when the NPU is idle again.
 *
 * input    (input_bytes,) codes, as the network expects them
 * output   (output_bytes,) codes */
typedef enum npu_status (*npu_forward)(void *network, const int8_t *input, size_t input_bytes,
                                       int8_t *output, size_t output_bytes);

/* Both are called once, before the first pass. */
enum npu_status npu_aton_start(void *network);
enum npu_status npu_stai_start(void *network);

/* network   NN_Instance_TypeDef * of the generated code, `&NN_Instance_<name>` */
enum npu_status npu_aton_forward(void *network, const int8_t *input, size_t input_bytes,
                                 int8_t *output, size_t output_bytes);

/* network   stai_network *, the context that the generated code initialised */
enum npu_status npu_stai_forward(void *network, const int8_t *input, size_t input_bytes,
                                 int8_t *output, size_t output_bytes);

#endif
