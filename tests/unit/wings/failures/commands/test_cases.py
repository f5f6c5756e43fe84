"""Cases from reviewed failures: once each, with people's words and kinds, and read back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.runs import Make, result
from tests.unit.wings.failures.test_counting import KIND, accepted, again

from evenhand.analysis.reviews.reviewed import keep_review
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.writing import write_cases
from evenhand.languages.documents.failures_yml import Codebook, NoteId
from evenhand.wings.failures.commands.cases import cases_of


async def test_what_failed_becomes_a_case_with_its_kinds(make_run: Make, tmp_path: Path):
    """What passes is none; two failing outputs of a case are one, with the kinds of both."""
    run = await make_run(
        [
            result(i, case=f"c{i // 2}", output=f"{{{{ {i} }}}}", input="=x", metadata={"tags": ["a"]})
            for i in range(6)
        ]
    )  # fmt: skip
    with pytest.raises(UsageError, match="people found no failure"):
        cases_of([run], Codebook())
    for place, verdict in ((0, "fail"), (1, "fail"), (2, "pass"), (4, "fail")):
        keep_review(run.path, place, "ann", verdict, f"note {place}")
    notes = [NoteId(run.meta.id, place) for place in (0, 1)]
    book = accepted(replace(KIND, notes=(notes[0],)), replace(KIND, name="rude", notes=(notes[1],)))
    first, second = cases_of([again(run)], book)
    assert (first.id, first.input, first.tags) == ("c0", "=x", ("a", "late", "rude"))
    assert first.metadata == {
        "expectation": "note 0", "failed_output": "{{ 0 }}", "review": str(notes[0]),
    }  # fmt: skip
    assert (second.id, second.tags) == ("c2", ("a",))
    for name in ("cases.jsonl", "cases.csv", "cases.yaml"):
        write_cases([first, second], tmp_path / name)
        assert list(Dataset.read(tmp_path / name)) == [first, second]
