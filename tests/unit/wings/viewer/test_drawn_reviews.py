"""Reviews on the page: each person's own, of drawn outputs only, and the others' words at the end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs import Make, result

from evenhand.analysis.reviews.reviewed import reviews_of
from evenhand.core.errors import UsageError
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.blind_verdicts import draw_reviews, keep_reviewed, review_draw


async def test_people_are_blind_to_each_other_until_they_are_through(make_run: Make):
    """A second person gets what is left and one in five again."""
    run = await make_run([result(i, output=f"answer {i}", input="what?") for i in range(30)])
    assert review_draw(run, "ann").items == []
    draw_reviews(run.path, {"size": 10})
    with RunFile.open(run.path) as drawn:
        items = review_draw(drawn, "ann").items
    assert len(items) == 10
    assert {(one.verdict, one.note, one.material) for one in items} == {(None, "", "what?")}
    for item in items[:5]:
        review = {"index": item.index, "verdict": "fail", "note": " rude ", "author": "ann"}
        keep_reviewed(run.path, review)
    with RunFile.open(run.path) as half:
        mine, others = review_draw(half, "ann"), review_draw(half, "bo")
    assert [one.note for one in mine.items] == ["rude"] * 5 + [""] * 5
    assert [one.index for one in others.items] == [items[0].index, *(i.index for i in items[5:])]
    assert {(one.verdict, one.note) for one in others.items} == {(None, "")}
    for number, item in enumerate(others.items):
        with RunFile.open(run.path) as before:
            assert review_draw(before, "bo").disputed == [], number
        keep_reviewed(run.path, {"index": item.index, "verdict": "pass", "author": "bo"})
    with RunFile.open(run.path) as after:
        (line,) = review_draw(after, "bo").disputed
        assert "ann fail rude · bo pass" in line
        keep_reviewed(run.path, {"index": items[0].index, "verdict": None, "author": "bo"})
    with RunFile.open(run.path) as last:
        assert not any(one.is_disputed for one in reviews_of(last))


@pytest.mark.parametrize(
    "request_",
    [
        {"index": 29, "verdict": "pass", "author": "ann"},
        {"index": "0", "verdict": "pass", "author": "ann"},
        {"index": True, "verdict": "pass", "author": "ann"},
        {"verdict": "pass", "author": "ann"},
        {"index": 0, "verdict": "yes", "author": "ann"},
        {"index": 0, "verdict": "fail", "note": 3, "author": "ann"},
        {"index": 0, "verdict": "fail", "note": "x" * 100_001, "author": "ann"},
        {"index": 0, "verdict": "fail", "author": ""},
    ],
    ids=str,
)
async def test_what_is_no_review_of_a_drawn_output_is_refused(make_run: Make, request_: Any):
    """With one message; nothing is kept."""
    run = await make_run([result(i, output="x") for i in range(30)])
    draw_reviews(run.path, {"size": 29})
    with RunFile.open(run.path) as drawn:
        places = review_draw(drawn, "ann").items
    if request_.get("index") == 29:  # the one that isn't drawn
        request_ = request_ | {"index": ({*range(30)} - {one.index for one in places}).pop()}
    with pytest.raises(UsageError):
        keep_reviewed(run.path, request_)
    with RunFile.open(run.path) as after:
        assert reviews_of(after) == []
    for size in (0, 2.0, True, "3", 100_000):
        with pytest.raises(UsageError):
            draw_reviews(run.path, {"size": size})
