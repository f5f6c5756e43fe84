"""Labelling in a terminal: one output at a time, a key for each verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from evenhand.analysis.trust.calibration import calibrations
from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labels.drawing import (
    DrawnItem,
    draw,
    drawn_items,
    draws_to_label,
    items_for,
)
from evenhand.analysis.trust.labels.failure_codes import failure_codes
from evenhand.analysis.trust.labels.pair_drawing import (
    DrawnPair,
    draw_pairs,
    drawn_pairs,
    pairs_for,
)
from evenhand.analysis.trust.labels.ranking_labels import ranking_labels
from evenhand.analysis.trust.labels.sheet_rows import (
    PAIRS_NEEDED,
    check_new_file,
    inclusion_line,
    read_pair_labels,
    write_pairs,
)
from evenhand.analysis.trust.labels.what_next import FIRST_DRAW, nothing_drawn, too_few
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import count, safe
from evenhand.render.calibration_text import labels_line, worth_line
from evenhand.store.labels.draw import Draw, LabelledVerdict, PairAnswer, unordered
from evenhand.store.labels.label import LabelField, LabelValue, NewLabel, newest, standing
from evenhand.store.labels.stored_draws import (
    add_metric_labels,
    add_pair_labels,
    set_rule,
    standing_labels,
    standing_pair_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.run_lookup import called
from evenhand.store.runfile import RunFile

KEYS: Mapping[str, LabelledVerdict] = {"p": "pass", "f": "fail"}
_HELP = "p pass · f fail · c failure code · n note · 1–5 score · s skip · u undo · q quit"
_QUIT = ("q", "\x03", "\x04")
"""The key, Ctrl-C and Ctrl-D: a terminal that is read key by key sends no signal."""
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def one_by_one(
    left: list[_Item],
    total: int,
    show: Callable[[_Item, str], None],
    keys: Mapping[str, _Answer],
    keep: Callable[[_Item, _Answer | None], None],
    other_key: Callable[[_Item, str], None] = lambda _item, _key: None,
) -> list[_Item]:
    """Shows one item after the other, and keeps each answer at once, as a terminal may be closed at any moment.

    Args:
        left: What is to be answered; in the end, what nobody has come to.
        total: How many this person has or had to answer in all.
        show: Prints an item, and its place in words.
        keys: What each key says; besides, `s` skips, `u` takes the last answer back, and `q` quits.
        keep: Keeps an answer; None takes it back.
        other_key: What any other key does; the item stays.

    Returns:
        What was answered.
    """
    done: list[_Item] = []
    while left:
        item = left[0]
        click.clear()
        show(item, f"{total - len(left) + 1} of {total}")
        key = click.getchar().lower()
        if key in keys:
            keep(item, keys[key])
            done.append(left.pop(0))
        elif key == "s":
            left.pop(0)
        elif key == "u" and done:
            keep(done[-1], None)
            left.insert(0, done.pop())
        elif key in _QUIT:
            break
        else:
            other_key(item, key)
    return done


def tell_fewer(size: int, drawn: int, what: str, *, earlier: bool) -> None:
    """Says why a draw came to fewer than were asked for; nothing where it didn't.

    Args:
        size: How many were asked for.
        what: What is drawn: outputs, or pairs.
        earlier: Whether there are earlier draws, whose items aren't drawn again.
    """
    if drawn < size:
        why = f"earlier draws have the run's other judged {what}s"
        tell(
            f"only {count(drawn, what)} could be drawn: {why if earlier else 'the run has no more'}"
        )


def tell_too_few(run: RunFile, drawn: Draw) -> None:
    """Says, before an hour of labelling, of which metrics the run has too few outputs, or cases, for a verdict."""
    if few := too_few(run, drawn.metrics):
        tell(f"! {few}")


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
    need_terminal(size)
    with RunFile.open(path) as run:
        draws = draws_to_label(run, metrics)
        if not draws and size is None and picked is None:
            import secrets

            draws = [draw(run, FIRST_DRAW, secrets.randbelow(2**31), metrics)]
            tell_too_few(run, draws[0])
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


def need_terminal(size: int | None) -> None:
    """Raises a UsageError without a terminal: before anything is drawn."""
    if not sys.stdin.isatty():
        raise UsageError(
            "labelling one at a time needs a terminal",
            hint=f"Write the draw to a file instead: --draw {size or FIRST_DRAW} --to draw.csv.",
        )


def session_line(done: int, left: int, author: str, path: Path) -> str:
    """What somebody did in a terminal, and what to do next.

    Args:
        done: How many labels they gave.
        left: How many outputs or pairs they leave.
    """
    run, who = called(Path.cwd(), path), safe(author)
    if done:
        return f"{count(done, 'label')} by {who}; next: evenhand calibrate {run}"
    if left:
        return f"{who} gave no labels; to continue: evenhand label {run}"
    return f"{who} has labelled all that was drawn; next: evenhand calibrate {run}"


@dataclass
class _Session:
    """One person, labelling.

    Attributes:
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
                f"{safe(metric)}: what makes an output pass? One or two sentences; Enter skips this."
            )
            self.rules[metric] = click.prompt("rule", default="", show_default=False)
            if self.rules[metric]:
                set_rule(self.path, metric, self.rules[metric])

    def label(self, left: list[DrawnItem], total: int) -> int:
        """Shows one item after the other; how many were labelled in the end.

        Says in the end of which outputs there are remarks, and no verdict: they count for nothing.
        """
        every = list(left)

        def keep(item: DrawnItem, verdict: LabelledVerdict | None) -> None:
            add_metric_labels(self.path, self.author, [(*item.key, verdict)])

        done = one_by_one(left, total, self._show, KEYS, keep, self._remark)
        if open_items := sum(item not in done and bool(self._remarks(item)) for item in every):
            click.echo(
                f"{count(open_items, 'output')} with a failure code, a note or a score, but without a verdict: label"
                " again, and press p or f"
            )
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

    def _show(self, item: DrawnItem, place: str) -> None:
        click.echo(click.style(f"{place} · {safe(item.metric)}", bold=True))
        if self.rules.get(item.metric):
            click.echo(f"rule: {safe(self.rules[item.metric])}")
        click.echo(f"\n{safe(item.material, multiline=True)}\n")
        click.echo(click.style("output", bold=True))
        click.echo(f"{safe(item.output, multiline=True)}\n")
        for name, text in self._remarks(item).items():
            click.echo(f"your {name}: {text}")
        if self._remarks(item):
            click.echo("A verdict is still missing: press p or f.")
        click.echo(_HELP)

    def _remarks(self, item: DrawnItem) -> dict[str, str]:
        """What this person said of an item beside a verdict, by what it is called."""
        return {
            "failure code" if name == "code" else name: (
                f"{value:g}" if isinstance(value, float) else safe(str(value))
            )
            for name, value in self.remarks.get(item.trial.index, {}).items()
            if value is not None and name != "star"
        }


