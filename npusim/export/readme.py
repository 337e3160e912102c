"""README.md of an exported model."""

import textwrap
from collections import Counter
from collections.abc import Iterator

from .. import __version__
from ..c_syntax import WIDTH
from ..golden.record import graph_hash
from ..graph import Graph
from ..headroom import accumulator
from .entries import entries, inputs_of, outputs_of, signature
from .header import OVERFLOW, own_rules, port
from .model import Model
from .row import BIASES, PARAMETERS, WEIGHTS
from .targets import Target

_TEXT = """\
# {name} in C

An int8 network as C99, for {about}. It computes what npusim {version} computes, bit for bit. The
network allocates nothing and keeps nothing between runs.

It needs {needs}.

{commands}

## In a firmware

Add `{name}.c`, `{name}_weights.c` and `kernels/*.c` to the build; `kernels/` must be on the include
path. `kernels/*_mve.c` hold the hot loops for Helium, and are empty for other cores. Keep
`-ffp-contract=off`, and on cores with Helium `-fno-tree-vectorize`.

```c
#include "{name}.h"

{signature}
```

{ports}

The arena is memory of the caller's, aligned to 8 bytes. Between runs it may be used for anything.

## Memory

| what | section | bytes |
| --- | --- | --- |
{memory}

`make size` tells the bytes of code. No function of the kernels takes more than 2 KB of stack.

## Nodes

| kernel | nodes |
| --- | --- |
{kernels}

Profile {profile}, accumulator of {bits} bits that {overflow}. {own_rules}What
these decide about rounding is in npusim's docs/arithmetic.md.

## Where it comes from

{origin}

Equal models and options give equal files. `kernels/`, `target/`, `main.c` and `Makefile` are part
of npusim, Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0). `{name}.c` and
`{name}_weights.c` hold the model: its licence is that of its makers.
"""


_PROGRAM = """\
```
make
make check
./model in.bin out.bin
```

`make check` compares the CRC-32 of every array of constants with that in `self_test.h`, names those
that differ, runs the inputs there and compares every byte of the outputs. `in.bin` holds
the inputs of any number of runs, {input_bytes:,} bytes each, one after the other; `out.bin` gets
{output_bytes:,} bytes for each. Exit status: 0 done, 1 the self-test failed, 2 not done."""

_LIBRARY = """\
```
make
make check
```

`make` builds `libmodel.a` for a firmware to link, `make check` compiles everything. `self_test.h`
holds the CRC-32 of every array of constants, inputs, and the outputs they must give;
`npu_differing_constant(self_test_constants)` of `target/constants.h` is NULL where all constants
are right. With `make STEDGEAI_CORE_DIR=... ST_INCLUDES=...` ST's
own headers take the place of the few declarations in `target/declared/`. The files of `target/`
bring a network to ST's NPU; without it, leave them out."""


def readme(model: Model, target: Target, source: Graph) -> str:
    """How to build it, what it takes, gives and costs, where it comes from.

    source   the graph before a session settled it
    """
    (run, *_), a = entries(model), accumulator(model.graph)
    text = _TEXT.format(
        name=model.prefix,
        about=target.about,
        needs=target.needs,
        version=__version__,
        commands=(_PROGRAM if target.program else _LIBRARY).format(
            input_bytes=model.input_bytes, output_bytes=model.output_bytes
        ),
        signature="\n".join(signature(model, run, ";")),
        ports="\n".join(_ports(model)),
        memory="\n".join(memory_rows(model)),
        kernels="\n".join(kernels_table(model)),
        profile=model.graph.profile,
        bits=a.bits,
        overflow=OVERFLOW[a.overflow],
        own_rules=f"{own} " if (own := own_rules(model.graph)) else "",
        origin="\n".join(origin_lines(source)),
    )
    return filled_prose(text)


def filled_prose(text: str) -> str:
    """Markdown with its prose in lines of equal length; code stays as it is."""
    parts = text.split("```")
    for k in range(0, len(parts), 2):
        parts[k] = "\n\n".join(map(_block_filled, parts[k].split("\n\n")))
    return "```".join(parts)


def _block_filled(block: str) -> str:
    """Prose in lines of equal length; code, lists and tables as they are."""
    if block.startswith(("#", "*", "|", "```")) or block.endswith("```"):
        return block
    end = "\n" * block.endswith("\n")
    return textwrap.fill(block, WIDTH, break_long_words=False, break_on_hyphens=False) + end


def _ports(model: Model) -> Iterator[str]:
    for name, i in (*inputs_of(model), *outputs_of(model)):
        yield f"* `{name}`: {port(model.graph.tensors[i])}"


def memory_rows(model: Model) -> Iterator[str]:
    """Rows of a table: what lies where, and its bytes."""
    kinds = dict.fromkeys((WEIGHTS, BIASES, PARAMETERS), 0)
    for array in model.arrays:
        kinds[array.kind] += array.values.nbytes
    for kind, size in kinds.items():
        yield f"| {kind} | flash, `.rodata` | {size:,} |"
    if model.writable_bytes:
        yield f"| what training changes | RAM, `.bss` | {model.writable_bytes:,} |"
    arena, scratch = model.plan.arena_bytes, model.scratch_bytes
    yield f"| arena, of it scratch {scratch:,} at most | RAM | {arena:,} |"


def kernels_table(model: Model) -> Iterator[str]:
    """Rows of a table: the kernels, and how many nodes call them."""
    used = Counter(step.call.function for step in model.steps if step.call is not None)
    for function, count in sorted(used.items()):
        yield f"| `{function}` | {count} |"


def origin_lines(source: Graph) -> Iterator[str]:
    """Programs, file and hashes, as a list."""
    yield f"* npusim {__version__}"
    for key in ("file", "format", "sha256"):
        if key in source.provenance:
            yield f"* {key} of the model: `{source.provenance[key]}`"
    yield f"* hash of what is computed (tensors, nodes, profile): `{graph_hash(source)}`"
