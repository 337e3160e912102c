#include "gate.h"

#include "ladder.h"

void zo_gate_observe(struct zo_gate *gate, const struct zo_evidence *evidence)
{
    gate->steps++;
    gate->noisy_steps += zo_is_noisy(gate->measure, evidence, &gate->threshold);
}

int32_t zo_gate_step(struct zo_gate *gate, const struct zo_metric *metric)
{
    const int32_t clear_steps = gate->steps - gate->noisy_steps;
    (void)metric;
    gate->noisy_epochs = gate->noisy_steps > clear_steps ? gate->noisy_epochs + 1 : 0;
    gate->noisy_steps = 0;
    gate->steps = 0;
    if (gate->noisy_epochs >= gate->patience) {
        gate->noisy_epochs = 0;
        gate->q = zo_rung_above(gate->rungs, gate->count, gate->q);
    }
    return gate->q;
}
