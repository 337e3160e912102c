"""A model as a folder of C: sources, kernels, a program around them, a README."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import Session, __version__
from ..c_syntax import remark
from ..engine import as_codes
from ..graph import Graph
from ..sources import c_sources
from .folder import write_folder
from .header import model_header
from .kernels import declaring, needed
from .model import Model, model_of
from .program import main_source, self_test_header
from .readme import readme
from .source import model_source
from .targets import TARGETS, main_template, target_files
from .weights import weights_header, weights_source

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Project:
    """An exported model.

    files   path in the folder -> text
    """

    model: Model
    files: Mapping[str, str]

    def write(self, folder: Path) -> None:
        """Write the files; ValueError when the folder holds anything."""
        write_folder(folder, self.files)


def export_c(graph: Graph, name: str, inputs: Arrays, target: str = "host") -> Project:
    """A graph as a C program for a target.

    name     in front of all names that other files see: a C identifier
    inputs   of the self-test, by name, as `Session.run` takes them
    target   one of TARGETS
    raises   ModelError for a node whose arithmetic has no twin in C, KeyError, ValueError
    """
    session = Session(graph)
    model = model_of(session.graph, name)
    results = session.run(inputs)
    outputs = results if isinstance(results, dict) else {_only_output(session.graph): results}
    encoded = {name: as_codes(values, session.graph.tensor(name), graph.profile)
               for name, values in inputs.items()}  # fmt: skip
    files = {
        "README.md": readme(model, TARGETS[target], graph),
        **model_files(model, graph),
        "self_test.h": self_test_header(model, encoded, outputs),
        **target_files(target),
    }
    if TARGETS[target].program:
        files["main.c"] = main_source(model, main_template())
    return Project(model, files)


def model_files(model: Model, source: Graph) -> dict[str, str]:
    """The model and its kernels, without a program.

    source   the graph before a session settled it
    """
    functions = {step.call.function for step in model.steps if step.call is not None}
    headers = declaring(functions, c_sources())
    file = remark(source.provenance.get("file", source.name))
    origin = f"{model.prefix}: {file} as C, made by npusim {__version__}."
    return {
        f"{model.prefix}.h": model_header(model, origin),
        f"{model.prefix}.c": model_source(model, headers),
        f"{model.prefix}_weights.h": weights_header(model),
        f"{model.prefix}_weights.c": weights_source(model),
        **{f"kernels/{path.name}": path.read_text("utf-8")
           for path in needed(headers, c_sources())},
    }  # fmt: skip


def _only_output(graph: Graph) -> str:
    return graph.tensors[graph.outputs[0]].name
