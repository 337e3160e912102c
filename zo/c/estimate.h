/* From losses to gradients: coefficients c_i over one denominator, then g = sum_i c_i*z_i.
 *
 *     one_sided   c_i = L_i - L_0                         den = q*B*k          q+1 forwards
 *     centred     c_i = q*(L_i - L_0) - sum_j(L_j - L_0)  den = q*(q-1)*B*k    q+1 forwards, q >= 2
 *     central     c_i = L(+)_i - L(-)_i                   den = 2*q*B*k        2q forwards
 *     sign        c_i = sign(L_i - L_0)*B*2^16            den = q*B*k          q+1 forwards
 *     hadamard    as one_sided, along rows of a Hadamard matrix: a stream's `hadamard` is 1
 *
 * Nothing is divided before the denominator. Sums are int64; `zo_check_range` proves that they fit.
 * Twin of zo/estimate.py. */
#ifndef ZO_ESTIMATE_H
#define ZO_ESTIMATE_H

#include "prng.h"
#include "status.h"

enum zo_estimator {
    ZO_ESTIMATOR_ONE_SIDED,
    ZO_ESTIMATOR_CENTRED,
    ZO_ESTIMATOR_CENTRAL,
    ZO_ESTIMATOR_SIGN,
    ZO_ESTIMATOR_HADAMARD
};

/* The gradient of the mean loss per weight step is sum_i c_i*z_i / den, in 2^-16.
 *
 * c     (q,), the caller's memory */
struct zo_estimate {
    int64_t *c;
    int64_t den;
};

/* Differences of the losses (q,) to the unperturbed loss.
 *
 * base    L_0, the loss summed over the batch
 * k       perturbation in weight steps
 * batch   B, images per batch */
void zo_one_sided(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
                  struct zo_estimate *found);

/* As `zo_one_sided` minus the mean of the differences; ZO_BAD_SAMPLES unless q >= 2. */
enum zo_status zo_centred(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
                          struct zo_estimate *found);

/* Differences between the losses (q,) at w + k*z_i and at w - k*z_i. */
void zo_central(const int64_t *plus, size_t q, const int64_t *minus, int32_t k, int32_t batch,
                struct zo_estimate *found);

/* As `zo_one_sided`, with the sign of each difference times one nat per image in its place. */
void zo_sign(int64_t base, const int64_t *losses, size_t q, int32_t k, int32_t batch,
             struct zo_estimate *found);

/* Proves that no sum of a step overflows int64: sum_i |c_i| * reach < 2^46, else ZO_BAD_RANGE.
 *
 * q       the largest number of samples that may occur
 * bound   every loss of a batch lies in 0..bound; for ZO_ESTIMATOR_SIGN, B*2^16
 * reach   largest |z|: 1, or k when perturbations saturate */
enum zo_status zo_check_range(enum zo_estimator estimator, int32_t q, int64_t bound, int32_t reach);

/* gradient (n,) += sum_i c_i * z_(sample+i)[first : first+n] for c (m,), sum |c_i| < 2^46. */
void zo_accumulate_signs(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                         const struct zo_stream *stream, uint32_t sample, uint64_t first);

/* gradient (n,) += sum_i c_i * (clamp(original + k*z_i[first : first+n]) - original): the steps
 * really taken, up to k each. */
void zo_accumulate_steps(int64_t *gradient, size_t n, const int64_t *c, size_t m,
                         const int8_t *original, int32_t k, const struct zo_stream *stream,
                         uint64_t first);

/* sums (2,) += (sum |2*half - whole|, sum |whole|) over (n,): how far the gradients of the two
 * halves of the samples are apart, and how large they are together. */
void zo_add_differences(const int64_t *half, size_t n, const int64_t *whole, int64_t *sums);

#endif
