#include "batch.h"

static void copy(int8_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

/* What the other part reads of the b-th image of the batch. */
static const int8_t *live_of(const struct zo_source *source, size_t b)
{
    const struct zo_network *network = source->network;
    if (network->frozen == NULL) {
        return &source->images[(size_t)source->rows[b] * source->bytes];
    }
    return &source->memory.live[b * network->live_bytes];
}

static struct zo_outputs forward(void *context, uint32_t pass)
{
    const struct zo_source *source = context;
    const struct zo_network *network = source->network;
    const struct zo_batch_memory *memory = &source->memory;
    /* the exact gradient reads the features of pass 0, which later passes must leave alone */
    int8_t *features = pass == 0 ? memory->features : NULL;
    if (network->begin != NULL) {
        network->begin(network->context);
    }
    for (size_t b = 0; b < source->size; b++) {
        network->rest(network->context, live_of(source, b), &memory->logits[b * network->classes],
                      features == NULL ? NULL : &features[b * network->inputs]);
    }
    const int8_t *shown = memory->features == NULL ? memory->live : memory->features;
    const struct zo_outputs outputs = {memory->logits, network->inputs > 0 ? shown : NULL};
    return outputs;
}

void zo_source_keep(struct zo_source *source)
{
    const struct zo_network *network = source->network;
    if (source->kept == NULL || network->frozen == NULL) {
        return;
    }
    for (size_t i = 0; i < source->count; i++) {
        network->frozen(network->context, &source->images[i * source->bytes],
                        &source->kept[i * network->live_bytes]);
    }
}

struct zo_batch zo_source_batch(struct zo_source *source, const int32_t *rows, size_t size)
{
    const struct zo_network *network = source->network;
    const size_t bytes = network->live_bytes;
    source->rows = rows;
    source->size = size;
    for (size_t b = 0; b < size; b++) {
        const size_t row = (size_t)rows[b];
        source->memory.labels[b] = source->labels[row];
        if (network->frozen == NULL) {
            continue;
        }
        if (source->kept != NULL) {
            copy(&source->memory.live[b * bytes], &source->kept[row * bytes], bytes);
        } else {
            network->frozen(network->context, &source->images[row * source->bytes],
                            &source->memory.live[b * bytes]);
        }
    }
    const struct zo_batch batch = {source->memory.labels, size, forward, source};
    return batch;
}
