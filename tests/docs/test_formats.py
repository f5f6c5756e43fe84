"""The pages on formats say what is written: keys, types, and what may be null."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.e2e.commands import in_process
from tests.runs import (
    SUMMARIES,
    Make,
    baseline_of,
    result,
    summaries,
)
from tests.unit.analysis.trust.labels.test_ranking_labels import better
from tests.unit.analysis.trust.labels.test_ranking_labels import label as label_pairs
from tests.unit.analysis.trust.test_scores_calibrated import a_scored_run
from tests.unit.analysis.trust.test_scores_calibrated import label as label_scores
from tests.unit.analysis.trust.test_standings import NAME, drawn
from tests.unit.render.test_judge_trust import a_run
from tests.unit.render.test_uneven_draws import labelled as label_unevenly
from tests.unit.render.test_uneven_draws import unsure

from evenhand.analysis.estimates.earlier_run import Precedent
from evenhand.analysis.gates.baseline import BaselineRun
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline, written
from evenhand.analysis.gates.baseline_making import baseline_parts
from evenhand.analysis.gates.gate_results import Stopping, nothing
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.analysis.history.history import history
from evenhand.analysis.summaries.variance_shares import TrialCost
from evenhand.analysis.trust.audit import Audit, GroupCount
from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import update_calibration
from evenhand.analysis.trust.canaries import canary_report
from evenhand.analysis.trust.labels.drawing import draw
from evenhand.analysis.trust.labels.failure_codes import codes_document
from evenhand.analysis.trust.labels.uneven_drawing import draw_unsure
from evenhand.analysis.trust.power import JudgeWorth, Pilot, Power
from evenhand.analysis.trust.power_document import PowerJudge, PowerSample, PowerWording
from evenhand.analysis.trust.selective import selective_verdicts
from evenhand.cli.merge import merge_document
from evenhand.cli.regrade import print_json
from evenhand.cli.status import status_document
from evenhand.core.definition import Definition
from evenhand.core.document import as_object
from evenhand.core.encoding import encode
from evenhand.core.errors import Problem
from evenhand.core.expect import Trial
from evenhand.core.plan import CallEstimate
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.run import CallEnd, CallStart, ToolRecord, Totals
from evenhand.core.score import Outcome
from evenhand.core.shard import Shard, Sharded
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.doors.importers.import_report import ImportedDataset, ImportedFile
from evenhand.doors.importers.import_report import document as import_document
from evenhand.doors.importers.registry import read_runs
from evenhand.render import estimates
from evenhand.render.comparing import compare
from evenhand.render.document import trial_row, write_document
from evenhand.render.estimates import estimate_row
from evenhand.render.gate import document as gate_document
from evenhand.render.history_text import document as history_document
from evenhand.stats.variance_parts import CaseSides, variance_parts
from evenhand.store import schema
from evenhand.store.cache import Cache
from evenhand.store.calls import BatchRecord
from evenhand.store.cassette_writing import cassette_of
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_draw, add_metric_labels, add_pair_labels
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.merging import merge
from evenhand.store.runfile import RunFile
from evenhand.testing import example
from evenhand.wings.judge_checks.canaries import kept_canaries
from evenhand.wings.judge_checks.judge_variants import JudgeModel, JudgeVariant
from evenhand.wings.judge_checks.probe import ATTACK, CONTROL, probe_of, probed_axes
from evenhand.wings.judge_checks.tried import (
    CHOOSING,
    CONFIRMING,
    TODAY,
    JudgeTryout,
    Tried,
    TriedCascade,
    TriedItem,
    TriedJudge,
    Tryout,
    decide,
)
from evenhand.wings.remotes.address import Address
from evenhand.wings.remotes.opening import remote_at
from evenhand.wings.remotes.pushing import push, push_document
from evenhand.wings.remotes.remote import write_manifest

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"
MAIN = "The document"
_ROW = re.compile(r"^\| `(\w+)` \|([^|]+)\|([^|]*)\|([^|]+)\|([^|]*)\|$", re.MULTILINE)
_TYPES = {
    "text": str,
    "number": (int, float),
    "integer": int,
    "true or false": bool,
    "object": dict,
    "any": object,
}

RUBRIC = Outcome("rubric", "pass", 1.0, metadata={"judge": "echo", "prompt": "llm-rubric/1"})
JUDGE_CALL = CallStart(0, "l", 0, "judge", "echo", b"{}", None)

STEPS = (Step("tool", "read", {"page": 1}, "long " * 300, "ok"), *[Step("message", "user")] * 200)

DECIDED = {
    "verdict": "passed",
    "cases": 1,
    "of": 9,
    "seed": 0,
    "alpha": 0.05,
    "columns": [
        {
            "variant": 0,
            "state": "kept",
            "least": 0.8,
            "most": 0.9,
            "low": 0.7,
            "high": 1.0,
            "of": 8,
            "predicted": True,
            "about": False,
        }
    ],
    "chances": {"a": 0.4},
}

Shapes = Mapping[str, Mapping[str, tuple[str, str]]]


def shapes(name: str) -> Shapes:
    """The tables of a page by their headings: of each key its type, and when it is null."""
    parts = re.split(r"^## (.+)$", (FORMATS / name).read_text("utf-8"), flags=re.MULTILINE)
    return {
        heading: {
            key: (re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", kind.strip()), null.strip())
            for key, kind, _, null, _ in _ROW.findall(text)
        }
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def differences(value: Any, kind: str, tables: Shapes, seen: set[str], at: str) -> Iterator[str]:
    """Where a value is not as its table says; the keys that it has are added to `seen`."""
    if kind.startswith("list of "):
        if not isinstance(value, list):
            yield f"{at} is not a list"
            return
        for i, item in enumerate(value):
            yield from differences(item, kind.removeprefix("list of "), tables, seen, f"{at}[{i}]")
    elif kind in tables:
        for key, inner in value.items():
            if key not in tables[kind]:
                yield f"{at}.{key} is not on the page"
                continue
            seen.add(f"{kind}: {key}")
            type_, null = tables[kind][key]
            if inner is not None:
                yield from differences(inner, type_, tables, seen, f"{at}.{key}")
            elif null.startswith("never"):
                yield f"{at}.{key} is null"
    elif not any(isinstance(value, _TYPES[word]) for word in kind.split(" or ") if word in _TYPES):
        if not (kind == "true or false" and isinstance(value, bool)):
            yield f"{at} is {value!r}, no {kind}"
    elif isinstance(value, bool) and kind in ("number", "integer"):
        yield f"{at} is {value!r}, no {kind}"


def agree(page: str, documents: list[dict[str, Any]]) -> None:
    """Every key of the documents is on the page as it is, and every key of the page is in some document."""
    tables, seen = shapes(page), set[str]()
    read = [json.loads(json.dumps(document)) for document in documents]
    wrong = [text for one in read for text in differences(one, MAIN, tables, seen, "document")]
    assert wrong == []
    every = {f"{heading}: {key}" for heading, rows in tables.items() for key in rows}
    assert sorted(every - seen) == [], "on the page, and in no document"


def document_of(run: RunFile, *, calls: bool = False) -> dict[str, Any]:
    """What `--json` prints."""
    out = io.StringIO()
    write_document(run, out, calls=calls)
    return json.loads(out.getvalue())


def _contradict(run: RunFile) -> None:
    """Has another person say the opposite of the first label."""
    (one, *_) = run.metric_labels()
    opposite = "fail" if one.verdict == "pass" else "pass"
    add_metric_labels(run.path, "bo", [(one.index, one.metric, opposite)])


async def test_the_page_on_runs_has_every_key_of_the_document(make_run: Make):
    """Runs with errors, repeats, tags, labels, skills, preferences, batches and calls that never ended."""
    found = Outcome("found", "pass", 1.0, named={"trigger precision": 1.0, "trigger recall": 1.0})
    preferred = Outcome(
        "kinder", "pass", 1.0, metadata={"winner": "output", "consistent": True, "orders": [{}, {}]}
    )
    label = Outcome(
        "label", "fail", 0.0, metadata={"expected_label": "a", "answered_label": "zebra"}
    )
    trials = [
        result(
            0, case="x", outcomes=(found, preferred, RUBRIC), metadata={"tags": ["t"]}, expected="a"
        ),
        result(1, case="x", outcomes=(label,), repeat=1, ok=False, input="in", expected="a"),
        result(2, case="y", ok=None, steps=STEPS),
        result(3, case="y", ok=None, repeat=1),
    ]
    call = CallStart(0, "k", 0, "subject", "echo", b"{}", None)
    calls = [
        (call, CallEnd(b"{}", "provider", 0.1, 1, 1, 0.1, "m")),
        (JUDGE_CALL, None),
    ]
    run = await make_run(
        trials,
        (Variant(0, "p", "m", eval="set.eval"),),
        calls=calls,
        repeats=2,
        requirements=(Requirement(PASSED, Bound(at_least=0.5), (0,)),),
    )
    append_labels(run.path, [NewLabel(0, "note", "good", "ann")])
    add_draw(run.path, 1, ["rubric"], 1, [0])
    add_metric_labels(run.path, "ann", [(0, "rubric", "pass")])
    add_metric_labels(run.path, "bo", [(0, "rubric", "pass")])
    decided = {key: one.row() for key, one in selective_verdicts(run, 0.1).items()}
    counted = Audit(
        name="length", result="biased", words="…", counts=(GroupCount("long", "pass", 1, 1),)
    )
    plain = calibrate(run)
    audited = replace(plain, audits={key: [counted] for key in plain.audits})
    decision = Outcome("d", "pass", 1.0, metadata={"judge": "a", "probability": 0.9})
    graded = await _labelled(make_run, decision)
    first = {"probability": 0.9, "certainty": 0.9, "judge": "a"}
    staged = {"first": first, "then": {"certainty": 0.9, "judge": "b"}}
    cascade = {"id": "c", "risk": 0.2, "stage": "then", **staged}
    by_stage = Outcome("c", "pass", 1.0, metadata={"judge": "b", "cascade": cascade})
    cascaded = await _labelled(make_run, by_stage)
    jury = Outcome("j", "pass", 1.0, metadata={"jury": [{"judge": "a", "passed": True}]})
    by_jury = await _labelled(make_run, jury)
    compared = label_pairs(
        await make_run(drawn(40, [0.5, 0, -1]), SUMMARIES), 60, better([0, 1, 2])
    )
    again = [(one.pair, NAME, one.answer) for one in compared.pair_labels()[:20]]
    add_pair_labels(compared.path, "bo", again)
    scored = await a_scored_run(make_run)
    scored = label_scores(scored, draw(scored, 60, seed=1).places)
    uneven = await a_run(make_run, 200, change=unsure)
    uneven = label_unevenly(uneven, draw_unsure(uneven, 90, seed=4).places)
    _contradict(uneven)
    evals = await a_run(
        make_run,
        40,
        change=lambda trial: replace(trial, variant=trial.index % 2),
        variants=(Variant(0, "one", "m", eval="one"), Variant(1, "two", "m", eval="two")),
    )
    calibrated = (run, graded, cascaded, by_jury, compared, scored, uneven, evals)
    documents = [calibrate(one).document() for one in calibrated]
    file = run.path.with_name("calibration.json")
    for one in (compared, uneven, by_jury):
        update_calibration(calibrate(one), file)
    kept = json.loads(file.read_text("utf-8"))
    agree("calibration-1.md", [*documents, audited.document(decided), kept])
    batch = await make_run(
        [result(0, case="x", named_scores={"RR": 1.0}, metadata={"tags": ["t"]})],
        config={"metrics": [{"name": "RR", "best": 1, "counted": True}]},
    )
    with RunFile.open(run.path) as labelled:
        replay = {"run": "r", "file": "r.db", "recorded_at": 1.5, "asks": False}
        stopped = await make_run(
            [result(0)], status="decided", decided=DECIDED, settings={"replay": replay}
        )
        ranked = await make_run(_ranked(), SUMMARIES)
        tagged = await make_run(
            [
                result(i, case=f"c{i}", ok=bool(i % 3), metadata={"tags": [f"t{i % 4}"]})
                for i in range(12)
            ]
        )
        runs = (labelled, batch, stopped, ranked, compared, scored, tagged)
        documents = [document_of(one, calls=one is labelled) for one in runs]
        documents[0]["trials"].append(
            as_object(trial_row(trials[0], labelled.meta.variants, list(labelled.labels())))
        )
        agree("run-1.md", documents)


async def _labelled(make_run: Make, outcome: Outcome) -> RunFile:
    """A run of 30 such outcomes, each drawn and labelled as a pass."""
    name = outcome.name
    run = await make_run([result(i, case=f"c{i}", outcomes=(outcome,)) for i in range(30)])
    add_draw(run.path, 1, [name], 30, list(range(30)))
    add_metric_labels(run.path, "ann", [(i, name, "pass") for i in range(30)])
    return run


def _ranked() -> list[Any]:
    """Two variants compared in both orders, and a ranking of nothing but ties."""

    def pair(other: int, *said: str) -> Outcome:
        orders = [
            {"first": first, "said": word, "judge": "j"}
            for first, word in zip((other - 1, other), said, strict=True)
        ]
        row = {"variant": other, "winner": None, "consistent": True, "orders": orders}
        return Outcome(f"by {said}", "pass", 0.5, metadata={"ranked": [row]})

    outcomes = (pair(1, "first", "second"), pair(1, "tie", "tie"))
    return [
        result(0, case="x", variant=0, outcomes=outcomes),
        result(1, case="x", variant=1),
        result(2, case="x", variant=2),
    ]


async def test_the_page_on_comparisons_has_every_key_of_the_document(make_run: Make):
    """Decided ones, ones that errors leave open, and one without a pair."""
    run = await make_run(summaries(), SUMMARIES)
    errors = await make_run(
        [result(i, variant=v, case=f"c{i // 2}", ok=None if i < 2 else bool(v)) for i in range(12)
         for v in (i % 2,)],
        SUMMARIES[:2],
    )  # fmt: skip
    judged = await make_run(
        [result(i, case="x", variant=i, outcomes=(RUBRIC,)) for i in (0, 1)],
        SUMMARIES[::2],
        calls=[(JUDGE_CALL, None)],
    )  # fmt: skip
    replay = {"run": errors.meta.id, "file": "r.db", "recorded_at": 1.0, "regrades": True}
    again = await make_run([result(2, case="c1")], SUMMARIES[:2], settings={"replay": replay})
    agree(
        "compare-1.md",
        [
            compare(f"{run.path}:basic", f"{run.path}:best").document(),
            compare(f"{errors.path}:basic", f"{errors.path}:better").document(),
            compare(f"{judged.path}:basic", f"{judged.path}:best").document(),
            compare(errors, again).document(),
        ],
    )


async def test_the_page_on_power_has_every_key_of_the_document():
    """From numbers, with repeats and a judge, and without."""
    judges = [JudgeWorth("a", 0.8, 0.5, 100), JudgeWorth("", 0.8, None, None)]
    again = PowerJudge(metric="a", model="j", variance=0.1, low=0.0, high=0.2, outputs=9)
    wording = PowerWording(
        of="judge", variance=0.1, low=0.0, high=0.3, wordings=2, cases=9, left_out=1
    )
    pilots = (
        Pilot(
            rate=0.8,
            differing=0.2,
            within=0.1,
            cases=50,
            judges=judges,
            spread=variance_parts([CaseSides(([1.0, float(i % 2)],)) for i in range(9)], 1.0),
            deciding={("a", "j")},
            cost=TrialCost(2, 0.01),
            again=[again],
            wording=wording,
            sample=PowerSample(cases=40, of=50, margin=0.05, least_margin=0.04),
        ),
        Pilot(rate=0.8),
    )
    agree("power-1.md", [Power(pilot, 0.05, 0.05).document() for pilot in pilots])


async def test_the_page_on_probes_has_every_key_of_the_document(make_run: Make):
    """Attacks that fool, kinds without items, and controls."""
    columns = [("none", ATTACK), ("praise", ATTACK), ("unchanged", CONTROL)]
    variants = tuple(
        Variant(i, kind, "j", axes=probed_axes("m", "j", kind, role))
        for i, (kind, role) in enumerate(columns)
    )
    trials = [result(i, variant=i % 3, case=f"c{i}") for i in range(6)]
    about = {"run": "01K", "judges": [{"metric": "m", "model": "j", "kinds": ["praise", "echo"]}]}
    run = await make_run(trials, variants, config={"probe": about})
    agree("probe-1.md", [probe_of(run).document()])


async def test_the_page_on_tryouts_has_every_key_of_the_document():
    """With a winner, and without one."""
    items = tuple(
        TriedItem(
            index=i,
            case=f"c{i}",
            half=CONFIRMING if i % 2 else CHOOSING,
            people=i % 8 > 1,
            today=True,
            votes={},
        )
        for i in range(80)
    )
    judge = TriedJudge("m", "j", 0.1, items)
    today = Tried(TODAY, items, {item.index: True for item in items}, 0.1)
    shares = TriedCascade(
        risk=0.1, first=0.9, then=0.5, decided_first=60, decided_then=20, people=0
    )
    sharp = Tried("sharp", items, {item.index: item.people for item in items}, 0.1, shares)
    judges = (
        JudgeTryout(judge=judge, today=today, variants=[sharp]),
        JudgeTryout(judge=judge, today=today, variants=[today]),
    )
    decide(judges)
    tried = (JudgeVariant("sharp", (JudgeModel("a:b"),)).summary(),)
    agree(
        "tryout-1.md",
        [
            Tryout(
                run="01K",
                tryout="01L",
                seed=0,
                variants=tried,
                judges=judges,
                calls=80,
                cost_usd=0.1,
            ).document()
        ],
    )


async def test_the_pages_on_canaries_have_every_key_of_their_documents(make_run: Make):
    """The file as it is kept, and two checks of the same canaries."""
    judged = Outcome("r", "pass", 1.0, metric="m", metadata={"judge": "j"})
    run = await make_run([result(0, case="x", outcomes=(judged,))], (Variant(0, "p", "m"),))
    add_metric_labels(run.path, "ann", [(0, "m", "pass")])
    with RunFile.open(run.path) as labelled:
        agree("canaries-1.md", [kept_canaries(labelled, 2)[0].document()])
    row = {"metric": "m", "model": "j", "left_out": 0, "passed": 1, "judged": 2}
    about = {"run": "01K", "digest": "d", "judges": [row]}
    columns = (Variant(0, "p", "j", axes={"metric": "m", "judge": "j", "verdict": "pass"}),)
    checks = [
        await make_run(
            [result(i, case=f"c{i}") for i in range(2)],
            columns,
            config={"canaries": about},
            settings={"canaries": {}},
        )
        for _ in range(2)
    ]
    agree("canary-1.md", [canary_report(checks[1], [one.path for one in checks]).document()])


async def test_the_page_on_checks_has_every_key_of_the_document():
    """Calls counted from the plan, calls that go by an earlier run, and hints."""

    async def body(trial: Trial) -> str:
        return trial.case.id

    plan = example(2, body)
    calls = (CallEstimate("echo", "subject", 2, 10, 0.1), CallEstimate("x", "judge", 2, 0, None))
    agree(
        "check-1.md",
        [
            {**estimate_row(plan, calls), "hints": estimate_row(_hinted(plan), ())["hints"]},
            estimate_row(plan, (), Precedent("01K", 2, calls)),
            estimate_row(plan, ()),
            _batched(),
        ],
    )


def _batched() -> dict[str, Any]:
    """A plan whose calls could go in batches."""
    plan = example(1, lambda trial: trial.case.id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "batch_shares", lambda *_: {"m": 0.5})
        return estimate_row(plan, (CallEstimate("m", "subject", 2, 10, 0.1),))


async def test_the_page_on_status_has_every_key_of_the_document(
    make_run: Make,
) -> None:
    """A batch that is out, one that is done, and a run without any."""
    run = await make_run([result(0)])
    record = BatchRecord("a", 1, "openai", "https://x/v1", "x #1", "m", "embeddings", 3, "out")
    done = replace(record, vendor_id="b", submitted_at=1.0, ended_at=2.0, bound_usd=0.1)
    assert status_document(run)["batches"] == []
    run.batches = lambda: [record, done]
    agree("status-1.md", [status_document(run)])


def _hinted(plan: Any) -> Any:
    return replace(plan, hints=[Problem("a.yaml", 1, 2, "odd", "Mend it.")])


def test_the_pages_on_what_is_installed_have_every_key_of_their_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """As they are printed, with a package beside ours and a reply in the cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(FORMATS.parents[1] / "tests" / "packages")
    evenhand = in_process(capsys)
    cache = Cache.open(tmp_path / ".evenhand" / "cache")
    cache.put("4f2a", "0", b"{}", b"hello", 1.5)
    cache.close()
    for words in ("doctor", "scorers", "providers"):
        agree(f"{words}-1.md", [json.loads(evenhand(words, "--json").out)])
    held, listed = (
        json.loads(evenhand("cache", *words, "--json").out) for words in (["stats"], ["explain"])
    )
    agree("cache-1.md", [held, listed])
    assert (held["replies"], listed["listed"][0]["key"]) == (1, "4f2a")
    none = evenhand("cache", "explain", "zz", "--json")
    assert (none.code, json.loads(none.out)["listed"]) == (2, [])


