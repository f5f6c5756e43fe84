"""Labelling in a terminal: one output at a time, a key for each verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evenhand.core.draw import LabelledVerdict
from evenhand.core.errors import UsageError
from evenhand.report.calibration import calibrate
from evenhand.report.labelling import DrawnItem, draw, drawn_items
from evenhand.report.trust_lines import worth_line
from evenhand.report.words import count, safe
from evenhand.store.draws import add_metric_labels, set_rule, standing_labels
from evenhand.store.runfile import RunFile

FIRST_DRAW = 60
"""How many trials are drawn where nobody says how many: few enough for an hour."""
_KEYS: dict[str, LabelledVerdict] = {"p": "pass", "f": "fail"}
_HELP = "p pass · f fail · s skip · u undo · q quit"


def label_in_terminal(path: Path, metrics: tuple[str, ...], author: str, size: int | None) -> int:
    """Asks for a verdict on each drawn item that this person has not labelled. Each is kept at once.

    Raises:
        UsageError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(
            "labelling one at a time needs a terminal",
            hint="Write the draw to a file instead: --draw 60 --to draw.csv.",
        )
    with RunFile.open(path) as run:
        draws = [d for d in run.draws() if not metrics or set(metrics) & set(d.metrics)]
        if not draws and size is None:
            import secrets

            draws = [draw(run, FIRST_DRAW, secrets.randbelow(2**31), metrics)]
        items = list(drawn_items(run, draws))
        rules, labels = run.rules(), standing_labels(run.metric_labels())
    for metric in dict.fromkeys(item.metric for item in items):
        if metric not in rules:
            click.echo(
                f"What makes an output pass {safe(metric)}? One or two sentences; Enter leaves it open."
            )
            rules[metric] = click.prompt("rule", default="", show_default=False)
            if rules[metric]:
                set_rule(path, metric, rules[metric])
    left = [i for i in items if author not in labels.get((i.trial.index, i.metric), {})]
    done: list[DrawnItem] = []
    while left:
        item = left[0]
        _show(item, rules.get(item.metric, ""), len(items) - len(left) + 1, len(items))
        key = click.getchar().lower()
        if key in _KEYS:
            add_metric_labels(path, author, [(item.trial.index, item.metric, _KEYS[key])])
            done.append(left.pop(0))
        elif key == "s":
            left.pop(0)
        elif key == "u" and done:
            last = done.pop()
            add_metric_labels(path, author, [(last.trial.index, last.metric, None)])
            left.insert(0, last)
        elif key in ("q", "\x03", "\x04"):
            break
    with RunFile.open(path) as run:
        for judge in calibrate(run).judges:
            click.echo(worth_line(judge))
    click.echo(f"{count(len(done), 'label')} by {safe(author)}; next: evenhand calibrate")
    return 0


def _show(item: DrawnItem, rule: str, number: int, total: int) -> None:
    click.clear()
    heading = f"{number} of {total} · {safe(item.metric)}"
    click.echo(click.style(heading, bold=True))
    if rule:
        click.echo(f"passes if: {safe(rule)}")
    click.echo(f"\n{safe(item.material, multiline=True)}\n")
    click.echo(click.style("output", bold=True))
    click.echo(f"{safe(item.output, multiline=True)}\n")
    click.echo(_HELP)
