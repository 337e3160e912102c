"""What does `zo demo` find, over several seeds?

    python benchmarks/demo.py [--seeds 5]

Writes benchmarks/results/demo.json, and the first seed's picture to docs/demo.png.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from provenance import provenance

CLONE = Path(__file__).resolve().parents[1]
ZO = "import sys; from zo.cli import main; sys.exit(main(sys.argv[1:]))"


def demo(seed: int, folder: Path) -> list[dict]:
    """The rows of one run, in a process of its own."""
    arguments = ["demo", "--seed", str(seed), "--output", str(folder), "--json"]
    command = [sys.executable, "-c", ZO, *arguments]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(printed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seeds):
            runs[str(seed)] = demo(seed, Path(folder) / str(seed))
        shutil.copy(Path(folder) / "0" / "demo.png", CLONE / "docs" / "demo.png")
    result = {"runs": runs, **provenance()}
    output = CLONE / "benchmarks" / "results" / "demo.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n")
    print(output)


if __name__ == "__main__":
    main()