async def test_the_page_on_failure_codes_has_every_key_of_the_document(
    make_run: Make,
):
    """Of a draw, and where nothing is drawn."""
    run = await make_run([result(i, case=f"c{i}", outcomes=(RUBRIC,)) for i in range(3)])
    append_labels(run.path, [NewLabel(0, "code", "tone", "ann")])
    with RunFile.open(run.path) as again:
        plain = codes_document(again)
    add_draw(run.path, 1, ["rubric"], 3, [0, 1])
    add_metric_labels(run.path, "ann", [(0, "rubric", "fail"), (1, "rubric", "pass")])
    with RunFile.open(run.path) as again:
        agree("codes-1.md", [plain, codes_document(again)])
    assert plain["codes"][0]["share"] is None


async def test_the_page_on_baselines_has_every_key_of_the_file(make_run: Make):
    """Variants, scales, judges, numbers, and all that may be left out."""
    judged = Outcome(
        "kind", "pass", 0.8, metric="kindness", weight=2.0, named={"warmth": 0.5}, at_least=0.5,
        at_most=0.9, metadata={"judge": "j", "prompt": "p/1"}, scale=(0, 1),
    )  # fmt: skip
    one = result(
        0, case="x", outcomes=(judged,), named_scores={"kindness": 0.8}, description="a case"
    )
    one = replace(
        one, content={"vars": "d"}, definitions=(Definition("Rubric", {"text": "d"}, exact=True),)
    )
    run = await make_run(
        [replace(one, cost_usd=0.1, scale=(0, 1)), result(1, case="y", ok=None)],
        (Variant(0, "p", "m", eval="set.eval", axes={"model": "m"}, cluster="document"),),
        calls=[
            (CallStart(0, "k", 0, "subject", "m", b"{}", None), CallEnd(b"{}", "provider")),
            (CallStart(0, "l", 0, "judge", "m", b"{}", None), CallEnd(b"{}", "provider")),
        ],
        settings={"asked": {"offline": True}, "script": "abc"},
    )
    tables, seen = shapes("baseline-1.md"), set[str]()
    header, rows = baseline_parts(run, outputs=True)
    earlier = [BaselineRun("01KAEXAMPLE0000000000000RN", 1.5)]
    data = written(
        structs.replace(header, pooled=earlier, systems=earlier, recorder="ragas"),
        [structs.replace(row, earlier={"passed": [0.5]}) for row in rows],
    )
    head, *trials = (json.loads(line) for line in data.splitlines())
    wrong = list(differences(head, "The header", tables, seen, "header"))
    for trial in ({**trials[0], "checks": "c"}, *trials[1:]):
        wrong += differences(trial, "trial", tables, seen, "trial")
    assert wrong == []
    every = {f"{heading}: {key}" for heading, rows in tables.items() for key in rows}
    assert sorted(every - seen) == []
    examples = re.findall(
        r"```json\n(.*?)```", (FORMATS / "baseline-1.md").read_text("utf-8"), re.DOTALL
    )
    for text, heading in zip(examples, ("The header", "trial"), strict=True):
        assert list(differences(json.loads(text), heading, tables, set(), "example")) == []


