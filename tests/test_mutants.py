"""The list of breaks that `benchmarks/mutants.py` tries stays true as the code moves."""

from pathlib import Path

from benchmarks.mutant_list import MUTANTS

ROOT = Path(__file__).parents[1]


def test_every_break_stands_in_the_code_once():
    source = lambda mutant: (ROOT / "src" / "leadax" / mutant.file).read_text()
    assert [mutant for mutant in MUTANTS if source(mutant).count(mutant.old) != 1] == []
    assert [mutant for mutant in MUTANTS if mutant.old == mutant.new] == []
    assert len(MUTANTS) >= 40


def test_every_break_has_tests_to_notice_it():
    missing = [place for mutant in MUTANTS for place in mutant.tests.split() if not (ROOT / place).exists()]
    assert missing == []
