"""A comparison for people and for programs: a line for each metric, what changed, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from shlex import quote

from evenhand.analysis.comparison.comparison_results import (
    CaseChange,
    Compared,
    ComparedRuns,
    unlike_words,
)
from evenhand.analysis.comparison.judged_differences import JudgedDifference
from evenhand.analysis.comparison.variants import (
    corrected_for,
    could_show,
    could_turn,
    over,
    too_few,
)
from evenhand.analysis.summaries.column_names import SHORT
from evenhand.analysis.trust.calibrated import JudgedRate
from evenhand.analysis.trust.trust_rules import LOOKED, NOT_CHECKED, stale_words, without_split
from evenhand.core.wording.bounds import as_written, beside
from evenhand.core.wording.ink import UNBOUND
from evenhand.core.wording.words import (
    RESIDUE,
    clip,
    columns,
    count,
    folded,
    in_points,
    p_value,
    padded,
    percents,
    points,
    rounded,
    safe,
)
from evenhand.render.judged_rates import JUDGED, MANY, crowd_lines, crowded, doubt_about
from evenhand.stats.paired_difference import FEWEST
from evenhand.stats.tallies import OpenNumber

CHANGES = 5
NAMED = 5
NAME = 44
COLORS = {"better": "#1a7f37", "worse": "#cf222e", "undecided": "#9a6700"}


def lines(comparison: ComparedRuns, width: int = UNBOUND) -> list[str]:
    """The comparison as text: each metric's line, and what there is to know of it below, indented.

    Pairs of variants with long names are numbered, and named once, above.
    """
    pairs = (*(one.columns for one in comparison.results), *comparison.in_full.values())
    names = {name for pair in pairs for name in pair}
    return [part for line in _lines(comparison) for part in _fitted(line, width, names)]


def _fitted(line: str, width: int, names: Iterable[str]) -> list[str]:
    """A line in as many as it takes; where it has a break, that is the first place to go on in a new one."""
    rest = " " * (len(line) - len(line.lstrip()) + 4)
    whole = line.replace("\n", " ")
    first, _, second = (whole if columns(whole) <= width else line).partition("\n")
    begun = folded(first, width, "", rest, names=names)
    if second and len(begun) > 1 and columns(begun[-1]) + 1 + columns(second) <= width:
        return [*begun[:-1], f"{begun[-1]} {second}"]
    return [*begun, *(folded(second, width, rest, names=names) if second else ())]


def _lines(comparison: ComparedRuns) -> list[str]:
    pairs = _pair_labels(comparison)
    text = [
        f"{label} = {_pair(comparison.in_full.get(pair, pair))}"
        for pair, label in pairs.items()
        if label != _pair(pair)
    ]
    text += [""] if text else []
    few = dict.fromkeys(filter(None, (_too_few(one) for one in comparison.results)))
    judged = {each.metric for each in comparison.judged}
    # What leaves several results open is told once.
    reasons = [result.withheld for result in comparison.results if result.withheld]
    shared = [why for why in dict.fromkeys(reasons) if reasons.count(why) > 1]
    unchanged = _unchanged(comparison)
    folded_away = {id(one) for several in unchanged.values() for one in several}
    others = [r for r in comparison.results if not r.same_as and id(r) not in folded_away]
    for result in sorted(others, key=lambda one: not one.changed):
        is_few = _too_few(result) is not None or result.withheld in shared
        why = "" if is_few and len(comparison.results) > 1 else because(result, comparison)
        text.append(f"{headline(result, pairs, judged)}:\n{result.verdict}{why}")
        text += [
            f"  {line}" for line in (*below(result), *same_results(result, comparison.results))
        ]
    text += [_unchanged_line(several, comparison, pairs) for several in unchanged.values()]
    tested = max(result.tests for result in comparison.results)
    what = _corrected(comparison)
    if tested > 1 and what:
        in_brackets = (
            "; uncorrected p-values are in brackets"
            if any(map(_is_corrected, comparison.results))
            else ""
        )
        apart = (
            "; where no case differs, nothing is tested"
            if any(result.constant for result in comparison.results)
            else ""
        )
        text.append(f"{what} are corrected for {tested} comparisons (Holm){apart}{in_brackets}")
    text += [f"! undecided, as {why}" for why in shared]
    text += [*_judged_lines(comparison, pairs), *comparison.notes]
    if few:
        prefix = f"{too_few(_fewest(list(few)))}; " if len(comparison.results) > 1 else ""
        text.append(f"{prefix}`evenhand info power` says how many cases show a difference")
    return text


def _corrected(comparison: ComparedRuns) -> str:
    """What the lines of a comparison have that is corrected for how many they are, in words; empty for nothing."""
    corrected = {
        "p-values": any(map(is_tested, comparison.results)),
        # With a margin, intervals are those of each metric alone, as all bounds have to hold at once.
        "intervals": comparison.margin is None and any(map(interval, comparison.results)),
    }
    return " and ".join(what for what, there in corrected.items() if there)


def _fewest(counts: Sequence[str]) -> str:
    """How many cases there are where several results have too few: `3 cases`, `1 case to 3 cases`."""
    if len(counts) < 3:
        return " and ".join(counts)
    order = sorted(counts, key=lambda one: int(one.split()[0].replace(",", "")))
    return f"{order[0]} to {order[-1]}"


def _unchanged(comparison: ComparedRuns) -> dict[object, list[Compared]]:
    """Results that share a line, as no case differs and there is nothing else to tell; all but one of them, at most.

    By what that line says of them. If nothing changed at all, the first result of each pair of variants stays, to say
    what the cases could have shown.
    """
    groups: dict[object, list[Compared]] = {}
    first = {one.columns: one for one in reversed(comparison.results)}
    changed = {one.columns for one in comparison.results if not _is_unchanged(one)}
    for one in comparison.results:
        stays = one.columns not in changed and first[one.columns] is one
        if not one.same_as and _is_unchanged(one) and not stays:
            groups.setdefault((one.columns, one.n, one.verdict, one.data.unscaled), []).append(one)
    return groups


def _is_unchanged(result: Compared) -> bool:
    """Whether no case differs, and `below` says nothing beside that."""
    plain = not (result.changed or result.withheld or result.predicted)
    return plain and bool(result.n) and len(list(below(result))) == 1


def _unchanged_line(
    several: Sequence[Compared], comparison: ComparedRuns, pairs: Mapping[tuple[str, str], str]
) -> str:
    """The results of one pair of variants that no case changed, with those that are the same as one of them."""
    first = several[0]
    every = {one.metric for one in several}
    names = [
        one.metric
        for one in comparison.results
        if one.columns == first.columns and (one.metric in every or one.same_as in every)
    ]
    place = f"{pairs[first.columns]} · " if first.several else ""
    undecided = first.verdict == "undecided" and first.data.unscaled
    why = f" ({UNSCALED})" if undecided else ""
    return f"{place}unchanged in {over(first.data)}, {first.verdict}{why}: {_list(names)}"


def same_results(of: Compared, results: Iterable[Compared]) -> Iterator[str]:
    """The metrics that have this result, too, in a line; none for none."""
    names = [
        safe(one.metric)
        for one in results
        if one.same_as == of.metric and one.columns == of.columns
    ]
    if names:
        yield f"{', '.join(names)}: the same as {safe(of.metric)}"


def _judged_lines(comparison: ComparedRuns, pairs: Mapping[tuple[str, str], str]) -> Iterator[str]:
    if comparison.judged:
        yield JUDGED
    rates = [rate for each in comparison.judged for rate in (each.first, each.second)]
    crowds = crowded(rates)
    measured = {result.metric for result in comparison.results}
    alike = _uncorrected(comparison)
    for key, several in alike.items():
        raw = [each.raw for each in several]
        ends = dict.fromkeys(points(end(raw)) for end in (min, max))
        moved = f"{' to '.join(ends)} points by the judge"
        yield f"  {safe(key[0])} · {len(several)} pairs of variants: {moved} · {key[1]}"
    for each in comparison.judged:
        if each.metric in crowds or any(each in several for several in alike.values()):
            continue
        line = judged_line(each, pairs.get(each.columns, ""))
        alone = each.corrected is None and each.metric not in measured
        hint = (
            f" · the interval of its scores: --metric {quote(safe(each.metric))}" if alone else ""
        )
        yield f"  {line}{hint}"
        verdicts = {r.verdict for r in comparison.results if (r.metric, r.columns) == each.place}
        one = each.corrected
        if one is not None and one.low <= 0 <= one.high and verdicts & {"better", "worse"}:
            yield "  ! the judge's verdicts show a difference, and people's labels don't yet"
    yield from (f"  {line}" for line in crowd_lines(crowds, rates))


def _uncorrected(comparison: ComparedRuns) -> dict[tuple[str, str], list[JudgedDifference]]:
    """Differences that aren't corrected, by metric and by why, where there are MANY of one kind: they share a line."""
    crowds = crowded([rate for each in comparison.judged for rate in (each.first, each.second)])
    groups: dict[tuple[str, str], list[JudgedDifference]] = {}
    for each in comparison.judged:
        if each.corrected is None and each.mean is None and each.metric not in crowds:
            groups.setdefault((each.metric, _doubt(each)), []).append(each)
    return {key: several for key, several in groups.items() if len(several) >= MANY}


