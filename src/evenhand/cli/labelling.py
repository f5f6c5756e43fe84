"""Labelling in a terminal: one output at a time, a key for each verdict."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import click

from evenhand.analysis.trust.calibration import calibrations
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labels.drawing import (
    DrawnItem,
    draw,
    drawn_items,
    draws_to_label,
    items_for,
)
from evenhand.analysis.trust.labels.failure_codes import failure_codes
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.wording.words import count, safe
from evenhand.render.calibration_text import worth_line
from evenhand.store.catalogue import called
from evenhand.store.labels.draw import LabelledVerdict
from evenhand.store.labels.label import LabelField, LabelValue, NewLabel, newest, standing
from evenhand.store.labels.stored_draws import add_metric_labels, set_rule, standing_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

FIRST_DRAW = 60
"""How many trials, or pairs, are drawn where nobody says how many: few enough for an hour."""
_KEYS: dict[str, LabelledVerdict] = {"p": "pass", "f": "fail"}
_HELP = "p pass · f fail · c failure code · n note · 1–5 score · s skip · u undo · q quit"
QUIT = ("q", "\x03", "\x04")
"""The key, Ctrl-C and Ctrl-D: a terminal that is read key by key sends no signal."""


def tell_fewer(size: int, drawn: int, what: str, *, earlier: bool) -> None:
    """Says why a draw came to fewer than were asked for; nothing where it didn't.

    Args:
        size: How many were asked for.
        drawn: How many there are.
        what: What is drawn: outputs, or pairs.
        earlier: Whether there are earlier draws, whose items aren't drawn again.
    """
    if drawn < size:
        why = f"earlier draws have the run's other judged {what}s"
        tell(
            f"only {count(drawn, what)} could be drawn: {why if earlier else 'the run has no more'}"
        )


def label_in_terminal(
    path: Path,
    metrics: tuple[str, ...],
    author: str,
    size: int | None,
    picked: list[DrawnItem] | None = None,
) -> int:
    """Asks for a verdict on each drawn item that this person has to label, or on picked ones. Each is kept at once.

    Raises:
        UsageError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "labelling one at a time needs a terminal",
            hint="Write the draw to a file instead: --draw 60 --to draw.csv.",
        )
    with RunFile.open(path) as run:
        draws = draws_to_label(run, metrics)
        if not draws and size is None and picked is None:
            import secrets

            draws = [draw(run, FIRST_DRAW, secrets.randbelow(2**31), metrics)]
        labels = standing_labels(run.metric_labels())
        of_draws = list(drawn_items(run, draws)) if picked is None else picked
        items = items_for(author, of_draws, labels)
        session = _Session(path, author, run.rules(), [code.name for code in failure_codes(run)])
        remarks = standing(run.labels())
    for index, each in remarks.items():
        session.remarks[index] = dict(newest(label for label in each if label.author == author))
    session.ask_for_rules(dict.fromkeys(item.metric for item in items))
    left = [i for i in items if author not in labels.get((i.trial.index, i.metric), {})]
    done = session.label(left, len(items))
    with RunFile.open(path) as run:
        for judge in calibrations(run, judgements(run)):
            click.echo(worth_line(judge))
    click.echo(session_line(done, len(left), author, path))
    return 0


def session_line(done: int, left: int, author: str, path: Path) -> str:
    """What somebody did in a terminal, and what to do next.

    Args:
        done: How many labels they gave.
        left: How many outputs or pairs they leave.
        author: Who it was.
        path: The run file.
    """
    run, who = called(Path.cwd(), path), safe(author)
    if done:
        return f"{count(done, 'label')} by {who}; next: evenhand calibrate {run}"
    if left:
        return f"{who} gave no labels; to go on: evenhand label {run}"
    return f"{who} has labelled all that was drawn; next: evenhand calibrate {run}"


@dataclass
class _Session:
    """One person, labelling.

    Attributes:
        path: The run file.
        author: Who labels.
        rules: What makes an output pass, by metric.
        codes: The failure codes that were given, the most frequent first.
        remarks: What this person said of trials beside their verdicts.
    """

    path: Path
    author: str
    rules: dict[str, str]
    codes: list[str]
    remarks: dict[int, dict[LabelField, LabelValue]] = field(
        default_factory=dict[int, "dict[LabelField, LabelValue]"]
    )

    def ask_for_rules(self, metrics: dict[str, None]) -> None:
        """Asks for the rules that nobody has written down."""
        for metric in metrics:
            if metric in self.rules:
                continue
            click.echo(
                f"What makes an output pass {safe(metric)}? One or two sentences; Enter leaves it open."
            )
            self.rules[metric] = click.prompt("rule", default="", show_default=False)
            if self.rules[metric]:
                set_rule(self.path, metric, self.rules[metric])

    def label(self, left: list[DrawnItem], total: int) -> int:
        """Shows one item after the other; how many were labelled in the end."""
        done: list[DrawnItem] = []
        while left:
            item = left[0]
            self._show(item, total - len(left) + 1, total)
            key = click.getchar().lower()
            if key in _KEYS:
                add_metric_labels(
                    self.path, self.author, [(item.trial.index, item.metric, _KEYS[key])]
                )
                done.append(left.pop(0))
            elif key == "s":
                left.pop(0)
            elif key == "u" and done:
                last = done.pop()
                add_metric_labels(self.path, self.author, [(last.trial.index, last.metric, None)])
                left.insert(0, last)
            elif key in QUIT:
                break
            else:
                self._remark(item, key)
        return len(done)

    def _remark(self, item: DrawnItem, key: str) -> None:
        """Keeps a score, a note or a failure code; the item stays."""
        if key in ("1", "2", "3", "4", "5"):
            self._keep(item, "score", float(key))
        elif key == "n":
            self._keep(item, "note", click.prompt("note", default="", show_default=False).strip())
        elif key == "c":
            for number, name in enumerate(self.codes, 1):
                click.echo(f"  {number}  {safe(name)}")
            text = click.prompt("failure code, or its number", default="", show_default=False)
            code = " ".join(text.split())
            if code.isdecimal() and 0 < int(code) <= len(self.codes):
                code = self.codes[int(code) - 1]
            self._keep(item, "code", code)
            if code and code not in self.codes:
                self.codes.append(code)

    def _keep(self, item: DrawnItem, field_: LabelField, value: str | float) -> None:
        index = item.trial.index
        try:
            append_labels(
                self.path, [NewLabel(index, field_, value or None, self.author, blind=True)]
            )
        except UsageError as error:
            click.echo(f"{error.message}\n{error.hint}")
            click.pause()
            return
        self.remarks.setdefault(index, {})[field_] = value or None

    def _show(self, item: DrawnItem, number: int, total: int) -> None:
        click.clear()
        heading = f"{number} of {total} · {safe(item.metric)}"
        click.echo(click.style(heading, bold=True))
        if self.rules.get(item.metric):
            click.echo(f"passes if: {safe(self.rules[item.metric])}")
        click.echo(f"\n{safe(item.material, multiline=True)}\n")
        click.echo(click.style("output", bold=True))
        click.echo(f"{safe(item.output, multiline=True)}\n")
        for name, value in self.remarks.get(item.trial.index, {}).items():
            if value is not None and name != "star":
                text = f"{value:g}" if isinstance(value, float) else safe(str(value))
                click.echo(f"your {'failure code' if name == 'code' else name}: {text}")
        click.echo(_HELP)
