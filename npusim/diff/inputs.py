"""The inputs of a model that is run now, found among another side's tensors."""

import numpy as np

from ..graph import Graph
from .fit import Wanted
from .matching import match
from .sides import Dump, Side


def inputs_in(side: Side, graph: Graph, layout: str | None = None) -> dict[str, np.ndarray]:
    """The graph's inputs by name, from a golden file or from dumps.

    A dump is an input by its name; the only input may also be the first dump, if it has its shape.
    raises   ValueError where an input is not there
    """
    tensors = [graph.tensors[i] for i in graph.inputs]
    found = {}
    for dump in side.dumps:
        for t in tensors:
            if dump.name == t.name and not dump.raw and dump.values.shape[1:] == t.shape[1:]:
                found[t.name] = dump.values
    wanted = [
        Wanted(t.name, t.shape, t.dtype, t.quantization) for t in tensors if t.name not in found
    ]
    matching = match(wanted, side.dumps[:1] if len(tensors) == 1 else (), {}, layout)
    found |= {p.wanted.name: p.fitted.values for p in matching.pairs if p.fitted is not None}
    missing = [t.name for t in tensors if t.name not in found]
    if missing:
        raise ValueError(f"{side.path}: must hold the input {missing[0]} of {graph.name}, got "
                         f"{_few(side.dumps)}; name it with --input or --random")  # fmt: skip
    return {t.name: _codes(found[t.name], t.dtype) for t in tensors}


def _codes(values: np.ndarray, dtype: str) -> np.ndarray:
    """Codes in the input's type; real numbers stay for the session to quantise."""
    return values if values.dtype.kind == "f" else values.astype(dtype, casting="unsafe")


def _few(dumps: tuple[Dump, ...]) -> str:
    names = [d.file or d.name for d in dumps]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
