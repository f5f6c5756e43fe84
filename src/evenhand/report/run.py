"""A run as its user holds it: what `evenhand.run` returns, in a script, in a test or in a notebook."""

from __future__ import annotations

import io
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from evenhand.core.remark import Remarks
from evenhand.core.run import RunMeta, VerdictWord
from evenhand.report.words import passed_of, short_id
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.report.comparison_sides import Column


class Run:
    """What happened: printed, it is the report that the command line shows; in a notebook, a table.

    `trials()` gives each trial whole, `totals()` the counts, `rows()` and `outcome_rows()` what a data frame is made
    of. It reads its file as it is asked; close it, or use it in a `with` block.

    Attributes:
        file: The run file that it holds. What reads trials, counts and calls there has the same name here.
    """

    def __init__(self, file: RunFile) -> None:
        self.file = file
        self.trials, self.trial, self.at = file.trials, file.trial, file.at
        self.matching, self.cases, self.labels = file.matching, file.cases, file.labels
        self.settled, self.totals, self.by_variant = file.settled, file.totals, file.by_variant
        self.outcomes, self.tallies, self.scales = file.outcomes, file.tallies, file.scales
        self.calls, self.calls_of, self.call = file.calls, file.calls_of, file.call
        self.usage, self.spend, self.in_doubt = file.usage, file.spend, file.in_doubt
        self.judge_calls, self.empty_answers = file.judge_calls, file.empty_answers

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a run file.

        Raises:
            StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
        """
        return cls(RunFile.open(path))

    @property
    def path(self) -> Path:
        """Its file."""
        return self.file.path

    @property
    def meta(self) -> RunMeta:
        """What its file says of it as a whole: title, columns, settings, how it ended."""
        return self.file.meta

    @property
    def remarks(self) -> Remarks:
        """What people said of it: title, tags, note."""
        return self.file.remarks

    @property
    def alive(self) -> bool:
        """Whether a process is writing it."""
        return self.file.alive

    def close(self) -> None:
        """Lets go of its file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def verdict(self) -> VerdictWord:
        """What its trials come to: passed, failed, or undecided where errors leave it open."""
        from evenhand.report.requirements import verdict_of  # noqa: PLC0415 (when it is asked for)

        return verdict_of(self.file)

    def column(self, name: str) -> Column:
        """One of its columns, to be compared: `compare(run.column("plain"), run.column("strict"))`.

        Args:
            name: The column's name in the table, its prompt or model, or its number from 1.

        Raises:
            UsageError: There is no such column.
        """
        from evenhand.report.comparison_sides import Column, column_index  # noqa: PLC0415 (when it is asked for)

        return Column(self.file, column_index(self.file, name))

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each trial, in the plan's order, the same keys in all: `pandas.DataFrame(run.rows())`.

        Every value is a text, a number, a boolean or None. `score:NAME`, `var:NAME` and `axis:NAME` are columns for the
        named scores, the case's variables and the set's axes; lists and dicts in them are JSON, and so is an output
        that isn't text. `passed` is None for an error and for what did not apply.
        """
        from evenhand.report.rows import trial_rows  # noqa: PLC0415 (when it is asked for)

        return trial_rows(self.trials(), self.meta.variants)

    def outcome_rows(self) -> list[dict[str, Any]]:
        """The same for each expectation of each trial, joined to `rows()` by `trial`.

        `meta:NAME` are columns for what the eval and the scorer attached; `judge`, `judge_prompt` (its version) and
        `confidence` have theirs.
        """
        from evenhand.report.rows import outcome_rows  # noqa: PLC0415 (when it is asked for)

        return outcome_rows(self.trials(), self.meta.variants)

    def __repr__(self) -> str:
        totals = self.totals()
        errors = f", {totals.errors} in error" if totals.errors else ""
        return f"<Run {short_id(self.meta.id)}: {self.verdict}, {passed_of(totals)}{errors}>"

    def __str__(self) -> str:
        from evenhand.report.console import show  # noqa: PLC0415 (when it is asked for)

        out = io.StringIO()
        show(self.file, out)
        return out.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from evenhand.report.html import html  # noqa: PLC0415 (when it is asked for)

        return html(self.file)
