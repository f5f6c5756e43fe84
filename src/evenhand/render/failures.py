"""What failed and why, in a line or two each; then what went wrong, grouped, with what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenhand.analysis.summaries.column_names import in_ranges
from evenhand.analysis.summaries.grid import Grid
from evenhand.core.run import TrialError, TrialResult
from evenhand.core.scripted import A_RULE_SAID_SO, NO_RULE
from evenhand.core.wing import parts
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import clip, columns, count, folded, number, safe, short_id
from evenhand.render.command_words import typed_for
from evenhand.store.runfile import RunFile

SHOWN = 10
PER_COLUMN = 4
MANY = 3
A_FEW = 2
GROUPS = 5
NUMBERS = 6
NAME = 28
NAMES = 72
"""Columns that the name of one case, and those of several, may take."""
_REFUSED = ("bad-request", "unknown-model")
_IN_FILES = ("config", "usage", "code", "template", "score")
"""Errors of what is run itself: once the files are corrected, its run can't be resumed."""
_DEBUGGER = "it opened a debugger"
_ASK_ANEW = "`evenhand resume --errors --no-cache`"
"""What an error says that another answer may settle."""
_UNSURE = re.compile(r"--unsure [\d.e-]+")
"""What an error says that people may settle."""


def failure_lines(run: RunFile, grid: Grid, width: int, ink: Ink) -> list[str]:
    """The failures: those of columns that failed now and then one by one, those that always failed in a line."""
    totals = grid.totals
    whole = [i for i, t in enumerate(totals) if t.failed > A_FEW and t.failed == t.trials]
    lines: list[str] = []
    unread = printed = 0
    alike = _alike(run, grid, whole)
    reasons: set[str] = set()
    named: set[str] = set()
    unlisted: Counter[str] = Counter()
    for variant, places in enumerate(grid.failed):
        if variant in whole:
            continue
        groups: dict[str, list[TrialResult]] = {}
        for trial in _trials(run, places):
            groups.setdefault(_why(trial), []).append(_named(trial))
        unread += totals[variant].failed - len(places)
        # Reasons that were told with an earlier column are not told again.
        for why in reasons & groups.keys():
            del groups[why]
        most = SHOWN - printed if len(grid.failed) == 1 else min(PER_COLUMN, SHOWN - printed)
        listed = list(groups.items())[:most]
        for why, trials in listed:
            where = _where(grid, alike.get(why, trials), width)
            lines += _entry_lines("fail", where, why, width, ink)
        named |= {why for why, _ in listed}
        unlisted.update({why: len(trials) for why, trials in [*groups.items()][len(listed) :]})
        reasons |= {why for why, _ in listed if why in alike}
        printed += len(listed)
    for variant in whole[:SHOWN]:
        for trial in _trials(run, grid.failed[variant][:1]):
            where = f"all {totals[variant].failed:,}"
            if len(grid.names) > 1:
                where = f"{grid.names[variant]} · {where}"
            scores = _scores(grid.scores[variant])
            lines += _entry_lines("fail", where, f"{scores}e.g. {_why(trial)}", width, ink)
    others = sum(totals[variant].failed for variant in whole[SHOWN:])
    # A reason that a later column told for all of them leaves none in an earlier one.
    left = {why: number for why, number in unlisted.items() if why not in reasons}
    if number := sum(left.values()) + unread + others:
        rest = f"    … and {count(number, 'more failure')}"
        other = sum(number for why, number in left.items() if why not in named)
        if unread:
            each = "" if len(grid.failed) == 1 else " of each column"
            rest += f" (the first {grid.kept:,}{each} are grouped)"
        elif other == number:
            rest += " for other reasons"
        elif other and not others:
            rest += f", {other:,} of them for other reasons"
        listed = f": evenhand show {short_id(run.meta.id)} --where status:fail"
        whole = (f"{rest}{listed}", rest)
        lines.append(ink(next((one for one in whole if columns(one) <= width), rest), "dim"))
    return [*lines, *error_lines(run, grid, width, ink)]


