/* What this project calls of the STAI interface that ST's compiler generates for a network, declared
 * so that it compiles without one. With STEDGEAI_CORE_DIR, the generated header takes its place.
 *
 * The sizes are those of a generated network; set them by -D to check another. */
#ifndef STAI_NETWORK_DECLARED_H
#define STAI_NETWORK_DECLARED_H

#include <stdint.h>

#ifndef STAI_NETWORK_IN_1_SIZE_BYTES
#define STAI_NETWORK_IN_1_SIZE_BYTES (64)
#endif
#ifndef STAI_NETWORK_OUT_1_SIZE_BYTES
#define STAI_NETWORK_OUT_1_SIZE_BYTES (10)
#endif
#define STAI_NETWORK_IN_NUM (1)
#define STAI_NETWORK_OUT_NUM (1)

typedef struct npu_declared_network stai_network;
typedef uint8_t *stai_ptr;
typedef uint32_t stai_size;
typedef enum { STAI_SUCCESS = 0, STAI_ERROR_GENERIC = 0x10000 } stai_return_code;
typedef enum { STAI_MODE_SYNC = 1 } stai_run_mode;

stai_return_code stai_runtime_init(void);
stai_return_code stai_network_init(stai_network *network);
stai_return_code stai_network_get_inputs(stai_network *network, stai_ptr *inputs,
                                         stai_size *n_inputs);
stai_return_code stai_network_get_outputs(stai_network *network, stai_ptr *outputs,
                                          stai_size *n_outputs);
stai_return_code stai_network_run(stai_network *network, const stai_run_mode mode);

#endif
