/* When one epoch's metric counts as better than the best so far.
 *
 *     abs   n - best > tau*N         with counts n of N and tau a fraction
 *     rel   n - best > tau*best
 *     se    d = n - best > 0 and d*d*N*65536 > kappa^2*best*(N - best), kappa in Q8
 *
 * (The other way round where smaller is better.) Products are not cut, so every decision is that
 * of zo/metric.py, which computes with fractions. */
#ifndef ZO_METRIC_H
#define ZO_METRIC_H

#include <stdint.h>

#include "status.h"

/* Counts of an epoch: 0 <= correct <= total. */
struct zo_metric {
    int32_t correct;
    int32_t total;
};

/* A fraction of non-negative integers. */
struct zo_fraction {
    int64_t numerator;
    int64_t denominator;
};

/* 1 if a*b > c*d, else 0; none is negative. */
int32_t zo_product_exceeds(int64_t a, int64_t b, int64_t c, int64_t d);

/* value = correct / total; ZO_BAD_METRIC unless 0 <= correct <= total and total > 0. */
enum zo_status zo_read_metric(const struct zo_metric *metric, struct zo_fraction *value);

enum zo_threshold_mode { ZO_THRESHOLD_ABS, ZO_THRESHOLD_REL, ZO_THRESHOLD_SE };

/* The rule.
 *
 * threshold   tau; with ZO_THRESHOLD_SE the number of standard errors. Both parts below 2^31
 * sign        1 when larger is better, -1 when smaller is */
struct zo_plateau {
    struct zo_fraction threshold;
    enum zo_threshold_mode mode;
    int32_t sign;
};

/* 1 if value beats best, else 0.
 *
 * value, best   parts of equal denominators below 2^47, else all parts below 2^31. For standard
 *               errors both denominators are `total`, below 2^31, and tau below 2^22 */
int32_t zo_plateau_better(const struct zo_plateau *plateau, const struct zo_fraction *value,
                          const struct zo_fraction *best, int64_t total);

#endif
