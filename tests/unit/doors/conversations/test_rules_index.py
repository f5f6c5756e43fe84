"""The index of the rules of simulated users: which mistakes each rule finds, and where it is."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evenhand.doors.conversations.checking import RULES
from evenhand.doors.conversations.fault import FAULTS, Fault
from evenhand.doors.conversations.rules import course
from evenhand.doors.conversations.rules.moment import Moment

Rule = Callable[[Moment], Iterator[Fault]]
WITHOUT_RULE = {"too-long", "judged"}  # found by a length, and by a judge


@pytest.mark.parametrize("rule", RULES)
def test_the_index_names_the_mistakes_that_a_rule_finds(rule: Rule):
    """The index names the mistakes that a rule finds, and the rule is called as its file is."""
    source = Path(inspect.getfile(rule)).read_text("utf-8")
    assert set(re.findall(r'Fault\(\s*"([a-z-]+)"', source)) == set(RULES[rule])
    assert rule.__name__ == f"of_{Path(inspect.getfile(rule)).stem}"


def test_every_mistake_is_found_by_one_rule():
    """Every mistake is found by one rule, but for those that a length or a judge finds."""
    assert sorted(kind for kinds in RULES.values() for kind in kinds) == sorted(
        FAULTS.keys() - WITHOUT_RULE
    )


def test_every_file_with_a_rule_is_in_the_index():
    """Every file with a rule is in the index."""
    folder = Path(inspect.getfile(course)).parent
    files = {path for path in folder.glob("*.py") if "\ndef of_" in path.read_text("utf-8")}
    assert files == {Path(inspect.getfile(rule)) for rule in RULES}
