/* What entry points answer. Each mirrors a Python function that raises; nothing was changed. */
#ifndef ZO_STATUS_H
#define ZO_STATUS_H

enum zo_status {
    ZO_OK = 0,
    ZO_BAD_STEP,    /* k must be 1..126 weight steps */
    ZO_BAD_SAMPLE,  /* sample + 1 must be below 2^32 */
    ZO_BAD_SAMPLES, /* too few samples q for the estimator */
    ZO_BAD_RANGE,   /* a sum could leave int64; lower q, the batch or the logit scale */
    ZO_BAD_LABEL,   /* labels must be 0..classes-1 */
    ZO_BAD_METRIC,  /* counts must be 0 <= correct <= total, total above 0 and, for "se" or
                       smoothing, the same in every epoch */
    ZO_BAD_RATE,    /* no rate was made for this q */
    ZO_BAD_COUNT,   /* a channel must show 1..2^23-1 values */
    ZO_BAD_SCALE,   /* scales double at most six times */
    ZO_BAD_STATE    /* a run's state must be whole, and of this run */
};

#endif
