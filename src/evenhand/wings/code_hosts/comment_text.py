"""A gate as Markdown, for a comment on a pull request: the verdict, the numbers, the cases that came out otherwise.

And as GitHub's annotations, lines of a log that GitHub shows beside a file's line: `annotation_lines`.

How it is kept safe: the document may come from a stranger's pull request. Names and texts stand in code spans, where
nothing is a link, a mention, an issue, HTML or a command; only sentences of plain words stand as they are. How it is
kept short: fewer and fewer cases and results are listed until it fits, and the rest is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from urllib.parse import quote

from evenhand.analysis.gates.gate_document import GateChange, GateDocument, GateRow
from evenhand.analysis.gates.gate_results import GateVerdict
from evenhand.core.record import Record
from evenhand.core.scripted import SCRIPTED
from evenhand.core.wording.words import clip, count, percent, safe, spent
from evenhand.render.gate import MARKS, not_compared, trials_run
from evenhand.render.markdown import code, row

LONGEST = 60_000
"""Characters; GitHub takes 65,536."""
NAME = 120
_SIZES = ((40, 20, 20), (20, 10, 10), (10, 5, 5), (5, 0, 3), (0, 0, 0))
"""How many results, cases of each, and notes are listed: the first that fits."""
_WORDS: Mapping[GateVerdict, str] = {
    "worse": "worse than the baseline",
    "undecided": "undecided",
    "not worse": "not worse than the baseline",
    "better": "better than the baseline",
}
_PLAIN = re.compile(r"(?!.*(?:www\.|gh-\d))(?:[a-z0-9' ,.;()\[\]%+$±∞–≥≤·-]|: )*", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]+")


class CommentLinks(Record, frozen=True):
    """Where a comment leads; empty for nowhere.

    Attributes:
        report: The one-file report of the run.
        commit: The commit that was looked at.
    """

    report: str = ""
    log: str = ""
    commit: str = ""


def markdown(gate: GateDocument, links: CommentLinks | None = None, longest: int = LONGEST) -> str:
    """The gate as Markdown: the verdict first.

    Args:
        longest: It has no more characters than these, 2,000 at least.
    """
    there = links or CommentLinks()
    texts = ("\n".join(_lines(gate, there, *sizes)) + "\n" for sizes in _SIZES)
    return next(text for text in texts if len(text) <= longest)


def _lines(
    gate: GateDocument, links: CommentLinks, results: int, cases: int, notes: int
) -> Iterator[str]:
    yield f"### {MARKS[gate.verdict][0]} {_verdict(gate)}{_titled(gate)}"
    if gate.because:
        yield from ("", prose(gate.because, 500))
    elif gate.status not in ("finished", "decided"):
        yield from ("", "The run did not finish.")
    if gate.results and results:
        yield from ("", *_table(gate, results))
    if cases:
        for place, one in enumerate(gate.results[:results]):
            alike = next((e for e in gate.results[:place] if _same_cases(e, one)), None)
            yield from _changed(one, gate, links, cases, alike)
    yield from ("", " · ".join(_facts(gate, links)))
    if gate.notes and notes:
        yield ""
        yield from (f"- {prose(note, 300)}" for note in gate.notes[:notes])
        yield from _more(len(gate.notes) - notes, "- ")


def _verdict(gate: GateDocument) -> str:
    word = _WORDS.get(gate.verdict)
    return word or not_compared([result.verdict for result in gate.results])


def _titled(gate: GateDocument) -> str:
    return f": {code(clip(gate.title, NAME))}" if gate.title.strip() else ""


def _table(gate: GateDocument, most: int) -> Iterator[str]:
    several = len({one.variant for one in gate.results}) > 1
    yield row(["", "metric", "difference", "cases", ""])
    yield row(["---", "---", "---:", "---:", "---"])
    for one in gate.results[:most]:
        name = _cell(one.metric)
        if several:
            name = f"{_cell(one.variant)} · {name}"
        word = f"{MARKS[one.verdict][0]} {one.verdict}"
        because = prose(_because(one), 300).replace("|", "\\|")
        text = prose(one.text, 80).replace("|", "\\|") if one.text else "–"
        yield row([f"**{word}**" if one.verdict == "worse" else word, name, text,
                   _cases(one), because])  # fmt: skip
    if len(gate.results) > most:
        yield from ("", f"and {len(gate.results) - most:,} more")


def _because(one: GateRow) -> str:
    """What a verdict rests on, and how many trials in error it allows for, which some reasons say themselves."""
    reason = one.because or ""
    if not one.trials_in_error or "in error" in reason:
        return reason
    errors = f"{count(one.trials_in_error, 'trial')} in error may have come out either way"
    return "; ".join(filter(None, (reason, errors)))


def _cases(one: GateRow) -> str:
    """How many cases a result is about, and how many of them were run, where that isn't all."""
    apart = one.clusters in (0, one.cases)
    clusters = "" if apart else f" in {count(one.clusters, 'cluster')}"
    if not one.predicted:
        return f"{one.cases:,}{clusters}"
    return f"{one.cases + one.predicted:,} ({one.cases:,} run{clusters})"