def judged_line(each: JudgedDifference, pair: str = "") -> str:
    """A judged difference in words, on one line; after what its two variants are called, where there are several."""
    place = f"{safe(pair or ' → '.join(each.columns))} · " if each.several else ""
    judge = f"{points(each.raw)} points by the judge"
    name = f"{place}{safe(each.metric)}"
    stopped = each.first.stopped or each.second.stopped
    looked = f" · {LOOKED}" if stopped and (each.corrected or each.mean) else ""
    if each.in_error:
        looked += f" · without {count(each.in_error, 'trial')} in error"
    if each.corrected is None:
        return f"{name}: {judge} · {_doubt(each)}{_means(each)}{looked}"
    one = each.corrected
    interval = f"[{points(one.low)}, {points(one.high)}]"
    split = each.first.split_items + each.second.split_items
    labels = f"{_labels(each.first, each.second)}{without_split(split, 'output')}"
    both = f", {count(each.paired, 'case')} labelled in both" if each.paired else ""
    doubt = doubt_about(each.first, each.second)
    corrected = f"{points(one.value)} points {interval} corrected, {labels}{both}"
    text = f"{name}: {judge} · {corrected}" if doubt else f"{name}: {corrected} · {judge}"
    return f"{text}{_means(each)}{doubt}{looked}"


