#ifndef FAKE_ST_H
#define FAKE_ST_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_EVENTS 64

enum fake_event {
    FAKE_MCU_CLEAN,
    FAKE_MCU_INVALIDATE,
    FAKE_NPU_CLEAN,
    FAKE_NPU_CLEAN_INVALIDATE,
    FAKE_RUNTIME_INIT,
    FAKE_NETWORK_INIT,
    FAKE_EPOCH,
    FAKE_WAIT,
    FAKE_DONE
};

/* offset   of the range from the watched weights */
struct fake_entry {
    int32_t event;
    int32_t first_weight;
    int64_t offset;
    int64_t size;
};

struct fake_log {
    int64_t count;
    struct fake_entry entries[FAKE_EVENTS];
};

/* fails   0, or which call of STAI fails: 1 runtime_init, 2 network_init, 3 get_inputs, 4 run */
void fake_reset(const int8_t *weights, size_t bytes, int32_t fails);
const struct fake_log *fake_events(void);
void *fake_aton_network(void);
void *fake_stai_network(void);

#endif
