"""What every implementation of a rule of requantisation makes of accumulators."""

import numpy as np
from naive import rounding

from npusim.kernels import arith, float_arith
from npusim.kernels.structs import REQUANTIZE
from npusim.reference import arithmetic

FLOAT_RULES = [rule for rule in REQUANTIZE if rule.startswith("float")]
INTEGER_RULES = [rule for rule in REQUANTIZE if not rule.startswith("float")]


def answers(rule, accumulators, *numbers):
    """What the naive rule, the reference and the kernel make of accumulators."""
    name = f"requantize_{rule}"
    naive = [getattr(rounding, name)(v, *numbers) for v in accumulators]
    reference = getattr(arithmetic, name)(np.array(accumulators, np.int64), *numbers).tolist()
    kernels = float_arith if rule.startswith("float") else arith
    compiled = [int(getattr(kernels, name)(np.int64(v), *numbers)) for v in accumulators]
    return naive, reference, compiled
