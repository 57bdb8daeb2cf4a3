"""The same search for every method: as much of it for each, on data of its own, and what it chose."""

import json
from pathlib import Path

import numpy as np
import pytest

from leadax.experiments.results.rows import read_rows
from leadax.experiments.study import Options, carry_out
from leadax.experiments.study.contenders import (
    AS_GIVEN,
    CHOSEN,
    CONTENDERS,
    GIVEN,
    LAST_RESTART,
    MIRRORED,
    OWN,
    SCALE_FREE,
    candidates,
    taking_part,
)
from leadax.experiments.study.models import SYSTEMS, data_of
from leadax.experiments.targets import TARGETS, baselines
from leadax.experiments.targets.table1 import PAPER

RESULTS = Path(__file__).parent.parent.parent / "results"
OPTIONS = Options("hour", 1, 4_000, "paper")


def test_every_method_has_as_many_candidates():
    assert set(OWN) == {method for _, method in PAPER}
    for method in OWN:
        tried = candidates(method)
        assert tried[AS_GIVEN] == GIVEN[method]
        assert [one.last_restart for one in tried.values()] == [None, None, LAST_RESTART, LAST_RESTART]
        assert len({str(one) for one in tried.values()}) == len(tried)
    names = [run.name for run in baselines.runs(OPTIONS)]
    assert len(set(names)) == len(names) == 4 * len(OWN)


def test_validation_data_are_not_the_test_data():
    """Other initial states, from the same distribution, in the same environments."""
    for protocol in ("paper", "clean"):
        options = Options("hour", 1, 4_000, protocol)
        _, train, validation = baselines.searched_data(options)
        _, as_in_table1, test = data_of(options, "lotka-volterra")
        assert np.array_equal(train.states, as_in_table1.states)
        assert validation.environments == train.environments
        starts = [data.states[0, :, 0] for data in (train, validation, test)]
        assert len(np.unique(np.concatenate(starts), axis=0)) == sum(map(len, starts))
        assert np.all((starts[1] >= 1) & (starts[1] <= 2))


def test_a_candidate_is_trained_with_its_settings(tmp_path, cheap_data, cheap_nets):
    name = "one-per-env-3-"
    (run,) = (run for run in baselines.runs(Options("hour", 1, 2, "paper")) if run.name.startswith(name))
    outcome = carry_out([run], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    setting, contender = list(candidates("one-per-env").items())[3]
    about = {(row["method"], row["group"], row["setting"]) for row in outcome.rows}
    assert about == {("one-per-env", 3, setting)}
    config = json.loads((tmp_path / run.name / "config.json").read_text())
    assert config["learning_rate"] == contender.learning_rate == 3e-3
    assert config["weight_decay"] == contender.weight_decay == 1e-3
    assert config["sampling"]["decay"] ** 2 == pytest.approx(LAST_RESTART)
    assert {"learning_rate", "weight_decay", "last_restart"} <= set(run.settings)


def test_the_smallest_error_is_chosen():
    """The minimum in `paper`, the last in `clean`; each method for itself."""
    fields = {"system": "lotka-volterra", "m": 1, "n": 20, "steps": 1, "seed": 0, "seconds": 1.0}
    fields |= {"mse_train": 0.0, "std_over_trajectories": 1.0}
    errors = {"ft-rnn": [(0.5, 0.1), (0.3, 0.2)], "gbml": [(0.7, 0.6), (0.9, 0.4)]}
    rows = [
        fields
        | {"protocol": protocol, "method": method, "group": i, "setting": str(i), "mse_test": last, "mse_minimum": best}
        for protocol in ("paper", "clean")
        for method, both in errors.items()
        for i, (last, best) in enumerate(both)
    ]
    chosen = {(line["protocol"], line["method"]): line["setting"] for line in baselines.table(rows) if line["chosen"]}
    assert chosen == {
        ("paper", "ft-rnn"): "0",
        ("paper", "gbml"): "1",
        ("clean", "ft-rnn"): "1",
        ("clean", "gbml"): "0",
    }
    assert [cells[6] for cells in baselines.sheet(rows).cells] == ["yes", "", "", "yes", "", "yes", "yes", ""]


def test_what_was_chosen_is_the_best_of_the_search():
    """By the validation data alone; a method that is best as given has no tuned line."""
    lines = TARGETS["baselines"].table(read_rows(RESULTS / "baselines.csv"))
    best = {(line["method"], line["setting"]) for line in lines if line["chosen"] and line["protocol"] == "paper"}
    assert {method for method, _ in best} <= set(OWN)
    assert best - {(method, AS_GIVEN) for method in OWN} == {tuple(choice) for choice in CHOSEN}


def test_tuned_methods_take_part_where_they_were_tuned():
    mirrored = {f"{method} (mirrored)" for method in MIRRORED}
    tuned = set(CONTENDERS) - set(GIVEN) - set(SCALE_FREE) - mirrored
    # FT-NODE with few factors takes part anyway.
    assert tuned == {f"{choice.method} (tuned)" for choice in CHOSEN if choice.method != "ft-node"}
    assert candidates("ft-node")["rank 12"] == GIVEN["ft-node (rank 12)"]
    for system in SYSTEMS:
        also = {"lotka-volterra": tuned, "navier-stokes": set(SCALE_FREE), "gray-scott": mirrored}
        assert set(taking_part(system)) == set(GIVEN) | also[system]


def test_at_a_glance():
    """As given beside the best, which the protocol's own error decides."""
    about = {"system": "lotka-volterra", "method": "gbml", "m": 10, "n": 20, "protocol": "paper", "steps": 10}
    errors = {"mse_train": 0.0, "std_over_trajectories": 0.0, "seconds": 1.0, "environment": "e", "seed": 0}
    rows = [
        {**about, **errors, "group": i, "setting": setting, "mse_minimum": minimum, "mse_test": 1e-3 * (3 - i)}
        for i, (setting, minimum) in enumerate({AS_GIVEN: 2e-3, "other": 1e-3, "third": 4e-3}.items())
    ]
    assert [list(cells) for cells in baselines.glance(rows).cells] == [
        ["paper", "gbml", "2.00e-03", "1.00e-03", "other"]
    ]
    clean = [{**row, "protocol": "clean"} for row in rows]
    assert [list(cells) for cells in baselines.glance(clean).cells] == [
        ["clean", "gbml", "3.00e-03", "1.00e-03", "third"]
    ]