def _same_cases(first: GateRow, second: GateRow) -> bool:
    """Whether two metrics of a variant changed in the same cases, and in the same direction."""
    pairs = [{(c.case, c.verdict) for c in one.changed} for one in (first, second)]
    return first.variant == second.variant and pairs[0] == pairs[1]


def _changed(
    one: GateRow, gate: GateDocument, links: CommentLinks, most: int, alike: GateRow | None
) -> Iterator[str]:
    """The cases that came out otherwise, the worst first, folded away unless something became worse."""
    if not one.changed:
        return
    several = len({each.variant for each in gate.results}) > 1
    name = f"{one.variant} · {one.metric}" if several else one.metric
    unsettled = f", {one.unsettled:,} open" if one.unsettled else ""
    counts = f"{one.worse:,} worse, {one.better:,} better, {one.same:,} the same{unsettled}"
    title = f"<code>{escape(safe(clip(name, NAME)))}</code>: {counts}"
    if alike is not None:
        yield from (
            "",
            f"{code(clip(name, NAME))}: the same cases as {code(clip(alike.metric, NAME))}",
        )
        return
    unfolded = " open" if one.verdict == "worse" else ""
    yield from ("", f"<details{unfolded}><summary>{title}</summary>", "")
    explained = any(change.failed for change in one.changed[:most])
    yield row(["", "case", "baseline", "now", *["failed"] * explained])
    yield row(["---", "---", "---:", "---:", *["---"] * explained])
    for change in one.changed[:most]:
        mark = "✗" if change.verdict == "worse" else "✓"
        text = _linked(change, gate, links)
        why = [_cell(change.failed) if change.failed else ""] * explained
        yield row([mark, text, _level(one, change.baseline), _level(one, change.now), *why])
    yield from _more(one.worse + one.better - min(most, len(one.changed)), "\n")
    yield from ("", "</details>")


def _more(number: int, before: str) -> Iterator[str]:
    if number > 0:
        yield f"{before}and {number:,} more"


def _linked(change: GateChange, gate: GateDocument, links: CommentLinks) -> str:
    name = _cell(change.name or change.case)
    report = address(links.report)
    if not report or not gate.run or change.trial is None:
        return name
    place = f"#/run/{quote(clip(gate.run, 40), safe='')}?cell={change.trial}"
    return f"[{name}]({report.partition('#')[0]}{place})"


def _level(one: GateRow, value: float | None) -> str:
    if value is None:
        return "?"
    return percent(value) if one.kind == "rate" else f"{value:,.4g}"


def _facts(gate: GateDocument, links: CommentLinks) -> Iterator[str]:
    """What was asked and spent, and where there is more."""
    if gate.of:
        yield trials_run(gate)
    if gate.stopping and gate.stopping.stopped:
        far = f"stopped after {gate.stopping.cases:,} of {count(gate.stopping.of, 'case')}"
        of_sample = gate.stopping.sampled and not gate.stopping.looks
        yield f"{far}, drawn at random" if of_sample else f"{far}: decided"
    if gate.taken:
        yield f"{gate.taken:,} taken from the baseline"
    if gate.of:
        yield spent(gate.cost_usd, scripted=SCRIPTED in gate.notes)
    if gate.margin:
        yield f"margin {gate.margin:g}"
    for name, target in (("report", links.report), ("log", links.log)):
        if to := address(target):
            yield f"[{name}]({to})"
    if re.fullmatch("[0-9a-f]{7,64}", links.commit):
        yield f"`{links.commit[:10]}`"


def _cell(text: str) -> str:
    """Foreign text in a cell of a table."""
    return code(clip(text, NAME)).replace("|", "\\|")


def prose(text: str, width: int) -> str:
    """A sentence: as it is where it has plain words only, and as a code span where it has anything else."""
    text = clip(" ".join(text.split()), width)
    return re.sub(r"[\[\]]", r"\\\g<0>", text) if _PLAIN.fullmatch(text) else code(text)


def address(url: str) -> str:
    """An address of the web as a link's target; empty for anything else."""
    if len(url) > 1000 or not _ADDRESS.fullmatch(url):
        return ""
    return url.translate({ord("("): "%28", ord(")"): "%29", ord("["): "%5B", ord("]"): "%5D"})


ANNOTATIONS = 10
"""GitHub shows no more of them for a step."""


def annotation_lines(gate: GateDocument, root: str = "") -> list[str]:
    """The results that became worse or stayed undecided, as far as their file and line are known, at most ANNOTATIONS.

    Args:
        root: The folder that files are named from.
    """
    lines: list[str] = []
    for one in gate.results:
        file, _, line = (one.where or "").rpartition(":")
        if one.verdict not in ("worse", "undecided") or not file or not line.isdecimal():
            continue
        level = "error" if one.verdict == "worse" else "warning"
        near = file.removeprefix(root.rstrip("/") + "/") if root else file
        names = ", ".join(clip(c.name, 60) for c in one.changed[:5] if c.verdict == "worse")
        text = f"{one.metric} is {one.verdict}: {'; '.join(filter(None, (one.text, one.because)))}"
        message = _data(clip(safe(f"{text}. Worse: {names}" if names else text), 500))
        lines.append(
            f"::{level} file={_property(safe(near))},line={line},title=evenhand gate::{message}"
        )
    return lines[:ANNOTATIONS]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
