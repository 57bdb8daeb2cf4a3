"""A minute of use in an environment where Leadax was just installed: learn, forecast, save, load; what extras add.

    python tools/smoke.py

Prints the versions that it ran with. It must not find the sources: it runs with the folder of the script only.
"""

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import jax.random as jr
import numpy as np

import leadax as lx

there = lambda name: importlib.util.find_spec(name) is not None


def main() -> None:
    """Use it."""
    assert "site-packages" in str(lx.__file__), f"{lx.__file__} is not what was installed"
    assert (Path(str(lx.__file__)).parent / "py.typed").exists()
    times = np.linspace(0, 2, 6)
    states = np.stack([np.exp(-rate * times) for rate in (0.5, 1.0)])[:, None, :, None]
    data = lx.Trajectories.from_arrays(times, states, channels=["amount"])
    model = lx.fit(lx.Leads(net=lx.Linear), data, steps=5, key=jr.key(0))
    assert np.isfinite(lx.evaluate(model, data).nmse)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.safetensors")
        assert lx.Model.load(f"{folder}/model.safetensors").environments == data.environments
        kinds = ["npz", *(["nc", "zarr", "parquet", "csv"] if there("xarray") and there("pyarrow") else [])]
        for kind in kinds:
            data.save(f"{folder}/data.{kind}")
            assert lx.load(f"{folder}/data.{kind}") == data
        tried = [*kinds, *_extras(model, data, folder)]
        command = [sys.executable, "-m", "leadax.cli", "evaluate", f"{folder}/model.safetensors", f"{folder}/data.npz"]
        subprocess.run(command, check=True, capture_output=True)
    versions = {name: importlib.metadata.version(name) for name in ("leadax", "jax", "jaxlib", "numpy", "equinox")}
    print(*(f"{name} {version}" for name, version in versions.items()), "with", ", ".join(tried))


def _extras(model: lx.Model, data: lx.Trajectories, folder: str) -> list[str]:
    """What each extra adds, where it is installed."""
    tried = []
    if there("matplotlib"):
        from leadax.report import data_page

        assert data_page(data, "smoke")
        tried.append("plot")
    if there("pysindy"):
        assert "sindy" in lx.yardsticks(data, data)
        tried.append("sindy")
    if there("flatbuffers"):
        assert lx.export_forecast(model, [0.0, 1.0]).serialize()
        tried.append("export")
    if there("tensorboardX"):
        with lx.tensorboard(f"{folder}/logs") as listen:
            lx.fit(lx.Leads(net=lx.Linear), data, steps=2, monitor=lx.Monitor(listen=listen), key=jr.key(0))
        tried.append("tensorboard")
    if there("distributed"):
        import distributed  # noqa: F401

        tried.append("distributed")
    return tried


if __name__ == "__main__":
    main()
