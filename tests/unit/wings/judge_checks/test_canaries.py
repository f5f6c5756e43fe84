from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import Make, result

from evenhand.core.errors import UsageError
from evenhand.core.score import Outcome
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.canaries import (
    Canaries,
    Canary,
    fewer_canaries,
    kept_canaries,
    read_canaries,
    write_canaries,
)

JUDGED = Outcome("rubric", "pass", 1.0, metric="right", metadata={"judge": "j"})


async def labelled(make: Make, labels: dict[int, str], people: int = 1) -> RunFile:
    """A run with an output for each label; outputs of cases 0 and 1 are equal."""
    trials = [
        result(i, case=f"c{i}", output=f"answer {max(i, 1)}", outcomes=(JUDGED,))
        for i in range(max(labels) + 1)
    ]
    run = await make(trials)
    for person in range(people):
        add_metric_labels(run.path, f"p{person}", [(i, "right", v) for i, v in labels.items()])  # type: ignore[misc]
    return RunFile.open(run.path)


async def test_canaries_are_half_passes_and_half_fails_of_different_outputs(make_run: Make):
    """Where there are too few of one, there are more of the other, up to the number that is wanted."""
    with await labelled(make_run, {i: "pass" if i < 10 else "fail" for i in range(20)}) as run:
        for wanted, passes, fails in [(12, 6, 6), (19, 9, 10)]:
            canaries, (usable,) = kept_canaries(run, wanted)
            verdicts = [one.verdict for one in canaries.canaries]
            assert (verdicts.count("pass"), verdicts.count("fail")) == (passes, fails)
            assert len({one.output for one in canaries.canaries}) == wanted
            assert usable.words(wanted) == ""
    with await labelled(make_run, {i: "pass" if i < 17 else "fail" for i in range(20)}) as run:
        verdicts = [one.verdict for one in kept_canaries(run, 12)[0].canaries]
    assert (verdicts.count("pass"), verdicts.count("fail")) == (9, 3)


async def test_fewer_canaries_than_are_wanted_are_explained(make_run: Make):
    """How many labels there are, and why some of them are no canaries."""
    with await labelled(make_run, dict.fromkeys(range(5), "pass"), people=2) as run:
        add_metric_labels(run.path, "p1", [(4, "right", "fail")])
        with RunFile.open(run.path) as again:
            canaries, (usable,) = kept_canaries(again, 40)
    assert len(canaries.canaries) == 3
    assert usable.words(40) == (
        "right: 3 canaries instead of 40, of 5 labelled outputs; left out: 1 with the text of another one,"
        " 1 on which people are split"
    )


async def test_what_people_are_split_on_is_no_canary(make_run: Make):
    """Its verdict is not known."""
    with await labelled(make_run, {1: "pass", 2: "fail"}, people=2) as run:
        add_metric_labels(run.path, "p1", [(1, "right", "fail")])
        with RunFile.open(run.path) as again:
            canaries, _ = kept_canaries(again, 10)
    assert [(one.case, one.verdict) for one in canaries.canaries] == [("c2", "fail")]


async def test_a_file_with_more_canaries_is_known_before_it_is_written_over(
    make_run: Make, tmp_path: Path
):
    """Metric by metric; fewer that were asked for are no loss, and neither is a file that is none."""
    path = tmp_path / "canaries.json"
    with await labelled(make_run, {i: "pass" if i < 10 else "fail" for i in range(20)}) as run:
        many, _ = kept_canaries(run, 12)
    with await labelled(make_run, {5: "pass", 15: "fail"}) as run:
        few, _ = kept_canaries(run, 12)
    assert fewer_canaries(few, path, 12) == ""
    write_canaries(many, path)
    assert fewer_canaries(few, path, 12) == "12 of right, which would become 2"
    assert fewer_canaries(few, path, 2) == ""
    assert fewer_canaries(many, path, 40) == ""
    path.write_text("{")
    assert fewer_canaries(few, path, 12) == ""


async def test_without_labels_there_are_none(make_run: Make):
    """That is one message, and so is a metric that has none."""
    run = await make_run([result(0, outcomes=(JUDGED,))])
    with pytest.raises(UsageError, match="has no labels"):
        kept_canaries(run, 10)
    with await labelled(make_run, {0: "pass"}) as other, pytest.raises(UsageError):
        kept_canaries(other, 10, ("colour",))


async def test_a_file_of_canaries_is_read_as_it_was_written(make_run: Make, tmp_path: Path):
    """The digest is of the canaries alone, whenever and of whatever run they were made."""
    path = tmp_path / "canaries.json"
    with await labelled(make_run, {1: "pass", 2: "fail"}) as run:
        canaries, _ = kept_canaries(run, 4)
    write_canaries(canaries, path)
    assert read_canaries(path) == canaries
    path.write_text(path.read_text("utf-8").replace(canaries.run, "01KOTHER"), "utf-8")
    assert read_canaries(path).digest == canaries.digest
    path.write_text(path.read_text("utf-8").replace("answer 2", "answer 3"), "utf-8")
    assert read_canaries(path).digest != canaries.digest
    assert isinstance(canaries.canaries[0], Canary)


def test_a_few_of_many_are_half_passes_of_each_metric_and_always_the_same():
    """Or as many passes as there are fails to go with them."""
    canaries = Canaries(
        "evenhand.canaries/1",
        "01K",
        0.0,
        tuple(
            Canary(metric, f"c{i}", f"answer {i}", "pass" if i % 4 else "fail")
            for metric in ("right", "kind")
            for i in range(20)
        ),
    )
    for most in (0, 1, 6, 16, 100):
        few = canaries.at_most(most)
        assert few == canaries.at_most(most)
        for metric in ("right", "kind"):
            verdicts = [one.verdict for one in few.canaries if one.metric == metric]
            assert len(verdicts) == min(most, 20)
            assert verdicts.count("fail") in (min(5, most // 2), min(5, (most + 1) // 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "is not a file of canaries"),
        ('{"schema": "evenhand.canaries/2"}', "is not a file of canaries"),
        ("[]", "is not a file of canaries"),
        (
            '{"schema": "evenhand.canaries/1", "run": "", "made_at": 0, "canaries": [{"metric": 1}]}',
            "is not a file of canaries",
        ),
        (
            '{"schema": "evenhand.canaries/1", "run": "", "made_at": 0, "canaries": []}',
            "has no canaries in it",
        ),
    ],
)
def test_a_file_that_is_none_is_one_message(text: str, message: str, tmp_path: Path):
    """Whatever is in it."""
    path = tmp_path / "canaries.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_canaries(path)


def test_a_file_that_is_not_there_or_cannot_be_written_is_one_message(tmp_path: Path):
    """With what to do."""
    with pytest.raises(UsageError, match="doesn't exist") as error:
        read_canaries(tmp_path / "canaries.json")
    assert "--keep" in error.value.hint
    with pytest.raises(UsageError, match="cannot be read"):
        read_canaries(tmp_path)
