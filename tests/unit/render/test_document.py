from __future__ import annotations

import io
import json
import tracemalloc
from dataclasses import replace

import pytest
from tests.runs import ID, SUMMARIES, Make, result

from evenhand.core.encoding import encode
from evenhand.core.run import TrialError
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.json_text import json_text
from evenhand.render.document import document, write_document
from evenhand.stats.interval import wilson
from evenhand.stats.tallies import share_of
from evenhand.store.runfile import RunFile


def written(run: RunFile) -> tuple[dict, str]:
    """The document of a run, read and as it was written."""
    out = io.StringIO()
    count = write_document(run, out)
    read = json.loads(out.getvalue())
    assert count == len(read["trials"])
    return read, out.getvalue()


PROMISED = "case variant repeat outcome score output error latency_s cost_usd named_scores outcomes".split()


async def test_the_document_has_the_keys_that_programs_go_by(make_run: Make) -> None:
    """The schema of `--json`, key by key; the first of them are a promise, the others come along."""
    outcome = Outcome('contains "a"', "fail", 0.0, "no a", metadata={"x": 1}, at_least=1.0)
    run = await make_run(
        [
            result(
                0,
                ok=False,
                case="c1",
                outcomes=(outcome,),
                output={"k": [1]},
                latency_s=0.5,
                cost_usd=0.1,
                named_scores={"tone": 0.5},
                tokens_in=3,
                tokens_out=4,
                calls=1,
            ),
            result(1, ok=None, error=TrialError("auth", "no key", "Set it.")),
        ],
        (Variant(0, "p", "m"),),
    )
    read, _ = written(run)
    heads = (
        "schema run verdict requirements totals configuration usage rates judged canaries "
        "slices classification triggers preferences rankings empty_answers low_confidence"
    )
    assert list(read) == [*heads.split(), "warnings", "labels", "trials"]
    assert read["schema"] == "evenhand.run/1"
    told = {"id": ID, "file": str(run.path), "status": "finished"}
    assert read["run"] == {**read["run"], **told}
    assert list(read["trials"][0])[: len(PROMISED)] == PROMISED
    first = {key: read["trials"][0][key] for key in PROMISED}
    assert (read["trials"][0]["tokens_in"], read["trials"][0]["tokens_out"]) == (3, 4)
    assert read["verdict"] == "failed"
    assert read["totals"] == {
        "trials": 2, "passed": 0, "failed": 1, "errors": 1, "not_applicable": 0,
        "calls": 1, "cached": 0, "cost_usd": None, "tokens_in": 3, "tokens_out": 4,
    }  # fmt: skip
    assert first == {
        "case": "c1",
        "variant": {"prompt": "p", "model": "m"},
        "repeat": 0,
        "outcome": "fail",
        "score": 0.0,
        "output": {"k": [1]},
        "error": None,
        "latency_s": 0.5,
        "cost_usd": 0.1,
        "named_scores": {"tone": 0.5},
        "outcomes": [
            {
                "name": 'contains "a"',
                "outcome": "fail",
                "score": 0.0,
                "reason": "no a",
                "metadata": {"x": 1},
                "at_least": 1.0,
                "at_most": None,
                "weight": 1.0,
                "metric": "",
                "error": "",
            }
        ],
    }
    assert read["trials"][1]["error"] == {"slug": "auth", "message": "no key", "where": "Set it."}
    assert read["trials"][1]["score"] is None
    assert json.loads(json_text(document(run))) == read


async def test_the_document_says_what_was_run_and_how(summaries_run: RunFile) -> None:
    """Versions, settings, configuration and columns; who was asked what in which role."""
    read, _ = written(summaries_run)
    found = read["configuration"]
    assert list(found) == (
        "evenhand fingerprint cases repeats pass_rate variants settings config".split()
    )
    assert (found["cases"], found["repeats"]) == (8, 1)
    assert [v["prompt"] for v in found["variants"]] == [v.prompt for v in SUMMARIES]
    assert [(used["role"], used["calls"], used["cached"]) for used in read["usage"]] == [
        ("subject", 24, 0),
        ("judge", 24, 0),
    ]
    assert read["usage"][0] == {
        "role": "subject", "model": "anthropic:messages:claude", "answered": ["claude"], "calls": 24, "cached": 0,
        "tokens_in": 3600, "tokens_out": 1200, "unanswered": 0, "cost_usd": pytest.approx(0.0144),
    }  # fmt: skip


async def test_rates_take_repeats_for_what_they_are(make_run: Make) -> None:
    """Each column's rate has its interval over cases, and its flaky cases by their real names, the worst first."""
    trials = [
        result(2 * i + repeat, case=case, ok=ok, repeat=repeat)
        for i, (case, oks) in enumerate([("wässrig", (1, 0)), ("a", (1, 1)), ("b", (0, 0))])
        for repeat, ok in enumerate(map(bool, oks))
    ]
    read, _ = written(await make_run([*trials, result(6, ok=None)], repeats=2))
    (rate,) = read["rates"]
    counts = {key: rate[key] for key in ("passed", "trials", "errors", "cases")}
    assert counts == {"passed": 3, "trials": 7, "errors": 1, "cases": 4}
    assert (rate["rate"], rate["rate_least"], rate["rate_most"]) == (None, 1.5 / 4, 2.5 / 4)
    assert rate["low"] == pytest.approx(share_of([0.5, 1, 0, 0], None).low)
    assert rate["high"] == pytest.approx(share_of([0.5, 1, 0, 1], None).high)
    assert rate["flaky"] == [{"case": "wässrig", "passed": 1, "trials": 2, "errors": 0}]


