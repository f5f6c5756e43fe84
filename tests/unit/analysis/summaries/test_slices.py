"""Rates and scores by tag, drawn towards all tags: in the report, in the document, and where nothing can be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evenhand import EvalSet, Run, run
from evenhand.analysis.summaries import slices
from evenhand.analysis.summaries.clusters import clusters_among, rate_in
from evenhand.analysis.summaries.rates import Rate
from evenhand.analysis.summaries.slices import pooled_scores, pooled_slices
from evenhand.render.document import document
from evenhand.render.tag_tables import slice_lines
from evenhand.stats.tallies import Share, Tally

pytestmark = pytest.mark.usefixtures("home_of_its_own")


def tagged(passed: Mapping[str, Sequence[bool | None]]) -> Run:
    """A run whose cases have one tag each; None is an error."""
    rows = [
        {"id": f"{tag}{i}", "tags": [tag], "passes": one}
        for tag, ones in passed.items()
        for i, one in enumerate(ones)
    ]
    evals = EvalSet("tagged", data=rows)

    @evals.eval
    def answers(case, expect) -> None:
        if case.vars["passes"] is None:
            msg = "no answer"
            raise RuntimeError(msg)
        expect(case.vars["passes"], "is right")

    return run(evals)


def drawn(tags: Sequence[Mapping[str, Tally]], groups: Mapping[str, int]) -> list[Share]:
    """The rates of tags without a case in common."""
    rates = [
        Rate(
            variant=0, passed=0, trials=0, errors=0, cases=len(own),
            share=rate_in(own, groups), clusters=clusters_among(own, groups),
        )
        for own in tags
    ]  # fmt: skip
    return pooled_slices(rates, {c: t for own in tags for c, t in own.items()}, groups) or []


def column(tag: int, passed: int, of: int, times: int = 1) -> dict[str, Tally]:
    """Cases of a tag each of which passed always or never."""
    return {
        f"{tag} {i}": Tally(times, 0, 0) if i < passed else Tally(0, times, 0) for i in range(of)
    }


FOUR = {
    "card": [True] * 9 + [False],
    "fees": [True] * 8 + [False] * 2,
    "lost": [True] * 2 + [False] * 2,
    "post": [True] * 7 + [False] * 3,
}


def test_the_report_shows_what_a_tags_rate_is_drawn_to_beside_the_raw_rate() -> None:
    """And says what drawing means, where the column stands; a narrow window leaves it out."""
    with tagged(FOUR) as result:
        wide = " ".join(" ".join(slice_lines(result.file, [""], 100)).split())
        narrow = " ".join(" ".join(slice_lines(result.file, [""], 30)).split())
        (lost,) = slices.slices_by_tag(result.file)["lost"]
    assert lost.pooled is not None
    words = f"{100 * lost.pooled.least:.0f} %"
    assert 0.5 < lost.pooled.least < 0.75
    assert f"2/4 50 % [15–85] → {words}" in wide
    assert "→ drawn towards all tags" in wide
    assert "→" not in narrow
    for text in (wide, narrow):
        assert (
            "none differs by more than chance (corrected for their number: Benjamini–Hochberg)"
            in text
        )


def test_the_document_has_each_tags_rate_drawn_towards_all() -> None:
    """Beside the rate as it is."""
    with tagged(FOUR) as result:
        rows: list[dict[str, Any]] = document(result.file)["slices"]
    lost = next(row for row in rows if row["tag"] == "lost")
    assert lost["rate"] == 0.5
    assert lost["pooled"]["rate"] > 0.55
    assert lost["pooled"]["low"] < lost["pooled"]["rate"] < lost["pooled"]["high"]
    assert lost["pooled"]["high"] - lost["pooled"]["low"] < lost["high"] - lost["low"]
    assert lost["score"]["mean"] == 0.5
    assert lost["score"]["mean"] < lost["score"]["pooled"] < lost["score"]["high"] <= 1


@pytest.mark.parametrize(
    "passed",
    [
        {tag: FOUR[tag] for tag in ("card", "lost", "post")},
        {"card": FOUR["card"]},
        {"card": [None] * 3},
    ],
)
def test_of_fewer_than_four_tags_nothing_is_drawn(passed: dict[str, list[bool | None]]) -> None:
    """Their rates are as they are, and the document has null."""
    with tagged({**passed, "": []}) as result:
        assert all(row["pooled"] is row["score"] is None for row in document(result.file)["slices"])
        assert "→" not in " ".join(slice_lines(result.file, [""], 100))


def test_tags_of_one_case_and_tags_in_error_have_wide_intervals_and_no_score() -> None:
    """A tag of errors alone may have any rate; scores of 0 and 1 have a scale, so an error may be either."""
    with tagged({"a": [None] * 3, "b": [True], "c": [True], "d": [False]}) as result:
        rows = {row["tag"]: row for row in document(result.file)["slices"]}
    assert (rows["a"]["pooled"]["rate"], rows["a"]["pooled"]["rate_least"] < 0.5) == (None, True)
    assert rows["a"]["pooled"]["high"] - rows["a"]["pooled"]["low"] > 0.9
    assert rows["b"]["pooled"]["high"] - rows["b"]["pooled"]["low"] > 0.5


def test_where_all_trials_are_in_error_nothing_is_known() -> None:
    """From 0 to 1, and no score."""
    with tagged({tag: [None] * 3 for tag in "abcd"}) as result:
        rows = document(result.file)["slices"]
    for row in rows:
        assert (row["pooled"]["low"], row["pooled"]["high"], row["score"]) == (0.0, 1.0, None)


def test_repeats_that_agree_and_copies_say_no_more_than_one_case() -> None:
    """Five repeats of ten cases are ten cases; so are three cases of each of ten clusters that come out alike."""
    shape = [(3, 10), (6, 10), (8, 10), (9, 10)]
    once = drawn([column(t, *one) for t, one in enumerate(shape)], {})
    often = drawn([column(t, *one, 5) for t, one in enumerate(shape)], {})
    assert often == once
    tripled = [
        {f"{case} {j}": tally for case, tally in column(t, *one).items() for j in range(3)}
        for t, one in enumerate(shape)
    ]
    numbers = {case: i for i, case in enumerate(sorted({c[:-2] for own in tripled for c in own}))}
    groups = {case: numbers[case[:-2]] for own in tripled for case in own}
    for one, other in zip(once, drawn(tripled, groups), strict=True):
        assert other == pytest.approx(one)


def test_repeats_that_differ_say_more_than_one_case() -> None:
    """Cases that pass half of the time each: a mean of four trials is surer than that of one."""
    halves = [{f"{t} {i}": Tally(1 + i % 3, 3 - i % 3, 0) for i in range(12)} for t in range(5)]
    rough = [column(t, 6, 12) for t in range(5)]
    (one, *_), (other, *_) = drawn(halves, {}), drawn(rough, {})
    assert one.high - one.low < 0.8 * (other.high - other.low)


def test_scores_are_drawn_on_their_scale_and_errors_leave_them_open() -> None:
    """Without a scale, an error may have had any score: nothing is said."""
    tags = [[f"{t} {i}" for i in range(6)] for t in range(5)]
    sums = [(case, (float(1 + (i * 7 + t) % 5), 1, 0))
            for t, cases in enumerate(tags) for i, case in enumerate(cases)]  # fmt: skip
    plain = pooled_scores(tags, sums, {}, (1.0, 5.0))
    assert plain is not None
    broken = [*sums[:-1], (sums[-1][0], (0.0, 0, 1))]
    assert pooled_scores(tags, broken, {}, None) is None
    open_ = pooled_scores(tags, broken, {}, (1.0, 5.0))
    assert open_ is not None
    assert (plain[-1].mean, open_[-1].mean, open_[-1].pooled) == (pytest.approx(10 / 3), None, None)
    assert open_[-1].low < plain[-1].low
    assert 1 <= open_[-1].low < open_[-1].high <= 5
    alike = [(case, (2.0, 1, 0)) for case, _ in sums]
    assert pooled_scores(tags, alike, {}, (1.0, 5.0)) is None
    assert pooled_scores(tags[:3], sums, {}, (1.0, 5.0)) is None
