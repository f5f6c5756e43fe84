"""One pass over a run file for everybody: blocks as they come, and the search in their text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.errors import StoreError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.store.journal import Journal
from evenhand.wings.viewer.passes import Pass, RunPasses

VARIANTS = (Variant(0, "a", "m"), Variant(1, "b", "m"))


def blocks(made: Pass) -> list[dict]:
    """All blocks, read as they come."""
    data = b""
    while more := made.read(len(data)):
        data += more
    return [json.loads(line) for line in data.splitlines()]


async def test_the_last_take_of_a_trial_counts(make_run: Make) -> None:
    """An error that was tried again is shown as what came of it."""
    run = await make_run([result(0, ok=None), result(1)], status="interrupted")
    journal = Journal.reopen(run.path)
    await journal.settle(result(0, output="second"))
    await journal.finish("finished")
    made = Pass(run.path)
    (block,) = blocks(made)
    assert (block["index"], block["outcome"]) == ([0, 1], "pp")
    assert made.search("asked too often") == []
    assert made.search("SECOND") == [0]


@pytest.mark.parametrize(
    ("source", "places", "blind"),
    [
        ("refund(ed)? +money|policy of", [0, 1], [0, 1]),
        ("^policy", [1], [1]),
        (r"\brefund\b.*$", [0], [0]),
        ("asked (too)+ often", [3], []),
        ("refund[a-z]* the policy", [], []),
        ("grüß|Ω", [2], [2]),
        ("[0-9]{3}", [2], [2]),
    ],
)
async def test_an_expression_is_looked_for_in_each_field_of_each_trial(
    make_run: Make, source: str, places: list[int], blind: list[int]
) -> None:
    """Whether or not a fixed word of it can be looked for first; blind, not in reasons and errors."""
    run = await make_run(
        [
            result(0, output="They refund  money.", case="one"),
            result(
                1, output="Policy of the house: no refunded", vars={"topic": "money"}, case="two"
            ),
            result(2, output="GRÜẞE 123", case="three"),
            result(3, ok=None, case="four"),
        ]
    )
    made = Pass(run.path)
    assert made.search_pattern(source) == places
    assert made.search_pattern(source, blind=True) == blind


async def test_a_search_is_of_a_substring_in_one_field(make_run: Make) -> None:
    """Not across fields or trials, whatever the case and the script; half characters are text, too."""
    run = await make_run(
        [
            result(0, output="GRÜẞE an alle", case="one", input="What? \ud800"),
            result(1, output={"answer": "Ωmega"}, vars={"topic": "tides"}, case="two"),
            result(2, ok=None, case="three"),
        ]
    )
    made = Pass(run.path)
    assert made.search("grüß") == [0]
    assert made.search("what? \ud800") == [0]
    assert made.search("ωMEGA") == [1]
    assert made.search("Tides") == [1]
    assert made.search("asked TOO often") == [2]
    assert made.search("alle\x1f") == []
    assert made.search("e") == [0, 1, 2]
    assert made.search("") == []


async def test_every_hit_is_found_over_chunks(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is read a chunk at a time; a trial is never in two."""
    monkeypatch.setattr("evenhand.wings.viewer.passes.CHUNK", 64)
    run = await make_run([result(i, output=f"<{i}> needle needle") for i in range(50)])
    made = Pass(run.path)
    assert made.search("needle") == list(range(50))
    assert made.search("<7>") == [7]
    assert made.search("<49> needle") == [49]


def test_what_cannot_be_read_is_told_to_who_waits(tmp_path: Path) -> None:
    """The blocks and the search."""
    path = tmp_path / "x.db"
    path.write_bytes(b"no database" * 100)
    made = Pass(path)
    with pytest.raises(StoreError, match=r"x\.db"):
        made.read(0)
    with pytest.raises(StoreError, match=r"x\.db"):
        made.search("a")


async def test_a_pass_is_made_once_for_a_state_of_the_file(make_run: Make) -> None:
    """A reload costs nothing; a run that has grown is read anew; only so many are remembered."""
    run = await make_run([result(0)], planned=2, finish=False)
    passes = RunPasses(most=1)
    first = passes.of(run.path)
    assert passes.of(run.path) is first
    blocks(first)
    journal = Journal.reopen(run.path)
    await journal.settle(result(1))
    await journal.finish("finished")
    second = passes.of(run.path)
    assert len(blocks(second)[0]["index"]) == 2
    other = await make_run([result(0)])
    passes.of(other.path)
    assert passes.of(run.path) is not second
    passes.close()


@pytest.mark.parametrize("many", [True, False])
async def test_a_blind_search_ends_where_a_trial_is_told_of(make_run: Make, many: bool) -> None:
    """In what was asked and answered alone, whether hardly any trial has the text or nearly all have."""
    trials = [
        result(
            i,
            case=f"c{i}",
            output="an answer with needle" if i == 3 else "an answer",
            outcomes=(
                Outcome("o", "pass", 1.0, reason="needle" if many or i in (3, 5) else "fine"),
            ),
        )
        for i in range(40)
    ]
    made = Pass((await make_run(trials)).path)
    assert made.search("NEEDLE") == (list(range(40)) if many else [3, 5])
    assert made.search("needle", blind=True) == [3]
    assert made.search("answer", blind=True) == list(range(40))
    assert made.search("\x1d") == []