def _labels(first: JudgedRate, second: JudgedRate) -> str:
    """How many labels two rates rest on, and which of them are of another run."""
    if first.own == second.own:
        where = "" if first.own else " in calibration.json"
        return f"{first.labels:,} and {count(second.labels, 'label')}{where}"
    places = {True: "of its own", False: "in calibration.json"}
    return f"{count(first.labels, 'label')} {places[first.own]} and {second.labels:,} {places[second.own]}"


def _means(each: JudgedDifference) -> str:
    """The difference of the mean scores in words; empty where there is none."""
    one, first, second = each.mean, each.first.mean, each.second.mean
    if one is None or first is None or second is None:
        return ""
    raw = second.raw.value - first.raw.value
    scores = f"{first.labels:,} and {count(second.labels, 'score')}"
    interval = f"[{one.low:+.2f}, {one.high:+.2f}]"
    return f" · mean {one.value:+.2f} {interval} corrected, {scores} · {raw:+.2f} by the judge"


def _doubt(each: JudgedDifference) -> str:
    """Why a difference isn't corrected, in words."""
    if each.alone and each.first.corrected and each.second.corrected:
        return f"not corrected: only one of the two has {count(each.alone, 'case')}"
    if each.first.why and each.first.why == each.second.why:
        return f"labelled, and not corrected: {each.first.why}"
    if each.first.status == each.second.status == "missing":
        return NOT_CHECKED
    sides: dict[str, str] = {}
    for which, rate in (("first", each.first), ("second", each.second)):
        if rate.why:
            return f"the {which} is labelled, and not corrected: {rate.why}"
        if rate.corrected is None:
            sides[which] = _lack(rate)
    if len(sides) > 1 and len(set(sides.values())) == 1:
        return f"{NOT_CHECKED}: both have {sides['first']}"
    return (
        f"{NOT_CHECKED}: {' and '.join(f'the {which} has {lack}' for which, lack in sides.items())}"
    )


