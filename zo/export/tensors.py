"""What is trained, as C: one `struct zo_trainable` per tensor, with its memory and its rates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from npusim.constants import find_constant
from npusim.export.model import Model
from npusim.export.row import PARAMETERS, Array

from ..perturb import FULL_RANGE
from ..rate import Rates, cosine_table
from ..trainable import Trainable
from ..update import State

Fields = Mapping[str, object]
_NO_RATIO = {"multiplier": "NULL", "right_shift": "NULL", "channels": 0}


@dataclass
class Parts:
    """What definitions collect on their way.

    arrays    constants, and what begins with constants
    memory    name -> (C type, numbers) of what begins with zeros
    tables    lines that define arrays of structs
    """

    arrays: list[Array] = field(default_factory=list)
    memory: dict[str, tuple[str, int]] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)

    def constant(self, name: str, values: np.ndarray, what: str, writable: bool = False) -> str:
        """The name of an array of constants; int64 becomes int32."""
        narrow = values.astype(np.int32) if values.dtype == np.int64 else values.copy()
        assert np.array_equal(narrow, values)
        return self.array(name, narrow, what, writable)

    def array(self, name: str, values: np.ndarray, what: str, writable: bool = False) -> str:
        """The same with elements as they are."""
        if all(array.name != name for array in self.arrays):
            self.arrays.append(Array(name, values.reshape(-1), what, PARAMETERS, writable))
        return name

    def zeros(self, name: str, kind: str, count: int) -> str:
        """The name of memory; NULL for none."""
        if not count:
            return "NULL"
        self.memory[name] = kind, count
        return name


def tensor_fields(parts: Parts, model: Model, number: int, t: Trainable, rates: Rates) -> Fields:
    """The fields of a tensor's struct.

    number   its place among the step's tensors
    """
    name = f"tensor_{number}"
    saturates = t.rule.rails == FULL_RANGE
    return {
        "stream": t.stream,
        "k": t.k,
        "rule": {
            "name": f"ZO_RULE_{t.rule.name.upper()}",
            "rails": {"lo": int(t.rule.rails.lo), "hi": int(t.rule.rails.hi)},
            "beta": t.rule.beta,
            "threshold": t.rule.threshold,
        },
        "state": _state(parts, name, _codes(parts, model, name, t), t.state),
        "form": _form(parts, name, t),
        "array": "NULL" if t.form is None else constant_name(model, t),
        "exact_scale": _exact_scale(parts, name, t),
        "rates": _rates(parts, name, rates),
        "original": parts.zeros(f"{name}_original", "int8_t", t.state.codes.size * saturates),
    }


def constant_name(model: Model, t: Trainable) -> str:
    """The array of the model that a tensor is."""
    return model.names.constants[find_constant(model.graph, t.name)]


def _codes(parts: Parts, model: Model, name: str, t: Trainable) -> str:
    """Weights are the model's own array; a bias has codes beside it."""
    if t.form is None:
        return constant_name(model, t)
    return parts.constant(f"{name}_codes", t.state.codes, f"codes of {t.name}", writable=True)


def _state(parts: Parts, name: str, codes: str, state: State) -> Fields:
    return {
        "codes": codes,
        "n": state.codes.size,
        "residual": parts.zeros(f"{name}_residual", "int16_t", state.residual.size),
        "momentum": parts.zeros(f"{name}_momentum", "int32_t", state.momentum.size),
        "doublings": parts.zeros(f"{name}_doublings", "int32_t", state.doublings.size),
        "channels": state.doublings.size,
        "inner": state.inner,
    }


def _form(parts: Parts, name: str, t: Trainable) -> Fields:
    if t.form is None:
        return {"base": "NULL", "unit": "NULL"}
    return {
        part: parts.constant(f"{name}_{part}", values, f"{part} of {t.name}", writable=True)
        for part, values in t.form._asdict().items()
    }


def _exact_scale(parts: Parts, name: str, t: Trainable) -> Fields:
    if t.exact_scale is None:
        return _NO_RATIO
    arrays = {
        part: parts.constant(f"{name}_exact_{part}", values, f"exact gradient's {part} of {t.name}")
        for part, values in t.exact_scale._asdict().items()
    }
    return {**arrays, "channels": len(t.exact_scale.multiplier)}


def _rates(parts: Parts, name: str, rates: Rates) -> Fields:
    """The pairs of every q, one array behind the other."""
    rungs = sorted(rates.pairs)
    channels = len(rates.pairs[rungs[0]].multiplier)
    for part in ("multiplier", "right_shift"):
        values = np.concatenate([getattr(rates.pairs[q], part) for q in rungs])
        parts.constant(f"{name}_rate_{part}", values, f"{part} of the rates for q in {rungs}")
    parts.constant(f"{name}_rungs", np.array(rungs, np.int32), "q of the rates")
    parts.tables.append(f"static const struct zo_ratio {name}_pairs[] = {{")
    for k in range(len(rungs)):
        at = k * channels
        arrays = f"{name}_rate_multiplier + {at}, {name}_rate_right_shift + {at}"
        parts.tables.append(f"    {{{arrays}, {channels}}},")
    parts.tables.append("};")
    return {
        "pairs": f"{name}_pairs",
        "rungs": f"{name}_rungs",
        "count": len(rungs),
        "decay": f"ZO_DECAY_{rates.decay.upper()}",
        "steps": rates.steps,
        "cosine": parts.constant("cosine", cosine_table(), "2^14 * (1 + cos(pi*j/1024))"),
    }
