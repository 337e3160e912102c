"""Keras .h5 models: the configuration, read as data and never executed, and the layers' arrays.

Sequential models, and functional ones whose layers are each called once; written by Keras 2 or 3
(`model.save("m.h5")`). A layer's arrays are found by the names that the file gives them.
"""

import io
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import h5py
import numpy as np

from ...formats.h5_objects import Reader, datasets, read_bytes
from ...graph import Graph, ModelError, closest_names
from ..draft import Draft
from ..fuse import fuse
from .arrays import REAL
from .keras_layers import LAYERS, Layer, Plain, read_layer

CONFIG, WEIGHTS = "model_config", "model_weights"
Config = Mapping[str, Any]


class _Call(NamedTuple):
    """A layer and the names of those whose outputs it reads."""

    kind: str
    name: str
    config: Config
    inputs: tuple[str, ...]


def holds_network(data: bytes) -> bool:
    """Whether an HDF5 file is a Keras model."""
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            return CONFIG in file.attrs
    except (OSError, RuntimeError):
        return False


def parse(data: bytes, file_name: str, input_size: tuple[int, int] | None) -> Graph:
    """The float graph of a file's bytes; see `npusim.floats.load`."""
    name = file_name.rsplit(".", 1)[0]
    return read_bytes(data, file_name, lambda reader, file: _read(reader, file, name, input_size))


def _read(reader: Reader, file: h5py.File, name: str, input_size: tuple[int, int] | None) -> Graph:
    if CONFIG not in file.attrs or WEIGHTS not in file:
        raise ModelError(f"model: must be a Keras model with {CONFIG} and {WEIGHTS}, got "
                         f"{', '.join([*file.attrs, *file][:4]) or 'nothing'}; save the whole "
                         "model, not its weights alone")  # fmt: skip
    calls, outputs = _calls(_config(file.attrs[CONFIG]))
    first = calls[0]
    draft = Draft(name, _input_shape(first, input_size))
    made = {first.name: draft.input}
    for call in calls[1:]:
        where = f"layer {call.name}/{call.kind}"
        if call.kind not in LAYERS:
            known = ", ".join(sorted(LAYERS))
            raise ModelError(f"{where}: layer must be one of {known}, got {call.kind}")
        inputs = tuple(_found(made, n, where) for n in call.inputs)
        try:
            arrays = _arrays(reader, file[WEIGHTS], call.name)
            made[call.name] = read_layer(
                draft, Layer(call.kind, call.name, Plain(call.config), arrays), inputs
            )
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error
    return fuse(draft.graph(*(_found(made, n, "model outputs") for n in outputs)))


def _config(text: Any) -> Config:
    try:
        config = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"{CONFIG}: must be JSON, got {error}") from error
    return _mapping(config, CONFIG)


def _calls(model: Config) -> tuple[list[_Call], list[str]]:
    """The layers in the order in which they are written, an input first, and the outputs."""
    kind, config = model.get("class_name"), model.get("config")
    if kind == "Sequential":
        layers = config if isinstance(config, list) else _mapping(config, CONFIG).get("layers")
        return _chain([_call(entry) for entry in _list(layers, "layers")])
    if kind not in ("Functional", "Model"):
        raise ModelError(f"model: must be Sequential or Functional, got {kind!r}")
    config = _mapping(config, CONFIG)
    calls = [_call(entry) for entry in _list(config.get("layers"), "layers")]
    inputs = _histories(config.get("input_layers"), "input_layers")
    if len(inputs) != 1 or not calls or calls[0].name != inputs[0]:
        raise ModelError(f"model inputs: must be one in a float graph, the first layer, got "
                         f"{len(inputs)}")  # fmt: skip
    return _sorted(calls), _histories(config.get("output_layers"), "output_layers")


