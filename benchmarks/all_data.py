"""How long it takes to simulate all data of the paper: four systems, four splits each.

python benchmarks/all_data.py [--protocol paper|clean] [--json]
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

from leadax.cli import run
from leadax.systems import SPLITS

SYSTEMS = ("linear", "lotka-volterra", "gray-scott", "navier-stokes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", default="paper", choices=("paper", "clean"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for system in SYSTEMS:
            begin = time.perf_counter()
            for split in SPLITS:
                out = Path(folder, f"{system}-{split}.nc")
                with contextlib.redirect_stdout(sys.stderr):
                    status = run(["simulate", system, str(out), "--protocol", options.protocol, "--split", split])
                assert status == 0
            seconds[system] = time.perf_counter() - begin
    seconds["total"] = sum(seconds.values())
    if options.json:
        print(json.dumps({"protocol": options.protocol, "seconds": seconds}, indent=2))
        return
    for name, taken in seconds.items():
        print(f"{name:15} {taken:7.1f} s")


if __name__ == "__main__":
    main()
