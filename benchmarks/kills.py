"""Kill a training run with SIGKILL at random moments, resume it each time, and compare with one never killed.

    python benchmarks/kills.py [--kills 10] [--steps 600]

Both runs must end with the same bits. A checkpoint is written every 10 steps, so that many kills hit one half-written.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from leadax.arrays import read_arrays
from leadax.cli import run


def command(folder: Path, name: str, steps: int) -> list[str]:
    options = ["--steps", str(steps), "--checkpoint-every", "10", "--look-every", "50"]
    return [
        sys.executable,
        "-m",
        "leadax.cli",
        "train",
        str(folder / "train.npz"),
        "--out",
        str(folder / name),
        *options,
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        assert run(["simulate", "lotka-volterra", str(folder / "train.npz")]) == 0
        begin = time.perf_counter()
        subprocess.run(command(folder, "whole", options.steps), check=True, capture_output=True)
        whole = time.perf_counter() - begin
        print(f"never killed: {whole:.0f} s")
        kills = 0
        while kills < options.kills:
            process = subprocess.Popen(command(folder, "killed", options.steps), stderr=subprocess.DEVNULL)
            # The first checkpoint comes after the program is compiled: from then on, any moment.
            reached = _newest(folder / "killed")
            while process.poll() is None and _newest(folder / "killed") == reached:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.4))
            if process.poll() is not None:
                break
            process.kill()
            process.wait()
            kills += 1
            print(f"kill {kills} after step {_newest(folder / 'killed')}")
        subprocess.run(command(folder, "killed", options.steps), check=True, capture_output=True)
        first, second = (read_arrays(folder / name / "model.safetensors")[0] for name in ("whole", "killed"))
        same = all(np.array_equal(first[key], second[key]) for key in first) and set(first) == set(second)
        print(f"{kills} kills: parameters are {'bit-identical' if same else 'DIFFERENT'}")
        sys.exit(0 if same and kills == options.kills else 1)


def _newest(run_folder: Path) -> int:
    steps = [int(path.name.split("-")[1]) for path in (run_folder / "checkpoints").glob("step-*")]
    return max(steps, default=0)


if __name__ == "__main__":
    main()
