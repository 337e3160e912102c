"""What a figure must carry: commit, machine, versions and the command that printed it."""

import platform
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("numpy", "numba", "ai-edge-litert")


def provenance() -> dict:
    """Commit, processor, versions and command as plain values."""
    return {
        "commit": _commit(),
        "machine": _processor(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "command": shlex.join(["python", Path(sys.argv[0]).name, *map(_short, sys.argv[1:])]),
    }


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    return found.stdout.strip() or "unknown"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0]} x{len(models)}" if models else platform.processor()


def _short(argument: str) -> str:
    return Path(argument).name if "/" in argument else argument
