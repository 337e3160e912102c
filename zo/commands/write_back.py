"""`zo write-back`: trained tensors into the user's own .tflite file."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from npusim import load
from npusim.command_line import DONE
from npusim.formats import files

from ..atomic import replace_bytes
from ..write_back import WriteBack, Written, write_back
from .arguments import JSON, Command
from .run_folder import MODEL

MANUAL = """\
Put trained tensors back into the .tflite file that the training began from, so
that it runs wherever the old one did. The file keeps its size and every byte
that is not a trained tensor's values, scales or zero points.

A file has room for what it holds. A classifier of other classes does not fit;
one scale for all weights of a layer cannot be a scale for each output: such a
layer is refused, or with --requantize rounded to one, and is then not what was
trained. `zo evaluate tuned.tflite` measures it.
"""

EXAMPLES = """\
examples:
  zo write-back run/ model.tflite --output tuned.tflite
  zo write-back adapted.h5 model.tflite --output tuned.tflite --requantize

"""


def run(arguments: argparse.Namespace) -> int:
    """`zo write-back`"""
    trained: Path = arguments.trained
    model: Path = arguments.file
    _check_output(arguments.output, model, arguments.overwrite)
    graph = load(trained / MODEL if trained.is_dir() else trained)
    result = write_back(graph, files.read(model), model.name, arguments.requantize)
    replace_bytes(arguments.output, result.data)
    if arguments.json:
        print(json.dumps(_facts(result, arguments.output), indent=2))
    else:
        print("\n".join(_lines(result, arguments.output)))
    return DONE


def tflite_file(text: str) -> Path:
    """A path that ends in .tflite, the format that will be written."""
    path = Path(text)
    if path.suffix.lower() != ".tflite":
        raise argparse.ArgumentTypeError(f"must end in .tflite, the format it writes, got {text!r}")
    return path


COMMAND = Command(
    "write-back",
    "put trained tensors into the .tflite file they came from",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "trained": {"type": Path, "metavar": "TRAINED",
                        "help": "folder of a run, or .h5 file that zo wrote"},
            "file": {"type": Path, "metavar": "MODEL.tflite",
                      "help": "the file that the training began from"},
            "--output": {"type": tflite_file, "required": True, "metavar": "FILE",
                         "help": ".tflite file to write"},
            "--requantize": {"action": "store_true",
                             "help": "round to the scales that the file can say"},
            "--overwrite": {"action": "store_true",
                            "help": "replace the file that --output names"},
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _check_output(output: Path, model: Path, overwrite: bool) -> None:
    """Refuse the model itself, and another file unless it may be replaced; ValueError says so."""
    if not output.exists():
        return
    if model.exists() and output.samefile(model):
        raise ValueError(f"--output: must be another file than {model}, got {output}")
    if not overwrite:
        raise ValueError(f"{output}: must not exist yet, got a file; replace it with --overwrite")


def _lines(result: WriteBack, output: Path) -> Iterator[str]:
    if not result.tensors:
        yield "nothing was trained: every tensor is as the file has it"
    for tensor in result.tensors:
        yield f"{tensor.name}: {_what(tensor)}"
    for node in result.requantized:
        yield f"{node}: rounded to the scales of the file, so not the bits that were trained"
    yield f"{result.bytes_changed:,} of {len(result.data):,} bytes changed; written {output}"


def _what(tensor: Written) -> str:
    if not tensor.size:
        return "another scale"
    scales = ", and other scales" if tensor.rescaled else ""
    return f"{tensor.codes:,} of {tensor.size:,} values changed{scales}"


def _facts(result: WriteBack, output: Path) -> dict[str, object]:
    return {
        "tensors": [tensor._asdict() for tensor in result.tensors],
        "requantized": result.requantized,
        "bytes_changed": result.bytes_changed,
        "bytes": len(result.data),
        "model": str(output),
    }
