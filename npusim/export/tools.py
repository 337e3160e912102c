"""Programs besides Python that building and measuring on the Cortex-M55 needs."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence

M55_TOOLS: Mapping[str, str] = {
    "make": "make",
    "gcc": "gcc libc6-dev",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
"""Program -> its packages on Debian and Ubuntu; gcc compiles QEMU's plugin for this computer."""


def require_tools(what: str, tools: Sequence[str]) -> None:
    """Refuse to begin what needs programs that are not installed.

    what     needs them, in front of the message
    tools    of M55_TOOLS
    raises   FileNotFoundError that names all that are missing, and their packages
    """
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        packages = " ".join(M55_TOOLS[tool] for tool in missing)
        raise FileNotFoundError(
            f"{what}: {', '.join(tools)} must be installed, got no {', '.join(missing)}; on "
            f"Debian and Ubuntu: apt-get install {packages}"
        )


def tool_version(tool: str) -> str:
    """The first line of what a tool says of itself."""
    return run([tool, "--version"]).split("\n")[0]


def run(command: Sequence[str], **options: object) -> str:
    """What a command prints.

    options   of subprocess.run, such as its folder
    raises    OSError with the end of what it said, where it fails
    """
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options
    )  # type: ignore[call-overload]
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())[-300:]
        raise OSError(f"{command[0]}: must end with status 0, got {done.returncode}: {said}")
    return str(done.stdout)
