"""People's codes as labels of `avoids` metrics: only of the same outputs, by the same rule, and all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.runs import Make, result
from tests.unit.wings.failures.test_counting import KIND, accepted, again

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes
from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.labelling import KindLabels, label_kinds, label_lines


def judged(kind: Kind, outputs: Sequence[str]) -> list[TrialResult]:
    """Trials whose judge was asked about a kind."""
    metadata = {"judge": "m", "kind": kind.name, "rule_id": kind.rule_id}
    return [
        result(
            i, output=output, outcomes=(Outcome("x", "pass", 1.0, metric="is late", metadata=metadata),)
        )
        for i, output in enumerate(outputs)
    ]  # fmt: skip


async def reviewed(make_run: Make) -> tuple[RunFile, Codebook]:
    """A run without judges of which twenty outputs are reviewed; the first ten outputs fail."""
    run = await make_run([result(i, ok=i >= 10, output=f"answer {i}") for i in range(40)])
    draw_outputs([run], 20, seed=1)
    failures: list[NoteId] = []
    for note in drawn_notes([again(run)]):
        keep_review(run.path, note.index, "bo", "fail" if note.index < 10 else "pass")
        failures += [note] if note.index < 10 else []
    return again(run), accepted(replace(KIND, notes=tuple(failures)))


async def test_codes_count_in_a_later_run_where_its_outputs_are_the_same(make_run: Make):
    """Twice is once; the strata come along, and an output that is another one has no label."""
    before, book = await reviewed(make_run)
    (kind,) = book.kinds
    outputs = [f"answer {i}" if i else "another" for i in range(40)]
    run = await make_run(judged(kind, outputs))
    drawn = {note.index for note in drawn_notes([before])}
    for _ in range(2):
        (labels,) = label_kinds(again(run), before, book)
        assert labels == KindLabels("is late", "late", len(drawn - {0}))
    after = again(run)
    (draw,) = after.draws()
    assert draw.metrics == ("is late",)
    assert set(draw.places) == drawn - {0}
    assert sum(stratum.drawn for stratum in draw.strata) == len(draw.places)
    assert draw.population == sum(len(stratum.places) for stratum in draw.strata) == 39
    labels_of = {
        i: label["Ada"].verdict for (i, _), label in standing_labels(after.metric_labels()).items()
    }
    assert labels_of == {i: "fail" if i < 10 else "pass" for i in drawn - {0}}
    assert len(after.metric_labels()) == len(labels_of)


async def test_what_isnt_coded_by_the_same_rule_labels_nothing(make_run: Make):
    """Failures that nobody has coded would make the labels no random draw."""
    before, book = await reviewed(make_run)
    (kind,) = book.kinds
    run = await make_run(judged(kind, [f"answer {i}" for i in range(40)]))
    for changed, problem in (
        (replace(kind, notes=kind.notes[1:]), "1 reviewed failure not coded yet"),
        (replace(kind, rule="Is late."), "isn't ratified as it is"),
        (accepted(replace(kind, rule="Is late.")).kinds[0], "the rule of late is another one now"),
        (replace(kind, name="rude"), "the file has no kind late"),
    ):
        results = label_kinds(again(run), before, Codebook((changed,)))
        assert problem in " ".join(label_lines(results))
    assert again(run).draws() == []
    with pytest.raises(UsageError, match="no metric of the type avoids"):
        label_kinds(before, before, book)
    other = await make_run(judged(kind, ["x"] * 40))
    with pytest.raises(UsageError, match="no reviewed output is in this run"):
        label_kinds(other, before, book)
