"""Which unit tests `just check` runs."""

from __future__ import annotations

from tests.changed import PACKAGE, ROOT, UNIT, unit_tests_of


def test_a_changed_module_is_tested_by_its_folder_and_by_who_names_it():
    """Folders once, and not also the files in them."""
    tests = unit_tests_of([PACKAGE / "store" / "journal.py"])
    assert UNIT / "store" in tests
    assert UNIT / "engine" / "test_runs_that_end_early.py" in tests
    assert UNIT / "store" / "test_journal.py" not in tests


def test_a_changed_test_is_run_and_one_that_is_gone_is_not():
    """And the rules of the house, whatever was changed."""
    files = [UNIT / "cli" / "test_help.py", UNIT / "cli" / "test_gone.py", ROOT / "README.md"]
    assert unit_tests_of(files) == {UNIT / "cli" / "test_help.py", UNIT / "test_house.py"}
    assert unit_tests_of([]) == set()
