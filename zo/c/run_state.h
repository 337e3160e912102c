/* A run as bytes: everything that training changed, to stop here and go on elsewhere to the same
 * bits, in C or in Python.
 *
 *     offset      what, little-endian
 *     0           the characters "ZOR1"
 *     4           uint32: `zo_crc32` of everything behind it
 *     8           int64 (5,): bytes in all, seed, epochs, batch, tensors; and of each tensor
 *                 int64 (4,): stream, codes, channels, 1 with residual + 2 with momentum + 4 a bias
 *     then        int64 (14,): epoch, stagnates, exponent of the loss; of the scheduler q, best
 *                 (numerator, denominator), level, total, bad_epochs, cooling; of the stopping
 *                 best, stagnant, q; a gate's noisy_epochs stand where a scheduler's bad_epochs do
 *     then        of CostAware int64 (rungs,): the cost of a step with each q
 *     then        of each tensor codes, residual, momentum, doublings, and of a bias base, unit; of
 *                 each whose scales may double the layer's bias and shift; the logits' shift
 *
 * The model, its images and how it is trained are not in it: they are the program's. Arrays are
 * copied as they lie in memory, on little-endian processors. Who may lose power while the bytes are
 * written keeps those of the epoch before. Twin of zo/run_state.py. */
#ifndef ZO_RUN_STATE_H
#define ZO_RUN_STATE_H

#include "run.h"

/* How many bytes a run's state takes; the same all along the run. */
size_t zo_run_state_size(const struct zo_run *run);

/* state (zo_run_state_size,) = the run as it stands between two epochs. */
void zo_pack_run(const struct zo_run *run, uint8_t *state);

/* Brings a run that was loaded to where another stood; `zo_run_start` comes next, as for any run.
 *
 * returns   ZO_BAD_STATE for bytes that are damaged, or of a run with other tensors, epochs, batch
 *           or seed; nothing was changed then */
enum zo_status zo_unpack_run(struct zo_run *run, const uint8_t *state, size_t size);

/* CRC-32 (IEEE 802.3) of data (n,), continued from that of what stands before it; 0 of nothing. */
uint32_t zo_crc32(const uint8_t *data, size_t n, uint32_t before);

#endif