def _alike(run: RunFile, grid: Grid, apart: Sequence[int]) -> dict[str, list[TrialResult]]:
    """What failed for the same reason in MANY columns or more, by the reason: it is told once."""
    reasons: dict[str, list[TrialResult]] = {}
    for variant, places in enumerate(grid.failed if len(grid.failed) >= MANY else ()):
        for trial in _trials(run, places) if variant not in apart else ():
            reasons.setdefault(_why(trial), []).append(_named(trial))
    return {
        why: trials
        for why, trials in reasons.items()
        if len({trial.variant for trial in trials}) >= MANY
    }


def _where(grid: Grid, trials: Sequence[TrialResult], width: int) -> str:
    """One cell by its name; several that failed for the same reason by the numbers and names of their cases."""
    if len(trials) == 1:
        return grid.place(trials[0])
    places = sorted(trials, key=grid.number) if len({t.variant for t in trials}) > 1 else trials
    # Filled backwards, so that the first trial of a case gives the name; read backwards again below.
    names = {grid.number(trial): clip(safe(trial.description), NAME) for trial in reversed(places)}
    labels = [grid.names[variant] for variant in dict.fromkeys(t.variant for t in trials)]
    column = "" if len(grid.names) == 1 else f"{', '.join(in_ranges(labels))} · "
    if columns(column) > width // 2:
        column = f"{len(labels)} variants · "
    number, name = next(iter(names.items()))
    if len(names) == 1 and name == f"Row #{number}":
        return f"{column}{name}"
    start = f"{column}{'cases' if len(names) > 1 else 'case'} "
    room = width - columns(start) - 4 - len(" and 999 more")  # 4: the mark before it
    listed: list[str] = []
    for number_, name in reversed(names.items()):
        text = f"{number_} “{name}”" if name and name != f"Row #{number_}" else str(number_)
        many = len(listed) == NUMBERS or sum(map(columns, listed)) + columns(text) > NAMES
        if many or columns(", ".join([*listed, text])) > room:
            break
        listed.append(text)
    rest = len(names) - max(len(listed), 1)
    more = f" and {rest} more" if rest else ""
    return f"{start}{', '.join(listed) or next(reversed(names))}{more}"


def error_lines(run: RunFile, grid: Grid, width: int, ink: Ink) -> list[str]:
    """Errors by what went wrong: the first of each kind, how many more, and what to do about it."""
    groups: dict[tuple[str, str, str], list[TrialResult]] = {}
    read = 0
    for places in grid.errors:
        for trial in _trials(run, places):
            read += 1
            slug = trial.error.slug if trial.error else "error"
            message = trial.error.message if trial.error else trial.reason
            advice = trial.error.where if trial.error else ""
            groups.setdefault((slug, message, advice), []).append(trial)
    every = sum(t.errors for t in grid.totals)
    lines: list[str] = []
    biggest = sorted(groups.items(), key=lambda item: -len(item[1]))
    for (slug, message, advice), trials in biggest[:GROUPS]:
        where = grid.place(trials[0])
        if len(trials) > 1:
            where = (
                f"{count(len(trials), 'trial')}{' or more' if every > read else ''}, first {where}"
            )
        lines += _entry_lines("error", where, f"{slug}: {safe(message)}", width, ink)
        if advice:
            lines += _indented(safe(advice), width, most=2)
    if left := every - sum(len(trials) for _, trials in biggest[:GROUPS]):
        lines.append(ink(f"    … and {count(left, 'more error')}", "dim"))
    return lines


