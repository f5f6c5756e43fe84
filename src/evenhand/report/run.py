"""A run as its user holds it: what `evenhand.run` returns, in a script, in a test or in a notebook."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from evenhand.core.run import VerdictWord
from evenhand.report.words import passed_of, short_id
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.report.sides import Column


class Run(RunFile):
    """What happened: printed, it is the report that the command line shows; in a notebook, a table.

    `trials()` gives each trial whole, `totals()` the counts, `rows()` and `outcome_rows()` what a data frame is made
    of. It reads its file as it is asked; close it, or use it in a `with` block.
    """

    @property
    def verdict(self) -> VerdictWord:
        """What its trials come to: passed, failed, or undecided where errors leave it open."""
        from evenhand.report.requirements import verdict_of  # noqa: PLC0415 (when it is asked for)

        return verdict_of(self)

    def column(self, name: str) -> Column:
        """One of its columns, to be compared: `compare(run.column("plain"), run.column("strict"))`.

        Args:
            name: The column's name in the table, its prompt or model, or its number from 1.

        Raises:
            UsageError: There is no such column.
        """
        from evenhand.report.sides import Column, column_index  # noqa: PLC0415 (when it is asked for)

        return Column(self, column_index(self, name))

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each trial, in the plan's order, the same keys in all: `pandas.DataFrame(run.rows())`.

        Every value is a text, a number, a boolean or None. `score:NAME`, `var:NAME` and `axis:NAME` are columns for the
        named scores, the case's variables and the set's axes; lists and dicts in them are JSON, and so is an output
        that is no text. `passed` is None for an error and for what did not apply.
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
        show(self, out)
        return out.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from evenhand.report.html import html  # noqa: PLC0415 (when it is asked for)

        return html(self)
