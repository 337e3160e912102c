/* Where a step's images come from, and the network that reads them.
 *
 * What training does not change, the frozen part, runs once for each image of a batch, or once for
 * good where there is memory to keep its results. Twin of zo/batch.py. */
#ifndef ZO_BATCH_H
#define ZO_BATCH_H

#include "step.h"

/* A network in two parts: C kernels, or a network compiled for an NPU.
 *
 * frozen       live (live_bytes,) of an image: what the other part reads. NULL where that reads the
 *              image itself
 * begin        is called before the images of each pass, to bring the codes into effect where the
 *              network reads them elsewhere; or NULL
 * rest         logits (classes,) with the codes in effect, and what the head reads, features
 *              (inputs,), unless they are NULL
 * context      is given to them
 * live_bytes   of one image
 * inputs       of the head, where its exact gradient trains it; else 0 */
struct zo_network {
    void (*frozen)(void *context, const int8_t *image, int8_t *live);
    void (*begin)(void *context);
    void (*rest)(void *context, const int8_t *live, int8_t *logits, int8_t *features);
    void *context;
    size_t live_bytes;
    size_t classes;
    size_t inputs;
};

/* Memory for the images of a batch, B at most.
 *
 * labels     (B,)
 * live       (B, live_bytes); may be NULL where nothing is frozen
 * logits     (B, classes)
 * features   (B, inputs); NULL where the head reads `live` itself, or inputs is 0 */
struct zo_batch_memory {
    int32_t *labels;
    int8_t *live;
    int8_t *logits;
    int8_t *features;
};

/* A data set, and its present batch.
 *
 * images   (count, bytes), codes as the network takes them; may be memory-mapped flash
 * labels   (count,)
 * kept     (count, live_bytes) after `zo_source_keep`; NULL: the frozen part runs for every batch
 * memory   may serve several data sets, one at a time
 * rows     (size,), of the present batch */
struct zo_source {
    const struct zo_network *network;
    const int8_t *images;
    size_t bytes;
    const uint16_t *labels;
    size_t count;
    int8_t *kept;
    struct zo_batch_memory memory;
    const int32_t *rows;
    size_t size;
};

/* Run the frozen part for all images, once, where there is memory to keep the results. */
void zo_source_keep(struct zo_source *source);

/* The batch of these images; good until the next call. rows (size,) must stay. */
struct zo_batch zo_source_batch(struct zo_source *source, const int32_t *rows, size_t size);

#endif