def _lack(rate: JudgedRate) -> str:
    """What a rate has in place of a calibration that corrects it."""
    if rate.status == "stale":
        return f"a stale calibration ({stale_words(rate.changed)})"
    if rate.status == "fresh":
        return "labels that correct nothing (see `evenhand calibrate`)"
    return "no calibration"


def _pair_labels(comparison: ComparedRuns) -> dict[tuple[str, str], str]:
    """What each pair of variants is called, where there are several: by its names if they are short, or by a number."""
    pairs = list(dict.fromkeys(result.columns for result in comparison.results if result.several))
    names = [_pair(pair) for pair in pairs]
    if any(columns(name) > SHORT for name in names):
        names = [f"#{number}" for number in range(1, len(pairs) + 1)]
    return dict(zip(pairs, names, strict=True))


def _pair(pair: tuple[str, str]) -> str:
    first, second = pair
    return first if first == second else f"{first} → {second}"


def headline(
    result: Compared, pairs: Mapping[tuple[str, str], str], judged: Collection[str]
) -> str:
    """The metric, the difference with its interval, and over what.

    Args:
        result: The result.
        pairs: What its variants are called.
        judged: The metrics that have pass rates of a judge, too.
    """
    metric = _metric(result, pairs, judged)
    if result.difference_range is None:
        return f"{metric}: nothing to compare"
    moved = moved_by(result, result.difference_range)
    if result.withheld:
        return f"{metric}: {moved} over {over(result.data)} (paired)"
    if result.data.unscaled:
        return f"{metric}: {moved} over {extent(result)} (paired); {one_way(result)}"
    p = f", {_corrected_p(result)}" if is_tested(result) else ""
    return f"{metric}: {moved}{interval(result)} over {extent(result)} (paired){p}"


def is_tested(result: Compared) -> bool:
    """Whether there are enough cases, or clusters of them, for a p-value to say something."""
    return len(result.data.clusters) >= FEWEST


def says_interval(result: Compared) -> bool:
    """Whether there is an interval of a difference that says something: it has an end, and nothing is withheld."""
    endless = math.isinf(result.low) and math.isinf(result.high)
    return not (endless or result.withheld or result.data.unscaled)


def interval(result: Compared) -> str:
    """The interval of a difference in brackets, after a space; empty where it has no end."""
    if math.isinf(result.low) and math.isinf(result.high):
        return ""
    return f" [{amount(result, result.low)}, {amount(result, result.high)}]"


def extent(result: Compared) -> str:
    """How many cases a result is about, and of how many of them it is predicted."""
    if not result.predicted:
        return over(result.data)
    every = count(result.n + result.predicted, "case")
    return f"{every}, {result.n:,} run and {result.predicted:,} predicted"


def one_way(result: Compared) -> str:
    """How many cases, or clusters of them, went which way: what can be said on a scale that nobody knows."""
    up, down = result.data.directions
    groups = len(result.data.clusters)
    way, most = ("higher", up) if up > down else ("lower", down)
    what = "case" if groups == result.n else "cluster"
    p = f", {_corrected_p(result)}" if is_tested(result) else ""
    return f"{way} in {most:,} of {count(groups, what)}{p}"


UNSCALED = "how large a value can be is unknown, so nothing is said of the mean"


def amount(result: Compared, value: float) -> str:
    """A difference with its sign: in points for rates, otherwise in as many digits as the interval can tell apart."""
    if math.isinf(value):
        return "-∞" if value < 0 else "+∞"
    if result.data.rates:
        return points(value, 1 if _narrow(result) else 0)
    reach = (result.high - result.low) / 2
    largest = max(map(abs, result.difference_range or (0.0,)))
    scale = reach if 0 < reach < math.inf else largest if largest > RESIDUE else 1
    digits = max(0 if scale >= 10 else 2, 1 - math.floor(math.log10(scale * 2)))
    text = f"{float(rounded(value, digits)):+,.{digits}f}"
    return text if text.strip("+-0.") else text[1:]  # zero has no sign


def difference(result: Compared, ends: OpenNumber) -> str:
    """A difference as `amount` writes it, or the two between which errors leave it: `-3 to +7`, or `unknown`."""
    if any(map(math.isinf, ends)):
        return "unknown"
    least, most = (amount(result, end) for end in ends)
    return least if least == most else f"{least} to {most}"


