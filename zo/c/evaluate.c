#include "evaluate.h"

static void add(struct zo_evaluation *found, const struct zo_cross_entropy *loss,
                const int8_t *logits, const int32_t *label)
{
    const size_t classes = (size_t)loss->classes;
    int64_t sum;
    zo_cross_entropy_each(loss, logits, 1, label, 1, &sum);
    found->loss += sum;
    found->correct += zo_count_errors(logits, 1, classes, label) == 0;
    for (size_t c = 0; c < classes; c++) {
        found->at_rail += logits[c] == -128 || logits[c] == 127;
    }
    found->entries += loss->classes;
}

enum zo_status zo_evaluate(struct zo_source *source, const struct zo_cross_entropy *loss,
                           struct zo_evaluation *found)
{
    const struct zo_evaluation none = {0, (int32_t)source->count, 0, 0, 0};
    *found = none;
    for (size_t i = 0; i < source->count; i++) {
        const int32_t row = (int32_t)i;
        const struct zo_batch batch = zo_source_batch(source, &row, 1);
        if (zo_check_labels(batch.labels, 1, loss->classes) != ZO_OK) {
            return ZO_BAD_LABEL;
        }
        add(found, loss, batch.forward(batch.context, 0).logits, batch.labels);
    }
    return ZO_OK;
}
