"""README.md of an exported run."""

from collections.abc import Iterator

from npusim import Graph, __version__
from npusim.export.model import Model
from npusim.export.readme import filled_prose, kernels_table, memory_rows, origin_lines
from npusim.export.targets import TARGETS
from npusim.plurals import counted

from ..run import Run
from ..run_state import run_state_size
from .training import Training

_TEXT = """\
# Training of {name} in C

An int8 network and its training by zo, as C99, for {about}. After every step it holds the bits
that npusim {version} and zo compute. No gradient is propagated: a step is made of forward passes
alone.

It needs {needs}.

{commands}

## What is trained

| tensor | layer | codes | how |
| --- | --- | --- | --- |
{tensors}

{settings}

## In a firmware

Add all but `main.c` to the build, with `kernels/` and `zo/` on the include path. Keep
`-ffp-contract=off`, and on cores with Helium `-fno-tree-vectorize`.

```c
#include "{name}_training.h"

extern const uint8_t sample_region[]; /* made by region.c, or any other copy of samples.bin */

{name}_load_training(sample_region); /* weights from flash, momentum 0, the first epoch */
{name}_training.hooks.on_epoch = progress;
zo_train(&{name}_training);
```

`zo_train_epoch` trains one epoch at a time. Between epochs `zo_pack_run` of `zo/run_state.h`
makes {state} bytes of all that training changed; `zo_unpack_run` brings a run that was loaded to
there, and training goes on to the same bits, here or in Python. The forward pass is behind the
function pointers of `train.network` and `validation.network`: a network compiled for an NPU takes
the place of the kernels there, and the bits are the same as long as its arithmetic is.

`samples.bin` holds {train} training and {validation} validation images. `region.c` builds it in,
in the section `.npu_samples`; on a board it can be written to memory-mapped flash instead, and be
replaced at any time by other samples of the same form, as many at most.

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


_PROGRAM = """\
```
make
make check
./model out.bin
```

`make check` compares the CRC-32 of every array of constants with that in `self_test.h`, names those
that differ, trains the first {epochs} and compares loss, weights, residuals and momentum after
every step with `self_test.h`. `./model out.bin` trains the whole run and writes what it changed
to `out.bin`, in the order of `{name}_changed`. `./model out.bin state.zor` goes on from `state.zor`
where it is there, and replaces it after each epoch. Exit status: 0 done, 1 the self-test failed, 2
not done."""

_LIBRARY = """\
```
make
make check
```

`make` builds `libmodel.a` for a firmware to link, `make check` compiles everything. `self_test.h`
holds the CRC-32 of every array of constants, for `npu_differing_constant` of `target/constants.h`,
and what training must be after every step of the first {epochs}. With `make STEDGEAI_CORE_DIR=...
ST_INCLUDES=...` ST's own headers take the place of the few declarations in `target/declared/`.

`target/npu_training.h` lets the passes run on the NPU, through ST's LL_ATON runtime
(`npu_aton_forward`), its STAI interface (`npu_stai_forward`), or any other function; without it the
kernels run them:

```c
#include "npu_training.h"

/* where the compiled network reads the weights, and how: npusim locate-weights MODEL BLOB */
static const struct npu_region regions[] = {{
    {{{{NULL, WEIGHTS_ADDRESS, WEIGHTS_BYTES}}, {weights}, sizeof {weights}, NULL, NULL}},
}};
static struct npu_training npu = {{
    .forward = npu_aton_forward, .network = &NN_Instance_network, .regions = regions,
    .region_count = 1,
}};

npu_aton_start(npu.network);
npu_training_attach(&npu, &{name}_training); /* behind {name}_load_training */
```

A compiled network has its biases and scales among its coefficients: train weights alone, with
`--no-recalibration`. The NPU's arithmetic is profile `neural-art`; under another one the bits are
others, and training is as good as the device is close. `target/npu_memory.ld` puts samples, and
weights of your own, into memories that the board's linker script names."""


def readme(model: Model, training: Training, run: Run, target: str, source: Graph) -> str:
    """How to build it, what it trains, takes and costs, where it comes from."""
    about = TARGETS[target]
    epochs = "epoch" if run.epoch == 1 else f"{run.epoch} epochs"
    text = _TEXT.format(
        name=model.prefix,
        about=about.about,
        needs=about.needs,
        version=__version__,
        commands=(_PROGRAM if about.program else _LIBRARY).format(
            name=model.prefix, epochs=epochs, weights=_first_changed(model)
        ),
        tensors="\n".join(_tensors(run)),
        settings=_settings(run),
        state=f"{run_state_size(run):,}",
        train=f"{len(run.train):,}",
        validation=f"{len(run.validation):,}",
        memory="\n".join(_memory(model, training)),
        kernels="\n".join(kernels_table(model)),
        origin="\n".join(origin_lines(source)),
    )
    return filled_prose(text)


def _first_changed(model: Model) -> str:
    return next(array.name for array in model.arrays if array.writable)


def _tensors(run: Run) -> Iterator[str]:
    for t in run.step.group.tensors:
        how = "exact gradient" if t.exact else f"zeroth order, k = {t.k}"
        yield f"| `{t.name}` | `{t.node}` | {t.state.codes.size:,} | {how} |"


def _settings(run: Run) -> str:
    options, method = run.options, run.options.method
    rungs = ", ".join(map(str, run.scheduler.rungs))
    stop = f"stop after {options.stop_after} without a better accuracy"
    return (
        f"Seed {options.seed}, batches of {options.batch}, "
        f"at most {counted(options.epochs, 'epoch')}, "
        f"{stop if options.stop_after else 'no early stop'}; q in {rungs} "
        f"({type(run.scheduler).__name__}); estimator "
        f"{method.estimator}, update rule {method.rule}, momentum {method.momentum}, scales "
        f"{'follow' if method.recalibrate else 'fixed'}."
    )


def _memory(model: Model, training: Training) -> Iterator[str]:
    yield from memory_rows(model)
    yield f"| tables and rates of training | flash, `.rodata` | {training.tables:,} |"
    kept = {"momentum": 0, "residual": 0, "live": 0, "kept": 0}
    rest = 0
    for name, size in training.memory.items():
        kind = next((k for k in kept if name.endswith(k)), None)
        if kind is None:
            rest += size
        else:
            kept[kind] += size
    words = {
        "momentum": "momentum",
        "residual": "residuals",
        "live": "what frozen layers give, of a batch",
        "kept": "the same, of all images",
    }
    for kind, size in kept.items():
        if size:
            yield f"| {words[kind]} | RAM, `.bss` | {size:,} |"
    yield f"| all else of training | RAM, `.bss` | {rest:,} |"
