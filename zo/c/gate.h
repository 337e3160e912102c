/* A schedule that raises q when what a step measures is mostly noise. Twin of zo/gate.py. */
#ifndef ZO_GATE_H
#define ZO_GATE_H

#include "evidence.h"

/* Settings, then the state; a checkpoint between two epochs keeps q and noisy_epochs.
 *
 * rungs          (count,), every q that may occur, ascending
 * patience       noisy epochs in a row until q rises by a rung
 * noisy_epochs   in a row, so far
 * noisy_steps    of the steps observed in this epoch */
struct zo_gate {
    enum zo_measure measure;
    const int32_t *rungs;
    size_t count;
    int32_t patience;
    struct zo_fraction threshold;
    int32_t q;
    int32_t noisy_epochs;
    int32_t noisy_steps;
    int32_t steps;
};

/* Count a step, and whether it is noisy. */
void zo_gate_observe(struct zo_gate *gate, const struct zo_evidence *evidence);

/* The q of the next epoch, by the steps observed since the last call; an epoch is noisy when more
 * than half of them are. */
int32_t zo_gate_step(struct zo_gate *gate, const struct zo_metric *metric);

#endif