def moved_by(result: Compared, ends: OpenNumber) -> str:
    """A difference with its unit."""
    text = difference(result, ends)
    return in_points(text) if result.data.rates else text


def _narrow(result: Compared) -> bool:
    """Whether so much is known of a rate that tenths of a point say something."""
    return result.high - result.low < 0.05


def _corrected_p(result: Compared) -> str:
    """A result's p-value, and in brackets what a single comparison would have given."""
    alone = f" ({p_value(result.p_alone)} uncorrected)" if _is_corrected(result) else ""
    return f"{p_value(result.p)}{alone}"


def _is_corrected(result: Compared) -> bool:
    """Whether the correction for other results is to be seen in a p-value."""
    return is_tested(result) and result.tests > 1 and p_value(result.p) != p_value(result.p_alone)


def _metric(result: Compared, pairs: Mapping[tuple[str, str], str], judged: Collection[str]) -> str:
    name = safe(result.metric)
    if result.metric in judged and not result.data.rates:
        name += ", mean score"
    return f"{pairs[result.columns]} · {name}" if result.several else name


def sized(result: Compared, size: float, margin: float | None = None) -> str:
    """A size without its sign, with its unit; in as many digits as tell on which side of the margin it is."""
    text = amount(result, size).lstrip("+-")
    if margin is not None and math.isfinite(size):
        unit = 100 if result.data.rates else 1
        digits = len(text.partition(".")[2])
        finer = beside(size * unit, margin * unit, digits=digits, form="f")
        text = finer if len(finer) > len(text.replace(",", "")) else text
    return in_points(text) if result.data.rates else text


def because(result: Compared, comparison: ComparedRuns) -> str:
    """What the verdict rests on, in brackets after a space; empty where a difference was shown."""
    n, margin = result.n, comparison.margin
    if result.withheld:
        return f" ({result.withheld})"
    if not n and result.unlike:
        return f" (the test has changed: {unlike_words(result)})"
    if result.open:
        return f" ({could_turn(result.trials_in_error)})"
    if result.verdict == "undecided" and not n:
        return " (no case has a value in both)"
    if (few := _too_few(result)) is not None:
        return f" ({too_few(few)})"
    if result.data.unscaled:
        return (
            f" ({UNSCALED})" if result.verdict == "undecided" else f" (in most cases; {UNSCALED})"
        )
    if margin is not None:
        # The ends of the two-sided 90 % interval are those of the one-sided test at 5 %.
        low, high = result.data.interval(0.9)
        least = high if result.lower else -low
        written = in_points(as_written(margin * 100)) if result.data.rates else as_written(margin)
        accepted = f"the margin is {written}"
        if result.verdict == "undecided":
            return (
                f" (it may be {sized(result, least, margin)} worse, one-sided, or not; {accepted})"
            )
        if result.verdict == "non-inferior":
            most = (
                "no worse at all"
                if least <= 0
                else f"at most {sized(result, least, margin)} worse, one-sided"
            )
            return f" ({most}; {accepted})"
        return f" ({accepted})"
    if result.verdict in ("better", "worse"):
        return ""
    if result.smallest is None or result.data.rates:
        return f" ({could_show(result.data, result.smallest, result.tests)})"
    if not result.smallest:
        return " (all cases scored the same in both)"
    least = sized(result, result.smallest)
    return f" ({over(result.data)} can only show differences of {least} or more{corrected_for(result.tests)})"


def _too_few(result: Compared) -> str | None:
    """How many cases, or clusters of them, are too few for any verdict; None where there are enough, or none."""
    n, groups = result.n, len(result.data.clusters)
    if result.withheld:
        return None
    if result.verdict != "undecided" or result.open or not n or groups >= FEWEST:
        return None
    return count(n, "case") if n < FEWEST else count(groups, "cluster")


