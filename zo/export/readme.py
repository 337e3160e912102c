"""README.md of an exported run."""

from collections.abc import Iterator

from npusim import Graph, __version__
from npusim.export.model import Model
from npusim.export.readme import filled_prose, kernels_table, memory_rows, origin_lines
from npusim.export.targets import TARGETS

from ..run import Run
from .training import Training

_TEXT = """\
# Training of {name} in C

An int8 network and its training by zo, as C99, for {about}. After every step it holds the bits
that npusim {version} and zo compute. No gradient is propagated: a step is made of forward passes
alone.

It needs {needs}.

```
make
make check
./model out.bin
```

`make check` trains the first {epochs} and compares loss, weights, residuals and momentum after
every step with `self_test.h`. `./model out.bin` trains the whole run and writes what it changed
to `out.bin`, in the order of `{name}_changed`. Exit status: 0 done, 1 the self-test failed, 2 not
done.

## What is trained

| tensor | layer | codes | how |
| --- | --- | --- | --- |
{tensors}

{settings}

## In a firmware

Add all but `main.c` and `region.c` to the build, with `kernels/` and `zo/` on the include path.
Keep `-ffp-contract=off`, and on cores with Helium `-fno-tree-vectorize`.

```c
#include "{name}_training.h"

{name}_load_training(region); /* weights from flash; samples, see samples.h */
{name}_training.hooks.on_epoch = progress;
zo_train(&{name}_training);
```

`zo_train_epoch` trains one epoch at a time. All state is in the structs that `{name}_training`
points at, so a checkpoint is a copy of them. The forward pass is behind the function pointers of
`train.network` and `validation.network`: a network compiled for an NPU that reads the same
weights takes the place of the kernels there, and the bits are the same as long as its arithmetic
is.

`samples.bin` holds {train} training and {validation} validation images. `region.c` builds it in,
in the section `.samples`; on a board it can be written to memory-mapped flash instead, and be
replaced by other samples of the same form at any time.

## Memory

| what | section | bytes |
| --- | --- | --- |
{memory}

`make size` tells the bytes of code. No function of the kernels takes more than 2 KB of stack.

## Kernels

| kernel | nodes |
| --- | --- |
{kernels}

## Where it comes from

{origin}

Equal models, data and options give equal files. `kernels/`, `zo/`, `target/` and the files
without `{name}` in their names are part of npusim, Apache-2.0
(https://www.apache.org/licenses/LICENSE-2.0). The others hold the model, and `samples.bin` the
data: their licences are those of their makers.
"""


def readme(model: Model, training: Training, run: Run, target: str, source: Graph) -> str:
    """How to build it, what it trains, takes and costs, where it comes from."""
    about = TARGETS[target]
    text = _TEXT.format(
        name=model.prefix,
        about=about.about,
        needs=about.needs,
        version=__version__,
        epochs="epoch" if run.epoch == 1 else f"{run.epoch} epochs",
        tensors="\n".join(_tensors(run)),
        settings=_settings(run),
        train=f"{len(run.train):,}",
        validation=f"{len(run.validation):,}",
        memory="\n".join(_memory(model, training)),
        kernels="\n".join(kernels_table(model)),
        origin="\n".join(origin_lines(source)),
    )
    return filled_prose(text)


def _tensors(run: Run) -> Iterator[str]:
    for t in run.step.group.tensors:
        how = "exact gradient" if t.exact else f"zeroth order, k = {t.k}"
        yield f"| `{t.name}` | `{t.node}` | {t.state.codes.size:,} | {how} |"


def _settings(run: Run) -> str:
    options, method = run.options, run.options.method
    rungs = ", ".join(map(str, run.scheduler.rungs))
    stop = f"stop after {options.stop_after} without a better accuracy"
    return (
        f"Seed {options.seed}, batches of {options.batch}, at most {options.epochs} epochs, "
        f"{stop if options.stop_after else 'no early stop'}; q in {rungs}; estimator "
        f"{method.estimator}, update rule {method.rule}, momentum {method.momentum}, scales "
        f"{'follow' if method.recalibrate else 'fixed'}."
    )


def _memory(model: Model, training: Training) -> Iterator[str]:
    yield from memory_rows(model)
    yield f"| tables and rates of training | flash, `.rodata` | {training.tables:,} |"
    kept = {"momentum": 0, "residual": 0, "live": 0}
    rest = 0
    for name, size in training.memory.items():
        kind = next((k for k in kept if name.endswith(k)), None)
        if kind is None:
            rest += size
        else:
            kept[kind] += size
    words = {"momentum": "momentum", "residual": "residuals",
             "live": "what frozen layers give, of a batch"}  # fmt: skip
    for kind, size in kept.items():
        if size:
            yield f"| {words[kind]} | RAM, `.bss` | {size:,} |"
    yield f"| all else of training | RAM, `.bss` | {rest:,} |"
