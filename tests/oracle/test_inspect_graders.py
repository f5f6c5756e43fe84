"""What `init --from inspect` writes for Inspect's scorers decides as they do."""

from __future__ import annotations

import random
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import evenhand

GRADERS = Path(evenhand.__file__).parent / "wings/interchange/inspect_logs/inspect_graders.py.txt"
WORDS = (
    "the", "a", "4", "4.0", "$1,000", "1000", "-7", "(42)", "42!", "1e3", "Paris", "paris", "New", "York", "New-York",
    "ANSWER:", "answer :", "b", "B.", "b)", "**4**", "four", "", ".", "\n", "x_y", "50%", "3.14.",
)  # fmt: skip
GROUPED = re.compile(r"\d\S* \S*\d")
"""Inspect takes "1 000" for one number; here, it is two words."""
SCORERS: dict[str, tuple[dict[str, Any], ...]] = {
    "includes": ({}, {"ignore_case": False}),
    "match": tuple(
        {"location": place, "ignore_case": case, "numeric": numeric}
        for place in ("begin", "end", "any", "exact")
        for case in (True, False)
        for numeric in (True, False)
    ),
    "pattern": (
        {"pattern": r"(\d+)"},
        {"pattern": r"(\w+) (\w+)", "match_all": True},
        {"pattern": "paris", "ignore_case": False},
    ),
    "answer": ({"pattern": "letter"}, {"pattern": "word"}, {"pattern": "line"}),
    "exact": ({},),
    "f1": ({}, {"stop_words": ["four", "b"]}),
}


@pytest.mark.thorough(after=20)
@pytest.mark.parametrize("name", SCORERS)
async def test_a_scorer_decides_as_inspect_does(name: str):
    """Over answers and targets made of numbers, words, articles, punctuation and marks."""
    from inspect_ai import scorer as theirs

    seed = random.randrange(10**6)
    draws = random.Random(seed)
    ours = runpy.run_path(str(GRADERS))[name]
    for options in SCORERS[name]:
        scorer = getattr(theirs, name)(**options)
        given = dict(options)
        third = [given.pop("pattern")] if "pattern" in given else []
        for _ in range(150):
            output = " ".join(draws.choices(WORDS, k=draws.randint(0, 5)))
            targets = [
                " ".join(draws.choices(WORDS, k=draws.randint(1, 2)))
                for _ in range(draws.randint(1, 2))
            ]
            if any(GROUPED.search(target) for target in targets):
                continue
            state = cast("Any", SimpleNamespace(output=SimpleNamespace(completion=output)))
            score = await scorer(state, theirs.Target(targets))
            value = score.value if name == "f1" else score.value == "C"
            told = (seed, output, targets, options)
            assert ours(output, targets, *third, **given) == value, told