_LEFT: Sequence[str] = ("1", "l", "\x1b[d")
_RIGHT: Sequence[str] = ("2", "r", "\x1b[c")
_PAIR_KEYS: Mapping[str, PairAnswer] = {
    **dict.fromkeys(_LEFT, "first"),
    **dict.fromkeys(_RIGHT, "second"),
    "t": "tie",
}
_PAIR_HELP = "1 or ← first · 2 or → second · t tie · s skip · u undo · q quit"


class PairLabelling(Record, frozen=True, kw_only=True):
    """What is to be done with the pairs of a ranking.

    Attributes:
        named: Whether the author was named, so that a file holds what is left for them.
        size: How many pairs to draw; None for those that were drawn.
        seed: The seed of the draw.
        run: What the run is called in messages.
    """

    author: str
    named: bool
    size: int | None
    seed: int
    to: Path | None
    source: Path | None
    run: str

    def done(self, run: RunFile, pairs: ComparedPairs) -> int:
        """Does it; the exit code.

        Raises:
            UsageError: Nothing is drawn, a file can't be used, or there is no terminal.
            ConfigError: What is wrong with the file.
        """
        if self.source is not None:
            return self._read(run, pairs, self.source)
        if self.to is None:
            need_terminal(self.size)
        else:
            check_new_file(self.to)
        draws = [draw for draw in run.pair_draws() if draw.metric == pairs.name]
        if self.size is not None:
            drawn = draw_pairs(run, pairs, self.size, self.seed)
            earlier = any(draw != drawn for draw in draws)
            tell_fewer(self.size, len(drawn.pairs), "pair", earlier=earlier)
            draws = [drawn] if self.to is not None else [*draws, drawn]
        elif not draws and self.to is not None:
            raise nothing_drawn(run)
        elif not draws:
            draws = [draw_pairs(run, pairs, FIRST_DRAW, self.seed)]
        # The same draw may have been asked for again.
        draws = list({draw.number: draw for draw in draws}.values())
        items = list(drawn_pairs(run, pairs.name, draws))
        labels = standing_pair_labels(run.pair_labels())
        if self.to is not None:
            items = pairs_for(self.author, items, labels) if self.named else items
            write_pairs(items, self.to)
            tell(
                f"{count(len(items), 'pair')} to compare written to {self.to}; fill in `verdict` with first, second or"
                f" tie, then: evenhand label {self.run} --from {self.to} --by NAME"
            )
            return 0
        items = pairs_for(self.author, items, labels)
        left = [one for one in items if self.author not in labels.get(one.key, {})]
        self.ask(run, pairs.name, left, len(items))
        return 0

    def _read(self, run: RunFile, pairs: ComparedPairs, source: Path) -> int:
        labels = read_pair_labels(run, pairs, source)
        add_pair_labels(run.path, self.author, labels)
        drawn = {
            unordered(pair)
            for draw in run.pair_draws()
            if draw.metric == pairs.name
            for pair in draw.pairs
        }
        if outside := sum(unordered(pair) not in drawn for pair, _, _ in labels):
            tell(f"{count(outside, 'label')} outside a draw: kept, but used for no correction")
        if changed := inclusion_line(run, source, PAIRS_NEEDED):
            tell(changed)
        tell(f"{count(len(labels), 'label')} by {self.author}; next: evenhand calibrate {self.run}")
        return 0

    def ask(self, run: RunFile, name: str, left: list[DrawnPair], total: int) -> None:
        """Asks for the rule, where there is none, and shows one pair at a time."""
        rule = run.rules().get(name)
        if rule is None:
            click.echo(
                f"What makes an output better for {safe(name)}? One or two sentences; Enter skips this."
            )
            rule = click.prompt("rule", default="", show_default=False)
            if rule:
                set_rule(run.path, name, rule)
        done = self._labelled(run.path, rule, left, total)
        with RunFile.open(run.path) as again:
            for pairs in compared_pairs(again):
                if pairs.name == name:
                    click.echo(labels_line(name, len(ranking_labels(again, pairs).pairs)))
        click.echo(session_line(done, len(left), self.author, run.path))

    def _labelled(self, path: Path, rule: str, left: list[DrawnPair], total: int) -> int:
        """Shows one pair after the other, and keeps each answer at once; how many there are in the end."""

        def show(one: DrawnPair, place: str) -> None:
            click.echo(click.style(f"{place} · {safe(one.metric)}", bold=True))
            if rule:
                click.echo(f"better: {safe(rule)}")
            click.echo(f"\n{safe(one.material, multiline=True)}\n")
            for word, output in zip(("first", "second"), one.outputs, strict=True):
                click.echo(click.style(word, bold=True))
                click.echo(f"{safe(output, multiline=True)}\n")
            click.echo(_PAIR_HELP)

        def keep(one: DrawnPair, answer: PairAnswer | None) -> None:
            add_pair_labels(path, self.author, [(one.pair, one.metric, answer)])

        return len(one_by_one(left, total, show, _PAIR_KEYS, keep))