async def test_a_rate_of_nothing_is_null(make_run: Make) -> None:
    """Errors alone leave everything open; of what did not apply there is no rate at all."""
    keys = ("rate", "rate_least", "rate_most", "low", "high")
    read, _ = written(await make_run([result(0, ok=None)]))
    assert [read["rates"][0][key] for key in keys] == [None, 0, 1, 0, 1]
    read, _ = written(await make_run([replace(result(0), outcome="not_applicable")]))
    assert [read["rates"][0][key] for key in keys] == [None] * 5


async def test_one_trial_is_one_line(summaries_run: RunFile) -> None:
    """The document can be read by line, too."""
    _, text = written(summaries_run)
    assert len(text.splitlines()) == 24 + 2


async def test_a_run_without_results_is_a_document(make_run: Make) -> None:
    """No trials, no verdict."""
    read, _ = written(await make_run([], planned=3))
    assert read["trials"] == []
    assert read["verdict"] == "undecided"


async def test_text_of_any_kind_comes_through(make_run: Make) -> None:
    """Lone surrogates, NULs, line separators and escapes are what they were after reading."""
    texts = ["a\ud800b", "\x00\x1b[2J", "\u2028\u2029", "水 👩‍🔬", '"\\']
    run = await make_run(
        [result(i, output=text, vars={text: text}) for i, text in enumerate(texts)]
    )
    read, raw = written(run)
    assert [trial["output"] for trial in read["trials"]] == texts
    raw.encode("utf-8")


async def test_a_stream_of_few_characters_gets_escapes(make_run: Make) -> None:
    """JSON on an ASCII stdout is JSON still."""
    run = await make_run([result(0, output="水 😀 \ud800")])
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    write_document(run, out)
    out.flush()
    assert json.loads(raw.getvalue())["trials"][0]["output"] == "水 😀 \ud800"


async def test_numbers_that_json_has_no_word_for_never_appear(make_run: Make) -> None:
    """A result with NaN in it is an error in the document, not NaN and not null."""
    read, raw = written(await make_run([result(0, output=[float("nan")]), result(1)]))
    assert "NaN" not in raw
    assert read["trials"][0]["outcome"] == "error"
    assert read["trials"][0]["error"]["slug"] == "code"


async def test_repeats_tell_how_many_pass_once_and_every_time(make_run: Make) -> None:
    """pass@k and pass^k for each number of tries, over cases; an error may be either outcome."""
    passes = {"a": 3, "b": 3, "c": 1, "d": 0}
    trials = [
        result(3 * i + r, case=case, ok=r < n, repeat=r, score=float(r < n))
        for i, (case, n) in enumerate(passes.items())
        for r in range(3)
    ]
    trials += [result(12 + r, case="e", ok=True if r else None, repeat=r) for r in range(3)]
    read, _ = written(await make_run(trials, repeats=3))
    one, two, three = read["rates"][0]["tries"]
    assert [(tries["k"], tries["cases"]) for tries in (one, two, three)] == [(1, 5), (2, 5), (3, 5)]
    assert one["at_least_once"] == pytest.approx(one["every_time"])
    assert two["at_least_once"]["rate"] == pytest.approx((1 + 1 + 2 / 3 + 0 + 1) / 5)
    always = three["every_time"]
    assert (always["rate"], always["rate_least"], always["rate_most"]) == (None, 0.4, 0.6)
    assert always["low"] == pytest.approx(wilson(2, 5)[0])
    assert always["high"] == pytest.approx(wilson(3, 5)[1])
    score = read["rates"][0]["score"]
    assert score["mean"] is None
    ends = [(1 + 1 + 1 / 3 + 0 + end) / 5 for end in (2 / 3, 1)]
    assert [score["least"], score["most"]] == pytest.approx(ends)
    assert score["low"] < score["least"] < score["most"] < score["high"]


async def test_without_repeats_there_are_no_tries(make_run: Make) -> None:
    """And the mean score of a single case has an interval over most of its scale."""
    read, _ = written(await make_run([result(0)]))
    assert read["rates"][0]["tries"] == []
    assert read["rates"][0]["score"] == {
        "mean": 1, "least": 1, "most": 1, "low": wilson(1, 1)[0], "high": 1,
    }  # fmt: skip


def test_json_text_keeps_the_order_of_keys() -> None:
    """Keys stand in the document's order, unlike in what is hashed."""
    assert json_text({"b": 1, "a": "\ud800"}) == '{"b":1,"a":"\\ud800"}'
    assert json_text({"b": 1, "a": 2}) == '{"b":1,"a":2}'
    assert encode({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


@pytest.mark.thorough
async def test_a_large_run_passes_through_in_flat_memory(make_run: Make) -> None:
    """What is held does not grow with the number of trials."""

    class Nowhere(io.TextIOBase):
        encoding = "utf-8"

        def write(self, text: str) -> int:
            return len(text)

    run = await make_run([result(i, output="x" * 1000) for i in range(3000)])
    tracemalloc.start()
    assert write_document(run, Nowhere()) == 3000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
