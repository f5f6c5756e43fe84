"""Of awkward runs the page, the console, Markdown and JSON say the same numbers, and nothing that isn't known."""

from __future__ import annotations

import asyncio
import io
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.viewer.conftest import Served, serving
from tests.runs import result

from evenhand.analysis.summaries.rates import latencies, mean_cell, rates, scores
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.words import interval, seconds, share_within
from evenhand.render.document import document_head
from evenhand.render.markdown import write_markdown
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.history import measures

Scale = tuple[float, float]
BROKEN = Outcome("m", "error", None, "the judge gave no verdict", metric="m", error="judge")


def verdicts(passed: int, failed: int = 0, errors: int = 0) -> list[TrialResult]:
    """So many trials of each kind, every one a case."""
    kinds = [True] * passed + [False] * failed + [None] * errors
    return [result(i, ok=kind) for i, kind in enumerate(kinds)]


def rated(
    values: Sequence[float | None], scale: Scale | None = (0, 1), **more: Any
) -> list[TrialResult]:
    """A trial for each score of the metric `m`; in error where there is none."""
    return [
        result(
            i,
            ok=None if value is None else True,
            score=value,
            scale=scale,
            outcomes=(BROKEN,)
            if value is None
            else (Outcome("m", "pass", value, "", metric="m", scale=scale),),
            named_scores={} if value is None else {"m": value},
            **more,
        )
        for i, value in enumerate(values)
    ]


def failed(index: int, *outcomes: Outcome) -> TrialResult:
    """A trial that failed and has no score of its own."""
    return result(index, ok=False, score=None, outcomes=outcomes)


def repeated() -> list[TrialResult]:
    """One trial of a case, and five of another."""
    first = result(0, case="a")
    return [first, *(result(1 + i, case="b", ok=i < 3, repeat=i) for i in range(5))]


def two_columns() -> list[TrialResult]:
    """The second column fails once, and has an error."""
    kinds = [
        (i, v, True if v == 0 or i > 1 else None if i else False) for i in range(8) for v in (0, 1)
    ]
    return [result(n, case=f"c{i}", variant=v, ok=ok) for n, (i, v, ok) in enumerate(kinds)]


