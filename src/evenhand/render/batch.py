"""What `score_batch` returns: metrics summed up, the worst cases, those that missed a bound, and slices by tag."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.analysis.summaries.frames import Table
from evenhand.analysis.summaries.metrics import (
    OVERALL,
    SUMMARIES,
    Summary,
    summaries_by_tag,
    summaries_of,
    summary_rows,
)
from evenhand.core.document import as_object
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import (
    calls_of,
    clip,
    count,
    counting,
    number,
    safe,
    seconds,
    spent,
    unlike_whole,
)
from evenhand.render.run import Run, trial_rows

_HEADS = ("metric", "n", "mean", "95 %", "sd", "min", "max", "n/a", "errors", "failed")


class ReportedCase(Record, frozen=True, kw_only=True):
    """One case of a report.

    Attributes:
        case: Its id.
        overall: The weighted mean of what applied; None where nothing did, or something is in error.
        scores: Each metric's number; None where it did not apply or is in error.
        reasons: Why, by metric, where there is something to say.
        outcome: pass, fail, error or not_applicable.
    """

    case: str
    overall: float | None
    scores: dict[str, float | None]
    reasons: dict[str, str]
    outcome: str
    answer: Any
    description: str


class BatchReport(Run):
    """A run of `score_batch`: printed, it is its metrics; it has `rows()`, `trials()` and `totals()` as any run."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """What was measured, in the order in which it was asked for."""
        return tuple(one["name"] for one in self.meta.config.get("metrics", ()))

    def summary(self) -> list[Summary]:
        """Each metric over all cases, and `overall` at the end."""
        return summaries_of(self.file)

    def by_tag(self) -> dict[str, list[Summary]]:
        """Each metric over the cases of each tag. A case with several tags counts under each; one without, under ''.

        Empty where no case has a tag.
        """
        return summaries_by_tag(self.file)

    def worst(self, n: int = 5, metric: str = OVERALL) -> list[ReportedCase]:
        """The cases with the worst numbers, the worst first. Cases without a number are not among them.

        Raises:
            UsageError: Nothing of this name was measured.
        """
        if isinstance(n, str):  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
            raise UsageError(f"worst: n is {n!r}, not a number", hint=f"Write worst(metric={n!r}).")
        value, sign = self._number(metric)
        numbered = ((value(trial), trial) for trial in self.trials())
        scored = (
            (sign * number_, trial.index, trial)
            for number_, trial in numbered
            if number_ is not None
        )
        # Trials themselves have no order: between equal numbers, the place in the plan decides.
        return [_case(trial) for _, _, trial in heapq.nsmallest(n, scored, key=lambda t: t[:2])]

    def failures(self, below: float | None = None, metric: str = OVERALL) -> list[ReportedCase]:
        """The cases that missed a bound; with `below`, those whose number is below it, in the order of the dataset.

        Where less is better, those whose number is above it.

        Raises:
            UsageError: Nothing of this name was measured.
        """
        if below is None:
            return [_case(trial) for trial in self.trials() if trial.outcome == "fail"]
        if isinstance(below, str):  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
            hint = f"Write failures(below=0.5, metric={below!r})."
            raise UsageError(f"failures: below is {below!r}, not a number", hint=hint)
        value, sign = self._number(metric)
        return [
            _case(trial)
            for trial in self.trials()
            if (number_ := value(trial)) is not None and sign * number_ < sign * below
        ]

    def errors(self) -> dict[str, str]:
        """The cases in error, by id: what went wrong. They are in no mean; `resume=True` tries them again."""
        return {
            trial.case: trial.error.message if trial.error else trial.reason
            for trial in self.trials()
            if trial.outcome == "error"
        }

    def rows(self) -> list[dict[str, Any]]:
        """As `Run.rows`. Every metric has a column, also one that came to no number in any case."""
        return trial_rows(self.trials(), self.meta.variants, self.metrics)

    def summary_rows(self) -> list[dict[str, Any]]:
        """A flat dict for each metric, and for each of each tag; `tag` is None over all cases."""
        return [as_object(row) for row in summary_rows(self.file)]

    def _tables(self) -> Mapping[str, Table]:
        return {**super()._tables(), "summary": Table(self.summary_rows, SUMMARIES)}

    def write(self, path: str | Path) -> Path:
        """Writes it to a file, in the format that its ending says.

        `.md` has the metrics, slices and worst cases; `.csv`, `.jsonl`, `.json` and `.xml` have what `evenhand export`
        writes, case by case.

        Raises:
            UsageError: The ending says no format, or there is no such folder.
        """
        from evenhand.render.export import export  # noqa: PLC0415 (when something is written)
        from evenhand.store.replacing import written_to  # noqa: PLC0415 (as above)

        to = Path(path)
        if to.suffix != ".md":
            export(self.file, to)
        elif not to.parent.is_dir() or to.is_dir():
            raise UsageError(f"{to} is a folder, or its folder is not there")
        else:
            with written_to(to) as file:
                file.write_text(self.markdown(), "utf-8")
        return to

    def markdown(self) -> str:
        """The metrics, the slices and the worst cases, for a pull request."""
        from evenhand.render.markdown import code, row  # noqa: PLC0415 (when it is asked for)

        def table(summaries: Sequence[Summary]) -> Iterator[str]:
            yield row(_HEADS)
            yield row(["---"] + ["---:"] * (len(_HEADS) - 1))
            for one in summaries:
                name, *cells = _cells(one)
                yield row([code(name).replace("|", "\\|"), *cells])

        lines = [f"## {code(self.meta.title)}", "", *table(self.summary())]
        for tag, summaries in self.by_tag().items():
            lines += ["", f"### {code(tag) if tag else 'without a tag'}", "", *table(summaries)]
        if worst := self.worst():
            lines += [
                "",
                "### worst",
                "",
                row(["case", OVERALL, "why"]),
                row(["---", "---:", "---"]),
            ]
            for one in worst:
                why = "; ".join(f"{name}: {reason}" for name, reason in one.reasons.items())
                cells = [
                    code(one.case),
                    number(one.overall or 0.0),
                    code(clip(why, 200)) if why else "",
                ]
                lines.append(row([cell.replace("|", "\\|") for cell in cells]))
        return "\n".join([*lines, "", self._last_line()]) + "\n"

    def __str__(self) -> str:
        summaries = self.summary()
        cells = [_HEADS, *map(_cells, summaries)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(_HEADS))]
        lines = [f"{safe(self.meta.title)} · {count(self.meta.case_count, 'case')}", ""]
        for line in cells:
            first, *rest = (
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            lines.append("  " + "   ".join([first, *rest]).rstrip())
        # `overall` comes last. A case that is as good as the best is no example of the worst.
        best = summaries[-1].most
        worst = [one for one in self.worst(3) if one.overall != best]
        if worst:
            lines += ["", "  worst"]
            for one in worst:
                why = next((f"{name}: {reason}" for name, reason in one.reasons.items()), "")
                lines.append(
                    f"    {number(one.overall or 0.0):<6} {clip(safe(f'{one.case}  {why}'), 90)}"
                )
        if inapplicable := self._inapplicable():
            lines += ["", "  does not apply"]
            for metric, reasons in inapplicable.items():
                (reason, times), *others = Counter(reasons).most_common()
                rest = f", and {len(reasons) - times:,} for other reasons" if others else ""
                why = f"{metric}: {reason} ({count(times, 'case')}{rest})"
                lines.append(f"    {clip(safe(why), 97)}")
        if errors := self.errors():
            lines += ["", "  errors"]
            lines += [
                f"    {clip(safe(f'{case}  {why}'), 97)}" for case, why in [*errors.items()][:3]
            ]
            lines += [f"    and {len(errors) - 3:,} more"] if len(errors) > 3 else []
        return "\n".join([*lines, "", f"  {self._last_line()}"])

    def _repr_html_(self) -> str:
        """How notebooks show it: the metrics as a table, and below it what printing it says."""
        from html import escape  # noqa: PLC0415 (in notebooks only)

        def line(cells: Sequence[str], kind: str) -> str:
            each = "".join(f"<{kind}>{escape(safe(cell))}</{kind}>" for cell in cells)
            return f"<tr>{each}</tr>"

        head, *rest = str(self).split("\n\n")
        rows = "".join(line(_cells(one), "td") for one in self.summary())
        below = "".join(f"<pre>{escape(part)}</pre>" for part in rest[1:])
        return f"<p><b>{escape(head)}</b></p><table>{line(_HEADS, 'th')}{rows}</table>{below}"

    def _inapplicable(self) -> dict[str, list[str]]:
        """Why metrics that have no number at all have none, case by case."""
        reasons = {one.metric: list[str]() for one in self.summary() if not one.n}
        for trial in self.trials() if reasons else ():
            for outcome in trial.outcomes:
                if outcome.outcome == "not_applicable" and outcome.name in reasons:
                    reasons[outcome.name].append(outcome.reason)
        return {metric: each for metric, each in reasons.items() if each}

    def _last_line(self) -> str:
        totals = self.totals()
        parts = [f"{totals.failed:,} of {count(counting(totals), 'case')} missed a bound"]
        if totals.errors:
            parts.append(count(totals.errors, "error"))
        if self.meta.planned > totals.trials:
            parts.append(f"{self.meta.planned - totals.trials:,} not run")
        if totals.calls:
            cost = self.spend().cost_usd
            parts += [
                calls_of(totals.calls, totals.cached),
                spent(cost, scripted=self.meta.is_scripted),
            ]
        if self.meta.took_s is not None:
            parts.append(seconds(self.meta.took_s))
        return " · ".join(parts)

    def _number(self, metric: str) -> tuple[Callable[[TrialResult], float | None], int]:
        """What a metric says of a trial, and -1 where less of it is better."""
        if metric == OVERALL:
            return lambda trial: trial.score, 1
        if metric not in self.metrics:
            raise UsageError(
                f"{metric!r} was not measured",
                hint=f"There are: {', '.join([*self.metrics, OVERALL])}.",
            )
        best = {one["name"]: one["best"] for one in self.meta.config["metrics"]}[metric]
        return lambda trial: _scores(trial).get(metric), -1 if best == "low" else 1


def _cells(one: Summary) -> tuple[str, ...]:
    def number_or_dash(value: float | None) -> str:
        return "–" if value is None or not math.isfinite(value) else unlike_whole(value, 3)

    known = one.low is not None and one.high is not None
    return (
        one.metric,
        f"{one.n:,}",
        number_or_dash(one.mean),
        f"[{number_or_dash(one.low)}, {number_or_dash(one.high)}]" if known else "–",
        number_or_dash(one.sd),
        number_or_dash(one.least),
        number_or_dash(one.most),
        f"{one.not_applicable:,}",
        f"{one.errors:,}",
        f"{one.failed:,}",
    )


def _case(trial: TrialResult) -> ReportedCase:
    return ReportedCase(
        case=trial.case,
        overall=trial.score,
        scores=_scores(trial),
        reasons={outcome.name: outcome.reason for outcome in trial.outcomes if outcome.reason},
        outcome=trial.outcome,
        answer=trial.output,
        description=trial.description,
    )


def _scores(trial: TrialResult) -> dict[str, float | None]:
    return {outcome.name: outcome.score for outcome in trial.outcomes}
