"""How sure a difference between two ways is that were told the same cases.

    d = (ours - theirs) / n,     d -+ 1.96 * sqrt(ours + theirs - (ours - theirs)^2 / n) / n

`ours` and `theirs` count the cases of n that one way alone has right. McNemar's test asks how
likely they would part as far or further if either were as good.
Source: Agresti, Categorical Data Analysis, section on matched pairs.
"""

import numpy as np
from scipy.stats import binomtest, norm

CONFIDENCE = 0.95


def paired(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """The difference of two shares, its interval, and McNemar's exact p.

    ours, theirs   bool (N,), which cases each has right
    returns        difference, low and high as shares; the cases that one alone has right; p
    """
    n, one, other = len(ours), int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    difference, parted = (one - other) / n, one + other
    width = norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(parted - (one - other) ** 2 / n) / n
    p = binomtest(one, parted).pvalue if parted else 1.0
    return {
        "difference": difference,
        "low": float(difference - width),
        "high": float(difference + width),
        "ours_alone": one,
        "theirs_alone": other,
        "p": float(p),
    }