RUNS: Mapping[str, Callable[[], list[TrialResult]]] = {
    "all but one of a thousand": lambda: verdicts(999, 1),
    "one of a thousand": lambda: verdicts(1, 999),
    "all of three hundred": lambda: verdicts(300),
    "a single case": lambda: verdicts(1),
    "errors alone": lambda: verdicts(0, 0, 3),
    "all kinds": lambda: verdicts(2, 1, 1),
    "nothing applies": lambda: [
        replace(result(i, ok=False), outcome="not_applicable", score=None, outcomes=()) for i in range(3)
    ],
    "uneven repeats": repeated,
    "two columns": two_columns,
    "a metric in error": lambda: rated([0.5, 0.6, 0.7, 0.8, None]),
    "a metric in error beside a failure": lambda: [
        *rated([0.5, 0.6, 0.7, 0.8]), failed(4, Outcome("c", "fail", 0.0, "no"), BROKEN)
    ],
    "a failure without a score": lambda: [
        *rated([1.0, 1.0, 1.0, 1.0]), failed(4, Outcome("c", "fail", None, "no"))
    ],
    "an unknown scale": lambda: rated([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, None], None),
    "a few of an unknown scale": lambda: rated([10.0, 20.0, None], None),
    "below zero": lambda: rated([-1.5 * i for i in range(6)], None),
    "nearly one": lambda: rated([0.9996] * 40),
    "nearly nothing": lambda: rated([1e-5 * i for i in range(1, 7)]),
    "times beside an error": lambda: [
        *(result(i, latency_s=0.1 * (i + 1), calls=1) for i in range(6)), result(6, ok=None)
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The runs' files, by what is awkward about them."""
    folder = tmp_path_factory.mktemp("awkward") / "home" / "runs"

    async def written(place: int, title: str, trials: Sequence[TrialResult]) -> Path:
        variants = tuple(
            Variant(i, f"prompt {i}", "echo") for i in sorted({t.variant for t in trials})
        )
        journal = Journal.create(
            folder,
            RunMeta(
                f"01KAEXAMPLE00000000000{place:04}",
                title=title,
                fingerprint="f",
                variants=variants,
                created_at=time.time() - 9,
                planned=len(trials),
                case_count=len({trial.case for trial in trials}),
                repeats=1 + max(trial.repeat for trial in trials),
                source=f"/{title}",
            ),
        )
        for trial in trials:
            await journal.settle(trial)
        await journal.finish("finished", "")
        return journal.path

    async def all_written() -> dict[str, Path]:
        return {
            name: await written(place, name, make())
            for place, (name, make) in enumerate(RUNS.items())
        }

    return asyncio.run(all_written())


@pytest.fixture(scope="module")
def viewer(awkward: Mapping[str, Path]) -> Iterator[Served]:
    """A viewer on them."""
    with serving(next(iter(awkward.values())).parents[1]) as served:
        yield served


def numbers(text: str) -> list[float]:
    """The numbers of a text, without noughts at their ends; of `1 ±2` the two ends."""
    text = text.replace("−", "-").removesuffix(" ±?")
    if found := re.fullmatch(r"(\S+) ±(\S+)", text):
        value, half = map(float, found.groups())
        return [value, value - half, value + half]
    return [float(each) for each in re.findall(r"(?<![\d.)])-?\d[\d.]*(?:e[-+]?\d+)?", text)]


def alike(page: str, console: str) -> bool:
    """Whether two texts say the same numbers, each rounded as its place has room for."""
    first, second = numbers(page), numbers(console)
    return len(first) == len(second) and all(
        a == pytest.approx(b, rel=0.15, abs=0.0051) for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("name", RUNS)
def test_the_page_says_what_the_console_says(
    name: str, awkward: Mapping[str, Path], viewer: Served, watch: Any
):
    """Rates, intervals, scores, the means of metrics and latencies, in every column."""
    seen = watch(viewer.link)
    with RunFile.open(awkward[name]) as run:
        seen.turn(run.meta.id)
        markdown = io.StringIO()
        write_markdown(run, markdown)
        each = zip(
            document_head(run)["rates"],
            rates(run),
            scores(run),
            latencies(run),
            measures(run),
            strict=True,
        )
        for column, (row, rate, score, latency, measured) in enumerate(each):
            head = seen.page.get_by_role("columnheader").nth(column + 1)
            parts = head.locator(".head-number").all_inner_texts()
            said = {text.split()[0]: text.partition(" ")[2].strip() for text in parts}
            assert head.locator("b").first.inner_text() == str(rate)
            assert (
                f"{rate.passed:,}/{rate.trials:,} | {rate} | {rate.reach} | " in markdown.getvalue()
            )
            if rate.share is not None:
                shown = head.locator(".head-n").inner_text()
                assert shown == f"{rate.reach} % · {rate.passed:,}/{rate.trials:,}"
                ends = [row[key] for key in ("rate_least", "rate_most", "low", "high")]
                assert (share_within(*ends), interval(*ends[2:])) == (str(rate), rate.reach)
            assert alike(said["score"], mean_cell(score))
            assert said["latency"] == ("–" if latency is None else seconds(latency.value))
            if (mean := measured.means.get("~m")) is not None and mean.least is not None:
                assert mean.most is not None
                least, most = f"{mean.least:.4g}", f"{mean.most:.4g}"
                assert alike(said["m"], least if least == most else f"{least}–{most}")


@pytest.mark.parametrize("name", [name for name in RUNS if "error" in name or "failure" in name])
def test_a_mean_that_errors_leave_open_is_no_point(
    name: str, awkward: Mapping[str, Path], viewer: Served, watch: Any
):
    """It is a range in the history of its config."""
    seen = watch(viewer.link)
    page = seen.page
    with RunFile.open(awkward[name]) as run:
        for measure, mean in measures(run)[0].means.items():
            if measure not in ("score", "~m"):
                continue
            known = mean.least is not None and mean.least == mean.most
            seen.turn(run.meta.id, view="history", plot=measure)
            page.locator(".history-svg").wait_for()
            assert page.locator(".history-svg .history-point").count() == known
            assert page.locator(".history-svg .history-open").count() == (not known)