async def test_the_page_on_cassettes_has_every_key_of_the_file(make_run: Make):
    """Answers as JSON, text and bytes, an error, a secret, a text that is shared, and tools."""
    long = "All that the shop sells. " * 9
    asked = [
        encode({"body": {"prompt": f"{long}"}, "n": i, "s": "password=hunter2x"}) for i in range(4)
    ]
    ends = [
        CallEnd(b'{"a":1}', "provider", 0.1, 1, 1, 0.1, "m", first_byte_s=0.1),
        CallEnd(b"data: x", "provider"),
        CallEnd(b"\xff", "provider"),
        CallEnd(b"", "provider", error="bad-request", message="too long"),
    ]
    calls = [
        (CallStart(0, f"k{i}", 0, "subject", "m", identity, None, "0.0"), end)
        for i, (identity, end) in enumerate(zip(asked, ends, strict=True))
    ]
    run = await make_run(
        [result(0)], calls=calls, settings={"asked": {"offline": True}, "script": "abc"}
    )
    arguments = encode({"key": "password=hunter2x"})
    records = [
        ToolRecord(0, "look_up", "a", 0, arguments, b"[1]"),
        ToolRecord(0, "look_up", "a", 1, arguments, b"null", encode({"type": "E", "module": "m"})),
    ]
    run.tools = lambda: iter(records)
    run.kept_steps = lambda _: [Step("tool", "look_up", duration_s=0.1, record="tool:a:0")]
    tables, seen = shapes("cassette-1.md"), set[str]()
    head, *rows = (json.loads(line) for line in cassette_of(run, max_age_s=9)[0].splitlines())
    wrong = list(differences(head, "The header", tables, seen, "header"))
    for row in rows:
        wrong += differences(row, row["kind"], tables, seen, row["kind"])
    assert wrong == []
    every = {f"{heading}: {key}" for heading, rows in tables.items() for key in rows}
    assert sorted(every - seen) == []


