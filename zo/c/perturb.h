/* Perturbation of int8 weights in place, exactly undone.
 *
 *     w' = w + k*z,   k >= 1 weight steps,   w in [lo, hi] = [-127 + k, 127 - k]
 *
 * Between the rails nothing saturates, so subtracting k*z gives back every bit without mask or
 * copy. `saturate` is the other mode: it clamps, and the caller restores from a copy.
 * Twin of zo/perturb.py. */
#ifndef ZO_PERTURB_H
#define ZO_PERTURB_H

#include "prng.h"
#include "status.h"

/* The codes between which trainable weights live. */
struct zo_rails {
    int32_t lo;
    int32_t hi;
};

/* between = [-127 + k, 127 - k]. returns ZO_BAD_STEP unless 1 <= k <= 126 */
enum zo_status zo_rails(int32_t k, struct zo_rails *between);

/* Clamps weights (n,) to the rails, once, when a model is loaded; returns how many moved. */
size_t zo_clip_to_rails(int8_t *weights, size_t n, const struct zo_rails *between);

/* weights (n,) += k*z_sample.
 *
 * weights   between rails(k); index n of z is row-major
 * k         weight steps; a negative one goes the other way (central differences)
 * sample    0 for the first perturbation
 * returns   ZO_BAD_STEP unless 1 <= |k| <= 126 */
enum zo_status zo_perturb(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample);

/* weights (n,) -= k*z_sample: undoes `zo_perturb` with the same arguments. */
enum zo_status zo_restore(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample);

/* weights (n,) += k*(z_(sample+1) - z_sample), in one pass; ZO_BAD_SAMPLE for the last sample. */
enum zo_status zo_advance(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample);

/* weights (n,) = clamp(original + k*z_sample) to int8, any code, any k. */
void zo_saturate(int8_t *weights, size_t n, const int8_t *original, int32_t k,
                 const struct zo_stream *stream, uint32_t sample);

/* weights (n,) += k*z; the sum must fit int8. */
void zo_add_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                  uint32_t sample);

/* weights (n,) += k*(z_(sample+1) - z_sample); the sum must fit int8. */
void zo_move_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                   uint32_t sample);

/* weights (n,) = clamp(original + k*z) to int8. */
void zo_add_signs_saturated(int8_t *weights, size_t n, const int8_t *original, int32_t k,
                            const struct zo_stream *stream, uint32_t sample);

#endif
