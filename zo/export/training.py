"""NAME_training.c: a run of zo, as it stands before its first step, in C."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from npusim.c_syntax import initializer
from npusim.export.model import Model
from npusim.export.weights import copies, definitions

from ..cost_aware import CostAware
from ..gate import Gate
from ..run import Run
from .network import Network, network_text
from .settings import run_fields, scaled_fields
from .tensors import Fields, Parts, tensor_fields

_SIZES = {"int8_t": 1, "int16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8}
_CLEARED = ("_residual", "_momentum", "_doublings", "_shared", "_slope")
"""How memory is named that a run begins with as zeros."""


class Training(NamedTuple):
    """A run in C.

    source   of NAME_training.c
    memory   what its memory is for -> bytes of RAM
    tables   bytes of constants in flash
    """

    source: str
    memory: dict[str, int]
    tables: int


def training(model: Model, run: Run, network: Network) -> Training:
    """The text of a run.

    model   exported from the run's session, its trainable constants writable
    run     before its first step; its arrays are copied
    """
    parts = Parts()
    tensors = [
        tensor_fields(parts, model, k, t, run.step.rates[t.name])
        for k, t in enumerate(run.step.group.tensors)
    ]
    scaled = scaled_fields(parts, model, run)
    fields = run_fields(parts, model, run, network, len(scaled))
    sections = [
        *_includes(model.prefix),
        *_data(parts),
        _structs("zo_trainable", "tensors", tensors),
        _structs("zo_scaled", "scaled", scaled),
        network_text(network),
        ["static const struct zo_run start = {", *initializer(fields), "};"],
        [f"struct zo_run {model.prefix}_training;"],
        _changed(model),
        _attach(model),
        _load(model, parts, run),
    ]
    source = "\n".join("".join(f"{x}\n" for x in lines) for lines in map(list, sections) if lines)
    sizes = {name: _SIZES[kind] * count for name, (kind, count) in parts.memory.items()}
    sizes |= {array.name: array.values.nbytes for array in parts.arrays if array.writable}
    return Training(source, sizes, sum(array.values.nbytes for array in parts.arrays))


def _includes(prefix: str) -> Iterator[list[str]]:
    yield [f'#include "{prefix}_training.h"']
    yield ["#include <string.h>"]
    yield [f'#include "{prefix}.h"', f'#include "{prefix}_weights.h"', '#include "samples.h"']


def _data(parts: Parts) -> Iterator[list[str]]:
    """Constants, tables of structs, memory."""
    yield list(definitions(parts.arrays, "static "))[1:]
    yield parts.tables
    yield [f"static {kind} {name}[{n}];" for name, (kind, n) in parts.memory.items()]


def changed_arrays(model: Model) -> int:
    """How many arrays of the model training changes."""
    return sum(array.writable for array in model.arrays)


def _structs(kind: str, name: str, values: Sequence[Fields]) -> Iterator[str]:
    """An array of structs; nothing for none."""
    if not values:
        return
    yield f"static struct {kind} {name}[] = {{"
    for fields in values:
        yield "    {"
        yield from initializer(fields, " " * 8)
        yield "    },"
    yield "};"


def _changed(model: Model) -> Iterator[str]:
    macro = model.names.macro
    yield f"const struct changed {model.prefix}_changed[{macro}_CHANGED] = {{"
    for array in model.arrays:
        if array.writable:
            yield f"    {{{array.name}, sizeof {array.name}}},"
    yield "};"


def _attach(model: Model) -> Iterator[str]:
    yield "/* Where a run's images are. */"
    yield "static void attach(struct zo_source *source, const struct samples *part)"
    yield "{"
    yield "    source->images = part->images;"
    yield f"    source->bytes = {model.names.macro}_INPUT_BYTES;"
    yield "    source->labels = part->labels;"
    yield "    source->count = part->count;"
    yield "}"


def _load(model: Model, parts: Parts, run: Run) -> Iterator[str]:
    name = model.prefix
    yield "/* As many images as there is memory for. */"
    yield f"enum {{ TRAIN = {len(run.train)}, VALIDATION = {len(run.validation)} }};"
    yield ""
    yield f"int32_t {name}_load_training(const uint8_t *region)"
    yield "{"
    size = f"{model.names.macro}_INPUT_BYTES"
    yield "    struct samples train, validation;"
    yield f"    if (samples_open(region, {size}, &train, &validation) != 0"
    yield f"        || train.count < {run.options.batch} || train.count > TRAIN"
    yield "        || validation.count == 0 || validation.count > VALIDATION) {"
    yield "        return -1;"
    yield "    }"
    yield f"    {name}_load_weights();"
    yield from copies(parts.arrays)
    for memory in parts.memory:
        if memory.endswith(_CLEARED):
            yield f"    memset({memory}, 0, sizeof {memory});"
    yield f"    {name}_training = start;"
    yield from _watch(name, run)
    yield f"    attach(&{name}_training.train, &train);"
    yield f"    attach(&{name}_training.validation, &validation);"
    yield "    return 0;"
    yield "}"


def _watch(name: str, run: Run) -> Iterator[str]:
    """A schedule that goes by what steps show is shown them."""
    for kind, field in ((Gate, "gate"), (CostAware, "cost_aware")):
        if isinstance(run.scheduler, kind):
            yield f"    {name}_training.step.watcher.{field} = &{name}_training.{field};"