def below(result: Compared) -> Iterator[str]:
    """What there is to know of a result: its levels, what changed, and what was left out."""
    if result.first_range is not None and result.second_range is not None:
        gains = sum(is_better(result, change) for change in result.changed)
        less = ", less is better" if result.lower else ""
        open_ = f", {len(result.unsettled):,} open" if result.unsettled else ""
        yield (
            f"{level(result, result.first_range)} → {level(result, result.second_range)}{less} · "
            f"{gains:,} better, {len(result.changed) - gains:,} worse, "
            f"{result.alike:,} the same{open_}{' of the cases that were run' if result.predicted else ''}"
        )
    width = max((columns(_short(c.name)) for c in result.changed[:CHANGES]), default=0)
    for change in result.changed[:CHANGES]:
        yield (
            f"{'✓' if is_better(result, change) else '✗'} {padded(_short(change.name), width)}  "
            f"{level(result, change.first_range)} → {level(result, change.second_range)}"
        )
    if len(result.changed) > CHANGES:
        yield f"  … and {len(result.changed) - CHANGES:,} more"
    for names, what in (
        (result.only_first, "only in the first"),
        (result.only_second, "only in the second"),
        (result.errors, "whose trials are all in error"),
        (result.other, "without this metric, or to which it does not apply"),
    ):
        if names:
            yield f"left out: {count(len(names), 'case')} {what}: {_list(names)}"
    for why, cases in result.unlike.items():
        yield f"left out: {count(len(cases), 'case')} {why}: {_list(cases)}"
    if result.trials_in_error:
        note = f"{count(result.trials_in_error, 'trial')} in error may have come out either way"
        if result.unsettled:
            what = f"which leaves {count(len(result.unsettled), 'case')} open"
            note += f", {what}: {_list(result.unsettled)}"
        yield note
    if result.judges is not None and not result.other_judge:
        note = (", ".join(side) or "nobody" for side in result.judges)
        yield "! not judged alike: {} in the first, {} in the second".format(*note)


def is_better(result: Compared, change: CaseChange) -> bool:
    """Which way a case changed; those that errors leave open are not among the changes."""
    return (change.difference_range.least > 0) != result.lower


def level(result: Compared, ends: OpenNumber) -> str:
    """A mean of one side, or the two between which errors leave it, if any."""
    if any(map(math.isinf, ends)):
        return "unknown"
    if result.data.rates:
        return percents(*ends, digits=1 if _narrow(result) else 0)
    least, most = (f"{end:,.4g}" for end in ends)
    return most if least == most else f"{least}–{most}"


def _short(name: str) -> str:
    return clip(safe(name), NAME)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(_short, names[:NAMED])) + more


def html(comparison: ComparedRuns) -> str:
    """The comparison as a `div`, for a notebook; no script, no style sheet, all text escaped."""
    parts = [f"<div><p><b>{_text(comparison.first)} → {_text(comparison.second)}</b>: "]
    parts.append(f"{_colored(comparison.verdict)}</p><table><thead><tr>")
    heads = ("", "first", "second", "difference", "95 %", "cases", "p", "verdict")
    parts += [f"<th>{head}</th>" for head in heads]
    parts.append("</tr></thead><tbody>")
    pairs = {result.columns: _pair(result.columns) for result in comparison.results}
    judged = {each.metric for each in comparison.judged}
    for result in comparison.results:
        cells = ["–"] * 4
        if result.first_range and result.second_range and result.difference_range:
            cells = [level(result, result.first_range), level(result, result.second_range)]
            cells.append(moved_by(result, result.difference_range))
            reach = f"{amount(result, result.low)} to {amount(result, result.high)}"
            # As in a line: of what says nothing no interval is told, and no p.
            cells.append(reach if says_interval(result) else "–")
        p = p_value(result.p).removeprefix("p = ").removeprefix("p ")
        cells += [f"{result.n:,}", p if is_tested(result) and not result.withheld else "–"]
        parts.append(
            f'<tr><th style="text-align:left">{_text(_metric(result, pairs, judged))}</th>'
        )
        parts += [f"<td>{_text(cell)}</td>" for cell in cells]
        parts.append(f"<td>{_colored(result.verdict)}</td></tr>")
    details = _text("\n".join(lines(comparison)))
    return (
        "".join(parts) + f'</tbody></table><pre style="white-space:pre-wrap">{details}</pre></div>'
    )


def _colored(word: str) -> str:
    color = COLORS.get(word)
    return f'<b style="color:{color}">{word}</b>' if color else f"<b>{word}</b>"


def _text(text: str) -> str:
    return escape(safe(text, multiline=True))
