"""What a run's trials come to: counts, sums and tallies, worked out where the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import msgspec

from evenhand.core.encoding import decode
from evenhand.core.run import Totals
from evenhand.store.counted import Tally, TrialOutcome
from evenhand.store.encoding import read_result
from evenhand.store.opened import Opened, readable
from evenhand.store.sums import SUMMED, CaseSums, Sums

_TOTALS = """
    select count(*), count(*) filter (where outcome = 'pass'), count(*) filter (where outcome = 'fail'),
           count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'not_applicable'),
           sum(calls), sum(cached), case when count(*) = count(cost_usd) then sum(cost_usd) end,
           sum(tokens_in), sum(tokens_out)
"""


class _Text(msgspec.Struct):
    """As much of a result as it takes to look at the output."""

    variant: int
    output: object = None


_texts = msgspec.json.Decoder(_Text)


def _text(result: bytes) -> _Text:
    try:
        return _texts.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError):  # half a character in what a model said
        return msgspec.convert(decode(result), _Text)


class Counts(Opened):
    """A run file that counts its trials."""

    def settled(self) -> int:
        """How often a trial was settled, retakes counted: another number means other results."""
        with readable(self.path):
            return self._db.execute("select count(*) from trial").fetchone()[0]

    def totals(self) -> Totals:
        """Counts over the settled trials."""
        with readable(self.path):
            return _totals(self._db.execute(f"{_TOTALS} from {self._table()}").fetchone())

    def by_variant(self) -> list[Totals]:
        """Counts for each variant, in the order of `meta.variants`."""
        with readable(self.path):
            rows = {
                row[-1]: _totals(row[:-1])
                for row in self._db.execute(
                    f"{_TOTALS}, variant from {self._table()} group by variant"
                )
            }
        return [rows.get(variant.index, Totals()) for variant in self.meta.variants]

    def judge_calls(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: how often its trials asked a judge, replays included."""
        with readable(self.path):
            rows: dict[int, int] = dict(
                self._db.execute(
                    """
                    select variant, count(*) from call join trial on idx = call.trial and take = 0
                    where role = 'judge' group by variant
                    """
                )
            )
        return [rows.get(variant.index, 0) for variant in self.meta.variants]

    def word_sums(self) -> list[Sums]:
        """The same as `score_sums` for how many words outputs have that are texts. Reads every output."""
        found: dict[int, dict[str, tuple[int, int]]] = {}
        with readable(self.path):
            for case, result in self._db.execute(
                "select case_id, result from latest join result using (idx, take) order by idx"
            ):
                text = _text(result)
                if isinstance(text.output, str):
                    cases = found.setdefault(text.variant, {})
                    words, n = cases.get(case, (0, 0))
                    cases[case] = words + len(text.output.split()), n + 1
        return [list(found.get(variant.index, {}).values()) for variant in self.meta.variants]

    def outcomes(self) -> Iterator[TrialOutcome]:
        """What became of each settled trial, in the plan's order, without the rest of it."""
        before = ""
        with readable(self.path):
            for index, case, *rest in self._db.execute(
                f"select idx, case_id, variant, repeat, outcome, score from {self._table()} order by idx"  # noqa: S608 (one of two names)
            ):
                before = before if case == before else case  # one text for all trials of a case
                yield TrialOutcome(index, before, *rest)

    def tallies(self) -> Iterator[Tally]:
        """What the trials with a verdict came to, variant by variant, the cases in the plan's order."""
        return self.sums().tallies()

    def over_columns(self) -> list[tuple[int, int]]:
        """For each case with a verdict in whichever column: how many of its trials passed, and how many have one."""
        with readable(self.path):
            return self._db.execute(
                f"""
                select sum(outcome = 'pass'), count(*) from {self._table()}
                where outcome in ('pass', 'fail') group by case_id
                """  # noqa: S608 (one of two names)
            ).fetchall()

    def score_sums(self) -> list[Sums]:
        """For each variant, in the order of `meta.variants`, each case's sum of scores, and of how many trials."""
        sums = self.sums()
        return [sums.scores(variant.index) for variant in self.meta.variants]

    def latency_sums(self) -> list[Sums]:
        """The same for latencies, in seconds."""
        sums = self.sums()
        return [sums.latencies(variant.index) for variant in self.meta.variants]

    def sums(self) -> CaseSums:
        """What each case came to in each column. Read once, and anew when the run has grown."""
        with readable(self.path):
            (version,) = self._db.execute("pragma data_version").fetchone()
            if self._sums is None or self._sums[0] != (version, self.narrowed):
                rows = self._db.execute(
                    f"select {SUMMED} from {self._table()} order by idx"  # noqa: S608 (fixed names)
                )
                self._sums = (version, self.narrowed), CaseSums(rows)
        return self._sums[1]

    def unasked(self) -> list[int]:
        """For each variant, in the order of `meta.variants`: of how many trials nothing was expected."""
        found = [0] * len(self.meta.variants)
        with readable(self.path):
            for (result,) in self._db.execute(
                """
                select result from latest join result using (idx, take)
                where outcome in ('pass', 'not_applicable') and score is null
                """
            ):
                trial = read_result(result)
                found[trial.variant] += not trial.outcomes
        return found


def _totals(row: tuple[object, ...]) -> Totals:
    trials, passed, failed, errors, na, calls, cached, cost, tokens_in, tokens_out = cast(
        "tuple[int, ...]", row
    )
    return Totals(
        trials,
        passed or 0,
        failed or 0,
        errors or 0,
        na or 0,
        calls or 0,
        cached or 0,
        cost if trials else 0.0,
        tokens_in or 0,
        tokens_out or 0,
    )