def test_the_page_on_regrading_has_every_key_of_the_document(monkeypatch: pytest.MonkeyPatch):
    """The two documents in it have pages of their own."""
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    print_json({"schema": "evenhand.run/1"}, {"schema": "evenhand.compare/1"})
    agree("regrade-1.md", [json.loads(out.getvalue())])


async def test_the_page_on_gates_has_every_key_of_the_document(
    make_run: Make,
    tmp_path: Path,
):
    """Decided and undecided ones, and one that had nothing to compare."""
    run = await make_run(
        summaries(), SUMMARIES, calls=[(CallStart(0, "k", 0, "subject", "m", b"{}", None), None)]
    )
    write_baseline(baseline_of(run), tmp_path / "b.evn")
    baseline = read_baseline(tmp_path / "b.evn")
    trials = [replace(one, outcome="fail") if one.index == 5 else one for one in summaries()]
    other = await make_run(
        trials, SUMMARIES, calls=[(CallStart(0, "k", 0, "subject", "m", b"{}", None), None)]
    )
    stopped = replace(
        gate(baseline, run, 0.05), stopping=Stopping(stopped=True, cases=2, of=9, open=("tone",))
    )
    documents = [
        gate_document(stopped),
        gate_document(gate(baseline, other, 0.05)),
        gate_document(nothing("no case", 0.05)),
    ]
    agree("gate-1.md", documents)
    assert {"because", "more_cases"} <= documents[0]["results"][0].keys()


