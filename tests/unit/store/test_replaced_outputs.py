"""Labels of outputs that a resumed run replaced: taken back, and no others."""

from __future__ import annotations

from tests.runs import Make, result

from evenhand.store.home import left_beside, lock_of
from evenhand.store.journal import Journal
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import (
    add_metric_labels,
    add_pair_labels,
    standing_labels,
    standing_pair_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.replaced_outputs import (
    LabelledOutputs,
    labelled_outputs,
    take_back_replaced,
)
from evenhand.store.runfile import RunFile


async def test_what_was_said_of_a_replaced_output_is_taken_back(make_run: Make):
    """Of a metric, of a pair and of the trial; what was said of others, and notes, stay."""
    run = await make_run(
        [result(0, ok=None, output="old"), result(1, ok=None, output="same"), result(2)],
        planned=3,
        status="interrupted",
    )
    add_metric_labels(run.path, "ann", [(i, "kind", "pass") for i in range(3)])
    add_metric_labels(run.path, "bo", [(0, "kind", "fail")])
    add_pair_labels(run.path, "ann", [((0, 1), "best", "first"), ((1, 2), "best", "tie")])
    said = [(0, "score", 3), (0, "note", "odd"), (1, "score", 4)]
    append_labels(run.path, [NewLabel(*each, author="ann") for each in said])
    before = labelled_outputs(run.path)
    assert take_back_replaced(run.path, before) == 0
    journal = Journal.reopen(run.path)
    await journal.settle(result(0, output="new"))
    await journal.settle(result(1, output="same"))
    await journal.finish("finished")
    assert take_back_replaced(run.path, before) == 4
    with RunFile.open(run.path) as again:
        assert set(standing_labels(again.metric_labels())) == {(1, "kind"), (2, "kind")}
        assert set(standing_pair_labels(again.pair_labels())) == {((1, 2), "best")}
        last = {(one.index, one.field): one.value for one in again.labels() if not one.metric}
    assert last[0, "score"] is None
    assert (last[0, "note"], last[1, "score"]) == ("odd", 4)
    assert take_back_replaced(run.path, labelled_outputs(run.path)) == 0


async def test_what_a_killed_session_replaced_is_taken_back_by_the_next_one(make_run: Make):
    """And not once more by those after it: what people say of the new output stays."""
    run = await make_run(
        [result(0, ok=None, output="old"), result(1, ok=None, output="same")],
        planned=2,
        status="interrupted",
    )
    append_labels(run.path, [NewLabel(i, "score", 3, author="ann") for i in range(2)])
    assert LabelledOutputs(run.path).of_killed == 0
    journal = Journal.reopen(run.path)
    await journal.settle(result(0, output="new"))
    await journal.finish("interrupted")  # and no more: the process is killed before it looks again
    following = LabelledOutputs(run.path)
    assert following.of_killed == 1
    append_labels(run.path, [NewLabel(0, "score", 4, author="ann")])
    assert following.take_back() == 0
    assert left_beside(lock_of(run.path)) == []
    assert LabelledOutputs(run.path).of_killed == 0


async def test_a_run_without_labels_has_no_note_of_them(make_run: Make):
    """Nor one that can't be read."""
    run = await make_run([result(0, ok=None)], planned=1, status="interrupted")
    lock_of(run.path).with_suffix(".labelled").write_text("{")
    assert LabelledOutputs(run.path).of_killed == 0
    assert left_beside(lock_of(run.path)) == []