def remedy(run: RunFile, grid: Grid, name: str, anew: str = "") -> str:
    """What helps where no trial in error would end otherwise in another session; empty where one might.

    Args:
        run: A run of which all trials are settled.
        grid: Its first trials in error.
        name: The run, as it is typed.
        anew: What makes it anew, in place of `evenhand run`.
    """
    trials = [trial for places in grid.errors for trial in _trials(run, places)]
    errors = [trial.error for trial in trials if trial.error]
    if not errors or len(errors) < len(trials):
        return ""
    study = any(key in run.meta.settings for key in parts("studies"))  # no `evenhand run` makes it
    anew = anew or f"evenhand run{typed_for(run.meta)}"
    if run.meta.is_scripted and all(map(_is_of_script, errors)):
        return f"correct offline.jsonl, then {f'evenhand resume {name}' if study else anew}"
    # What a vendor refused with a status of 4xx would be refused again.
    if all(error.slug in _REFUSED and " answered 4" in error.message for error in errors):
        look = "" if run.narrowed else f"evenhand show {name} --where status:error, then "
        return f"{look}change what is sent, and run again"
    if not study and all(error.slug in _IN_FILES for error in errors):
        again = f"correct it, then {anew}"
        # Code may raise because something was away for a while; a mistake in how it is written stays.
        passing = any(error.slug == "code" and _DEBUGGER not in error.message for error in errors)
        return f"{again}; or, as it is, evenhand resume {name}" if passing else again
    if all(error.slug == "undecided" for error in errors):
        # Asked again, the judges would be as unsure.
        risk = _UNSURE.search(f"{errors[0].message} {errors[0].where}")
        return f"evenhand label {name} {risk[0]}" if risk else ""
    if all(_ASK_ANEW in f"{error.message} {error.where}" for error in errors):
        return f"evenhand resume --errors {name} --no-cache"
    return ""


def _is_of_script(error: TrialError) -> bool:
    """Whether a script has no rule for what was asked, or another answer of it would do: it says the same again."""
    text = f"{error.message} {error.where}"
    return any(sign in text for sign in (NO_RULE, A_RULE_SAID_SO, _ASK_ANEW))


def _named(trial: TrialResult) -> TrialResult:
    """What names a trial, without its texts: many are held at once."""
    texts = {"input": None, "expected": None, "output": None, "log": "", "prompt": ""}
    return replace(trial, **texts, outcomes=(), vars={}, test={}, steps=())


def _trials(run: RunFile, places: Sequence[int]) -> Iterator[TrialResult]:
    return (trial for trial in map(run.trial, places) if trial is not None)


def _why(trial: TrialResult) -> str:
    """The first expectation that failed and why, or what the verdict says."""
    missed = trial.missed
    if not missed:
        return safe(trial.reason) or "no reason given"
    first = missed[0]
    text = safe(first.name) + (f": {safe(first.reason)}" if first.reason else "")
    return text + (f" (and {len(missed) - 1} more)" if len(missed) > 1 else "")


def _scores(ends: tuple[float, float] | None) -> str:
    if ends is None or ends == (0, 0):
        return ""
    low, high = number(ends[0]), number(ends[1])
    return f"score {low}, " if low == high else f"scores {low} to {high}, "


def _entry_lines(state: str, where: str, why: str, width: int, ink: Ink) -> list[str]:
    """Where and why in one line, or, where that is too long, the reason under it."""
    head = f"  {ink.mark(state)} "
    if columns(where) + columns(why) + 7 <= width:
        return [f"{head}{where}   {why}"]
    return [head + _place(where, width - 4), *_indented(why, width, most=2)]


def _place(where: str, width: int) -> str:
    """A cell in so much room: of a long name the column is cut, and not the case."""
    column, dot, case = where.rpartition(" · ")
    room = width - columns(case) - 3
    if not dot or columns(where) <= width or room < SHOWN:
        return clip(where, width)
    return f"{clip(column, room)} · {case}"


_REST = re.compile(r" \(and [\d,]+ more\)\Z")
"""What is said at the end of a reason, of others."""


def _indented(text: str, width: int, *, most: int) -> list[str]:
    """The text in a few lines, cut where it is longer, but for how many more there are."""
    end = _REST.search(text)
    rest = end[0] if end else ""
    lines = folded(clip(text, most * width), width, "      ")
    if len(lines) > most:
        last = clip(f"{lines[most - 1]} {lines[most].strip()}", width - len(rest))
        lines = [*lines[: most - 1], f"{last}{rest}"]
    return lines