async def test_the_page_on_histories_has_every_key_of_the_document(
    make_run: Make,
    tmp_path: Path,
):
    """Runs with changes between them, one that did not finish, and a file that is no run."""
    runs = [
        await make_run(summaries(), SUMMARIES),
        await make_run(summaries(), SUMMARIES, status="interrupted"),
        await make_run([result(0, case="x"), result(1, case="y", ok=None)]),
    ]
    (tmp_path / "bad.db").write_bytes(b"no run")
    files = [*(run.path for run in runs), tmp_path / "bad.db"]
    agree("history-1.md", [history_document(history(files))])


def test_the_page_on_imports_has_every_key_of_the_document(tmp_path: Path):
    """A run, one that was there already, a dataset, and notes."""
    item = {
        "object": "eval.run.output_item", "id": "o", "run_id": "r", "eval_id": "e", "status": "pass",
        "datasource_item": {"sum": "2 + 2"}, "results": [],
    }  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps([item, {"object": "batch"}]), "utf-8")
    recordings = read_runs([path], "openai-evals")
    totals = Totals(trials=1, passed=1)
    runs = [ImportedFile(path, recordings.runs[0].meta, totals, new) for new in (True, False)]
    datasets = [ImportedDataset(path, "sums", 2, "f", new=True)]
    agree("import-1.md", [import_document("openai-evals", runs, recordings.notes, datasets)])