def _call(entry: Any) -> _Call:
    entry = _mapping(entry, "layer")
    config = _mapping(entry.get("config"), "layer config")
    kind, name = entry.get("class_name"), config.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise ModelError(f"layer: must have a class and a name, got {kind!r} and {name!r}")
    calls = _list(entry.get("inbound_nodes", []), f"layer {name}")
    if len(calls) > 1:
        raise ModelError(f"layer {name}: must be called once, got {len(calls)} calls")
    return _Call(kind, name, config, tuple(_histories(calls, f"layer {name}")))


def _chain(calls: list[_Call]) -> tuple[list[_Call], list[str]]:
    """A Sequential model: every layer reads the one before; its input may go without saying."""
    if not calls:
        raise ModelError("model: must have a layer, got none")
    if calls[0].kind != "InputLayer":
        calls = [_Call("InputLayer", "input", calls[0].config, ()), *calls]
    chained = [b._replace(inputs=(a.name,)) for a, b in pairwise(calls)]
    return [calls[0], *chained], [calls[-1].name]


def _sorted(calls: list[_Call]) -> list[_Call]:
    """Layers behind those that they read: a file may name them in another order."""
    done, order, left = set[str](), list[_Call](), calls
    while left:
        ready = [c for c in left if done.issuperset(c.inputs)]
        if not ready:
            raise ModelError(f"layer {left[0].name}: must read layers of this model, got "
                             f"{', '.join(left[0].inputs)}")  # fmt: skip
        order += ready
        done.update(c.name for c in ready)
        left = [c for c in left if c.name not in done]
    return order


def _histories(value: Any, where: str) -> list[str]:
    """The layers that a nest of calls names: [name, 0, 0] in Keras 2, keras_history in Keras 3."""
    found, stack = list[str](), [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            history = _mapping(part.get("config", {}), where).get("keras_history")
            stack += [history] if history else [part.get("args", [])]
        elif isinstance(part, list):
            named = len(part) >= 3 and isinstance(part[0], str)
            if named and part[1:3] != [0, 0]:
                raise ModelError(f"{where}: must read first outputs, got {part[:3]}")
            found += [part[0]] if named else []
            stack += [] if named else part[::-1]
        elif part is not None:
            raise ModelError(f"{where}: calls must name layers, got {part!r}")
    return found


def _input_shape(call: _Call, input_size: tuple[int, int] | None) -> tuple[int, ...]:
    shape = call.config.get("batch_shape", call.config.get("batch_input_shape"))
    if call.kind != "InputLayer" or not isinstance(shape, list) or len(shape) not in (2, 4):
        raise ModelError(f"layer {call.name}: the model's input must be (N, C) or (N, H, W, C), "
                         f"got {call.kind} {shape}")  # fmt: skip
    sizes = shape[1:]
    if input_size is not None and len(sizes) == 3:
        sizes = [*input_size, sizes[2]]
    if not all(type(d) is int and d > 0 for d in sizes):
        raise ModelError(f"layer {call.name}: sizes must be known, got {shape}; give an input size")
    return (1, *sizes)


def _found(made: Mapping[str, int], name: str, where: str) -> int:
    if name not in made:
        raise ModelError(f"{where}: must read a layer before it, got {name!r}; "
                         f"{closest_names(name, made)}")  # fmt: skip
    return made[name]


def _arrays(reader: Reader, weights: h5py.Group, layer: str) -> dict[str, np.ndarray]:
    """A layer's arrays by the last part of their names, such as "kernel"."""
    found: dict[str, np.ndarray] = {}
    if layer not in weights:
        return found
    for group, name in datasets(reader.group(weights, layer)):
        key, inside = name.split(":")[0], isinstance(group.get(name, getlink=True), h5py.HardLink)
        if key in found:
            raise ModelError(f"arrays must have different names, got {group.name}/{name}")
        if not inside or group[name].dtype.kind == "f":  # others are states of random layers
            found[key] = reader.array(group, name, *REAL).astype(np.float32)
    return found


def _mapping(value: Any, where: str) -> Config:
    if not isinstance(value, dict):
        raise ModelError(f"{where}: must be a JSON object, got {type(value).__name__}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ModelError(f"{where}: must be a JSON list, got {type(value).__name__}")
    return value
