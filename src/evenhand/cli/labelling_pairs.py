"""Labelling pairs of a ranking: in a terminal, one pair at a time, or through files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs
from evenhand.analysis.trust.labels.inclusion_column import inclusion_line
from evenhand.analysis.trust.labels.pair_drawing import (
    DrawnPair,
    draw_pairs,
    drawn_pairs,
    pairs_for,
)
from evenhand.analysis.trust.labels.pair_sheets import NEEDED, read_pair_labels, write_pairs
from evenhand.analysis.trust.labels.ranking_labels import ranking_labels
from evenhand.cli.labelling import FIRST_DRAW, QUIT, session_line, tell_fewer
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import count, safe
from evenhand.render.ranking_calibration import labels_line
from evenhand.store.labels.draw import Pair, PairAnswer, unordered
from evenhand.store.labels.stored_draws import add_pair_labels, set_rule, standing_pair_labels
from evenhand.store.runfile import RunFile

_LEFT: Sequence[str] = ("1", "l", "\x1b[d")
_RIGHT: Sequence[str] = ("2", "r", "\x1b[c")
_KEYS: Mapping[str, PairAnswer] = {
    **dict.fromkeys(_LEFT, "first"),
    **dict.fromkeys(_RIGHT, "second"),
    "t": "tie",
}
_HELP = "1 or ← first · 2 or → second · t tie · s skip · u undo · q quit"


class PairLabelling(Record, frozen=True, kw_only=True):
    """What is to be done with the pairs of a ranking.

    Attributes:
        author: Who labels.
        named: Whether the author was named, so that a file holds what is left for them.
        size: How many pairs to draw; None for those that were drawn.
        seed: The seed of the draw.
        to: The file to write to.
        source: The file to read from.
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
        if self.to is None and not sys.stdin.isatty():
            raise UsageError(
                "labelling one at a time needs a terminal",
                hint="Write the draw to a file instead: --draw 60 --to draw.csv.",
            )
        draws = [draw for draw in run.pair_draws() if draw.metric == pairs.name]
        if self.size is not None:
            drawn = draw_pairs(run, pairs, self.size, self.seed)
            earlier = any(draw != drawn for draw in draws)
            tell_fewer(self.size, len(drawn.pairs), "pair", earlier=earlier)
            draws = [drawn] if self.to is not None else [*draws, drawn]
        elif not draws and self.to is not None:
            raise UsageError("nothing is drawn yet", hint="Say how many: --draw 60.")
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
        outside = sum(unordered(pair) not in drawn for pair, _, _ in labels)
        if outside:
            tell(
                f"{count(outside, 'label')} outside a draw: kept, and not used to correct anything"
            )
        changed = inclusion_line(run, source, NEEDED)
        if changed:
            tell(changed)
        tell(f"{count(len(labels), 'label')} by {self.author}; next: evenhand calibrate {self.run}")
        return 0

    def ask(self, run: RunFile, name: str, left: list[DrawnPair], total: int) -> None:
        """Asks for the rule, where there is none, and shows one pair at a time."""
        rule = run.rules().get(name)
        if rule is None:
            click.echo(
                f"What makes an output better for {safe(name)}? One or two sentences; Enter leaves it open."
            )
            rule = click.prompt("rule", default="", show_default=False)
            if rule:
                set_rule(run.path, name, rule)
        done = self._labelled(run.path, rule, left, total)
        with RunFile.open(run.path) as again:
            for pairs in _named(again, name):
                click.echo(labels_line(name, len(ranking_labels(again, pairs).pairs)))
        click.echo(session_line(done, len(left), self.author, run.path))

    def _labelled(self, path: Path, rule: str, left: list[DrawnPair], total: int) -> int:
        """Shows one pair after the other, and keeps each answer at once; how many there are in the end."""
        done: list[DrawnPair] = []

        def keep(pair: Pair, metric: str, answer: PairAnswer | None) -> None:
            add_pair_labels(path, self.author, [(pair, metric, answer)])

        while left:
            one = left[0]
            _show(one, rule, total - len(left) + 1, total)
            key = click.getchar().lower()
            if key in _KEYS:
                # At once, as a terminal may be closed at any moment.
                keep(one.pair, one.metric, _KEYS[key])
                done.append(left.pop(0))
            elif key == "s":
                left.pop(0)
            elif key == "u" and done:
                last = done.pop()
                keep(last.pair, last.metric, None)
                left.insert(0, last)
            elif key in QUIT:
                break
        return len(done)


def _named(run: RunFile, name: str) -> list[ComparedPairs]:
    from evenhand.analysis.trust.judgements.compared_pairs import compared_pairs

    return [pairs for pairs in compared_pairs(run) if pairs.name == name]


def _show(one: DrawnPair, rule: str, number: int, total: int) -> None:
    click.clear()
    click.echo(click.style(f"{number} of {total} · {safe(one.metric)}", bold=True))
    if rule:
        click.echo(f"better: {safe(rule)}")
    click.echo(f"\n{safe(one.material, multiline=True)}\n")
    for word, output in zip(("first", "second"), one.outputs, strict=True):
        click.echo(click.style(word, bold=True))
        click.echo(f"{safe(output, multiline=True)}\n")
    click.echo(_HELP)