async def test_the_page_on_merges_has_every_key_of_the_document(
    make_run: Make,
    tmp_path: Path,
):
    """A shard and a whole run, with trials that are missing."""
    sharded = Sharded(Shard(1, 3), 3, 3).record()
    runs = [
        await make_run([result(0)], planned=1, settings={"shard": sharded}),
        await make_run([result(0)], planned=3),
    ]
    merged = merge([run.path for run in runs], tmp_path / "whole.db")
    agree("merge-1.md", [merge_document(merged, "undecided")])


async def test_the_pages_on_pushed_runs_have_every_key_of_the_documents(
    make_run: Make,
    tmp_path: Path,
):
    """What is printed, and the manifest at the remote."""
    run = await make_run([result(0)])
    with remote_at(Address.of(str(tmp_path / "team"))) as remote:
        pushed = push(run.path, remote)
        agree("push-1.md", [push_document(remote, [pushed])])
    agree("pushed-1.md", [json.loads(write_manifest(pushed.manifest))])


@pytest.mark.parametrize(
    "page",
    [
        "import-1.md",
        "merge-1.md",
        "push-1.md",
        "pushed-1.md",
        "run-1.md",
        "compare-1.md",
        "check-1.md",
        "calibration-1.md",
        "gate-1.md",
        "history-1.md",
        "status-1.md",
        "power-1.md",
        "probe-1.md",
        "tryout-1.md",
        "canary-1.md",
        "canaries-1.md",
        "doctor-1.md",
        "scorers-1.md",
        "providers-1.md",
        "cache-1.md",
        "remarks-1.md",
        "codes-1.md",
    ],
)
def test_the_example_of_each_format_is_as_its_table_says(page: str):
    """It may leave keys out; it has none that there are not."""
    example_ = re.search(r"```json\n(.*?)```", (FORMATS / page).read_text("utf-8"), re.DOTALL)
    assert example_ is not None
    wrong = differences(json.loads(example_[1]), MAIN, shapes(page), set(), "example")
    assert list(wrong) == []


def test_the_tables_of_the_run_file_are_those_of_the_schema():
    """Made anew, the page is as it is: `just formats` writes it."""
    path = Path(__file__).with_name("run_file_tables.py")
    spec = importlib.util.spec_from_file_location("run_file_tables", path)
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    text = tables.PAGE.read_text("utf-8")
    assert tables.with_tables(text) == text
    assert f"0x{schema.RUN_FILE_ID:X}" in text
    named = set(
        re.findall(
            r"create (?:table|view)(?: if not exists)? (\w+)", "".join(schema.RUN_MIGRATIONS)
        )
    )
    assert set(re.findall(r"^### `(\w+)`$", text, re.MULTILINE)) == named
