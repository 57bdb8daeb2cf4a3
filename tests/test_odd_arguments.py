"""Odd arguments of public functions: those that need no model. The others: `python -m benchmarks.hostile`."""

import jaxtyping
import pytest
from benchmarks.hostile.cases import NOTICED, Case, judged
from benchmarks.hostile.odd_arguments import FUNCTIONS
from benchmarks.hostile.odd_uses import USES

# What is refused at once, before a model is needed.
QUICK = ("load", "Model.load", "from_arrays", "hold_out", "folds", "Recipe", "Leads", "export_field", "yardsticks",
         "simulate", "Clock", "Latent", "Omega", "SpectralNorm", "ScheduledSampling", "Coda",
         "FtNode", "FtRnn", "Maml")  # fmt: skip
BOTH = {**FUNCTIONS, **USES}


@pytest.mark.parametrize("name", QUICK)
def test_odd_arguments_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # users have no types checked for them
    function, arguments = BOTH[name]
    for argument, values in arguments.items():
        for value in values:
            ended, details = judged(Case("", lambda given={argument: value}: function(**given)))
            assert ended == NOTICED, f"{name}({argument}={value!r:.80}): {ended}: {details}"
