"""Two versions of every integer function: NumPy, which is the specification, and numba.

A function marked `twin` has a body in NumPy and a namesake in `zo.kernels` with the same arguments
and the same bits. The namesake runs; NPUSIM_ISA=numpy runs the body, and then numba is never
imported.
"""

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def twin(specification: Function) -> Function:
    """Run the function of this name in `zo.kernels.<module>`, or the body under NPUSIM_ISA=numpy.

    Arguments are passed as they are: the caller has checked types, shapes and ranges.
    `specification.__wrapped__` is the body.
    """
    module = specification.__module__.rpartition(".")[2]
    name = specification.__name__
    compiled: list[Callable[..., Any]] = []

    @wraps(specification)
    def run(*arguments: Any) -> Any:
        if os.environ.get("NPUSIM_ISA") == "numpy":
            return specification(*arguments)
        if not compiled:
            compiled.append(getattr(import_module(f"zo.kernels.{module}"), name))
        return compiled[0](*arguments)

    return run  # type: ignore[return-value]
