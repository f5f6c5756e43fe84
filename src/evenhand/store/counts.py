"""What a run's trials come to: counts, sums and tallies, worked out where the rows are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

from msgspec.structs import replace

from evenhand.core.encoding import decode
from evenhand.core.run import Totals, full_cost
from evenhand.core.score import Scale
from evenhand.stats.tallies import Tally, tally_of
from evenhand.store.counted import CaseTally, TrialOutcome
from evenhand.store.decoding import read_costed, read_output, read_result
from evenhand.store.detail import DETAILS, WHOLE, whole
from evenhand.store.opened import ReadsRun, readable
from evenhand.store.sums import SUMMED, CaseSum, CaseSums

_TOTALS = """
    select count(*), count(*) filter (where outcome = 'pass'), count(*) filter (where outcome = 'fail'),
           count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'not_applicable'),
           sum(calls), sum(cached), case when count(*) = count(cost_usd) then sum(cost_usd) end,
           sum(tokens_in), sum(tokens_out)
"""

OUTCOME = "idx, case_id, variant, repeat, outcome, score"
"""The columns of a TrialOutcome."""

_MARKS = ("refused", "left_out")
"""What an answer can be marked with, as `AnswerDetails` calls it."""

_AT_ONCE = 1 << 20
"""Characters in which words are counted at once."""


class Counts(ReadsRun):
    """Counts the trials of an open run file."""

    _sums: tuple[int, CaseSums] | None = None
    _totals: tuple[int, Totals] | None = None
    _by_variant: tuple[int, list[Totals]] | None = None
    _marks: tuple[int, dict[str, list[int]]] | None = None

    def settled(self) -> int:
        """How often a trial was settled, retakes counted: another number means other results."""
        with readable(self._run.path):
            return self._run.db.execute("select count(*) from trial").fetchone()[0]

    def growth(self) -> int:
        """A number that grows with every trial that is settled, with every label and remark, and when the run ends."""
        settled = self.settled()
        with readable(self._run.path):
            (meta,) = self._run.db.execute("select meta from run").fetchone()
            labels = remarks = 0
            if self._run.has_table("remark"):
                (remarks,) = self._run.db.execute(
                    "select coalesce(max(seq), 0) from remark"
                ).fetchone()
            if self._run.has_table("label"):
                (labels,) = self._run.db.execute(
                    "select coalesce(max(seq), 0) from label"
                ).fetchone()
        # Two a trial: a run that goes on takes back the one for its end, and is further with its next trial.
        return 2 * (settled + labels + remarks) + (b'"status":"running"' not in meta)

    def totals(self) -> Totals:
        """Counts over the settled trials."""
        totals = self._of_all()
        return totals if self._run.meta.knows_all_calls else replace(totals, cost_usd=None)

    def _of_all(self) -> Totals:
        """Counts over the settled trials and their recorded calls. Counted once, and anew when the run has grown."""
        with readable(self._run.path):
            version = self._version()
            if self._totals is None or self._totals[0] != version:
                row = self._run.db.execute(f"{_TOTALS} from {self._run.table()}").fetchone()
                self._totals = version, _totals(row)
        return self._totals[1]

    def by_variant(self) -> list[Totals]:
        """Counts for each variant, in the order of `meta.variants`. Counted once, and anew when the run has grown."""
        if len(self._run.meta.variants) == 1:
            return [self._of_all()]  # SQLite would sort all trials first
        with readable(self._run.path):
            version = self._version()
            if self._by_variant is None or self._by_variant[0] != version:
                rows = {
                    row[-1]: _totals(row[:-1])
                    for row in self._run.db.execute(
                        f"{_TOTALS}, variant from {self._run.table()} group by variant"
                    )
                }
                totals = [rows.get(variant.index, Totals()) for variant in self._run.meta.variants]
                self._by_variant = version, totals
        return [*self._by_variant[1]]

    def _version(self) -> int:
        """A number that changes with every commit of another connection."""
        return self._run.db.execute("pragma data_version").fetchone()[0]

    def full_costs(self) -> list[float | None]:
        """For each variant, in the order of `meta.variants`: what its calls cost, whoever paid for them.

        None where that is not known for some trial.
        """
        totals = self.by_variant()
        if not self._run.meta.is_of_gate and not any(of.cached for of in totals):
            return [of.cost_usd for of in totals]
        costs: list[list[float | None]] = [[] for _ in totals]
        with readable(self._run.path):
            for variant, cost_usd, cached, detail in self._run.db.execute(self._run.query(DETAILS)):
                if detail is None:
                    raise ValueError("the result of a trial is missing")
                trial = read_costed(detail)
                trial.cost_usd, trial.cached = cost_usd, cached
                costs[variant].append(full_cost(trial))
            return [
                None if None in each else math.fsum(cast("list[float]", each)) for each in costs
            ]

    def judge_calls(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: how often a judge answered, replays included."""
        with readable(self._run.path):
            rows: dict[int, int] = dict(
                self._run.db.execute(
                    """
                    select variant, count(*) from call join trial on idx = call.trial and take = 0
                    join reply on reply.call = call.id
                    where role = 'judge' and error = '' group by variant
                    """
                )
            )
        return [rows.get(variant.index, 0) for variant in self._run.meta.variants]

    def asks_judges(self) -> bool:
        """Whether some trial asked a judge, which need not have answered."""
        with readable(self._run.path):
            row = self._run.db.execute("select 1 from call where role = 'judge' limit 1").fetchone()
        return row is not None

    def word_sums(self) -> list[list[CaseSum]]:
        """For each variant, in the order of `meta.variants`, how many words the outputs of a case have that are texts.

        Reads every output.
        """
        sums: dict[int, dict[str, tuple[int, int]]] = {}
        with readable(self._run.path):
            for variant, _, _, detail in self._run.db.execute(
                self._run.query(DETAILS) + " order by t.idx"
            ):
                if detail is None:
                    raise ValueError("the result of a trial is missing")
                text = read_output(detail)
                if isinstance(text.output, str):
                    cases = sums.setdefault(variant, {})
                    words, n = cases.get(text.case, (0, 0))
                    cases[text.case] = words + _word_count(text.output), n + 1
        return [
            [(words, n, 0) for words, n in sums.get(variant.index, {}).values()]
            for variant in self._run.meta.variants
        ]

    def outcomes(self, *, but: str = "") -> Iterator[TrialOutcome]:
        """What became of each settled trial, in the plan's order, without the rest of it.

        Args:
            but: An outcome; trials that came to it are left out.
        """
        before = ""
        with readable(self._run.path):
            for index, case, *rest in self._run.db.execute(
                f"select {OUTCOME} from {self._run.table()} where outcome != ? order by idx",  # noqa: S608 (fixed names)
                (but,),
            ):
                before = before if case == before else case  # one text for all trials of a case
                yield TrialOutcome(index, before, *rest)

    def tallies(self) -> Iterator[CaseTally]:
        """What each case came to, variant by variant, the cases in the plan's order."""
        return self.sums().tallies()

    def over_columns(self) -> list[Tally]:
        """For each case, what its trials came to in all columns together."""
        with readable(self._run.path):
            return [
                tally_of(*counts)
                for counts in self._run.db.execute(
                    f"""
                    select sum(outcome = 'pass'), sum(outcome = 'fail'), sum(outcome = 'error')
                    from {self._run.table()}
                    where outcome in ('pass', 'fail', 'error') group by case_id
                    """  # noqa: S608 (one of two names)
                )
            ]

    def scales(self) -> dict[tuple[int, str], Scale]:
        """By variant and metric the lowest and the highest number there can be, as far as scorers said so.

        The metric of trials' own scores is empty.
        """
        with readable(self._run.path):
            if not self._run.has_table("scale"):
                return {}  # of an earlier version
            return {
                (variant, cast("str | None", decode(metric)) or ""): (low, high)
                for variant, metric, low, high in self._run.db.execute(
                    "select variant, metric, low, high from scale"
                )
            }

    def sums(self) -> CaseSums:
        """What each case came to in each column. Read once, and anew when the run has grown."""
        with readable(self._run.path):
            version = self._version()
            if self._sums is None or self._sums[0] != version:
                rows = self._run.db.execute(
                    f"select {SUMMED} from {self._run.table()} order by idx"  # noqa: S608 (fixed names)
                )
                room = min(self._run.meta.case_count, self.settled())
                self._sums = version, CaseSums(rows, room)
        return self._sums[1]

    def unasked(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: of how many trials nothing was expected."""
        numbers = [0] * len(self._run.meta.variants)
        with readable(self._run.path):
            for row in self._run.db.execute(
                self._run.query(WHOLE)
                + " where t.outcome in ('pass', 'not_applicable') and t.score is null"
            ):
                trial = read_result(whole(row))
                numbers[trial.variant] += not trial.outcomes
        return numbers

    def refused(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: how many trials' answers are marked as refused."""
        return self._answer_marks()["refused"]

    def without_thoughts(self) -> list[int]:
        """For each variant: of how many trials' answers thoughts in the text were left out."""
        return self._answer_marks()["left_out"]

    def _answer_marks(self) -> dict[str, list[int]]:
        """For each mark in `AnswerDetails`, and each variant: how many trials have it. Read once, as `by_variant`."""
        with readable(self._run.path):
            version = self._version()
            if self._marks is None or self._marks[0] != version:
                self._marks = version, self._marks_of_answers()
        return self._marks[1]

    def _marks_of_answers(self) -> dict[str, list[int]]:
        counts = {mark: [0] * len(self._run.meta.variants) for mark in _MARKS}
        if not self._run.has_table("detail"):
            return counts
        # Looking for the bytes first is many times faster than reading every document.
        for variant, *numbers in self._run.db.execute(
            f"""
            select t.variant, total(json_extract(cast(detail as text), '$.answer.refused')),
                   total(json_extract(cast(detail as text), '$.answer.left_out'))
            from {self._run.table()} t join detail d on d.idx = t.idx and d.take = t.take
            where instr(detail, cast('"refused":true' as blob)) or instr(detail, cast('"left_out":true' as blob))
            group by t.variant
            """  # noqa: S608 (one of two names)
        ):
            for each, number in zip(counts.values(), numbers, strict=True):
                each[variant] = int(number)
        return counts


def _totals(row: tuple[object, ...]) -> Totals:
    trials, passed, failed, errors, na, calls, cached, cost, tokens_in, tokens_out = cast(
        "tuple[int, ...]", row
    )
    return Totals(
        trials=trials,
        # SQL's sum over no rows is null.
        passed=passed or 0,
        failed=failed or 0,
        errors=errors or 0,
        not_applicable=na or 0,
        calls=calls or 0,
        cached=cached or 0,
        cost_usd=cost if trials else 0.0,
        tokens_in=tokens_in or 0,
        tokens_out=tokens_out or 0,
    )


def _word_count(text: str) -> int:
    """How many words a text has. A list of those of a very long one would take twenty times its memory."""
    count = 0
    for at in range(0, len(text), _AT_ONCE):
        piece = text[at : at + _AT_ONCE]
        count += len(piece.split())
        if at and not piece[0].isspace() and not text[at - 1].isspace():
            count -= 1  # it goes on with the last word of the piece before
    return count
