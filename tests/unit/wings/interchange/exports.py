"""Small exports of other tools, written by hand after their documentation: two runs over the same three cases.

In the first run case `a` fails; in the second all pass but `c`, which ends in an error where the tool records errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

JSON = dict[str, Any]
QUESTIONS = {
    "a": ("Capital of France?", "Paris"),
    "b": ("2 + 2?", "4"),
    "c": ("Colour of snow?", "white"),
}
WHEN = ("before", "after")
ANSWERS = ({"a": "Lyon", "b": "4", "c": "white"}, {"a": "Paris", "b": "4", "c": ""})


def right(run: int, case: str) -> bool:
    """Whether the answer of a run is the expected one."""
    return ANSWERS[run][case] == QUESTIONS[case][1]


def saved(path: Path, *values: Any) -> Path:
    """Values in a file: one as JSON, or several as JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(one) for one in values) + "\n", "utf-8")
    return path


def deepeval(folder: Path) -> list[Path]:
    """Goldens, and two test runs."""
    goldens = [
        {
            "input": q,
            "expected_output": e,
            "context": ["Atlas", "Almanac"],
            "additional_metadata": {"n": 1},
        }
        for q, e in QUESTIONS.values()
    ]
    made = [saved(folder / "goldens.json", goldens)]
    for run in (0, 1):
        cases = [_deepeval_case(run, i, case) for i, case in enumerate(QUESTIONS)]
        body = {
            "testFile": "test_bot.py",
            "testCases": cases,
            "conversationalTestCases": [],
            "metricsScores": [{"metric": "Correctness", "scores": [1]}],
            "hyperparameters": {"model": "gpt-5-mini", "run": run},
            "runDuration": 3.5,
        }
        made.append(saved(folder / f"{WHEN[run]}.json", {"testRunData": body, "testRunLink": None}))
    return made


def _deepeval_case(run: int, order: int, case: str) -> JSON:
    question, expected = QUESTIONS[case]
    ok = right(run, case)
    broken = run == 1 and case == "c"
    return {
        "name": f"test_case_{order}",
        "input": question,
        "actualOutput": ANSWERS[run][case],
        "expectedOutput": expected,
        "retrievalContext": ["Atlas"],
        "success": ok,
        "order": order,
        "evaluationCost": 0.002,
        "metricsData": [
            {
                "name": "Correctness [GEval]", "threshold": 0.5, "success": False if broken else ok,
                "score": None if broken else 0.9 if ok else 0.1, "reason": "as expected",
                "strictMode": False, "evaluationModel": "gpt-5", "evaluationCost": 0.002,
                "error": "the judge timed out" if broken else None,
            },
            {"name": "Bias", "threshold": 0.5, "success": True, "score": 0.0, "reason": "none"},
        ],
    }  # fmt: skip


def ragas(folder: Path) -> list[Path]:
    """A dataset, and two results: the second as a table, with a metric that failed."""
    rows = [
        {"user_input": q, "reference": e, "reference_contexts": ["Atlas"]}
        for q, e in QUESTIONS.values()
    ]
    made = [saved(folder / "testset.jsonl", *rows)]
    results = [
        {**row, "response": ANSWERS[0][case], "retrieved_contexts": ["Atlas", "b"], "faithfulness": 0.5,
         "exact_match": float(right(0, case))}
        for case, row in zip(QUESTIONS, rows, strict=True)
    ]  # fmt: skip
    made.append(saved(folder / "before.jsonl", *results))
    lines = ["question,answer,contexts,ground_truth,faithfulness,exact_match"]
    for case, (question, expected) in QUESTIONS.items():
        faithful = "" if case == "c" else "0.75"
        lines.append(
            f"{question},{ANSWERS[1][case]},\"['Atlas', 'b']\",{expected},{faithful},{float(right(1, case))}"
        )
    after = folder / "after.csv"
    after.write_text("\n".join(lines) + "\n", "utf-8")
    return [*made, after]


def langfuse(folder: Path) -> list[Path]:
    """A page of items, two runs, their traces, and one trace that belongs to none."""
    items = [
        {"id": f"item-{case}", "status": "ACTIVE", "input": {"question": q}, "expectedOutput": e,
         "metadata": {"level": 1}, "datasetId": "ds", "datasetName": "quiz",
         "createdAt": "2026-10-01T08:00:00.000Z", "sourceTraceId": None}
        for case, (q, e) in QUESTIONS.items()
    ]  # fmt: skip
    page = {"data": items, "meta": {"page": 1, "limit": 50, "totalItems": 3, "totalPages": 1}}
    made = [saved(folder / "items.json", page)]
    for run in (0, 1):
        links = [
            {"id": f"l{run}{case}", "datasetRunId": f"run-{run}", "datasetRunName": f"v{run}",
             "datasetItemId": f"item-{case}", "traceId": f"t{run}{case}"}
            for case in QUESTIONS
        ]  # fmt: skip
        about = {
            "id": f"run-{run}", "name": f"v{run}", "datasetId": "ds", "datasetName": "quiz",
            "createdAt": f"2026-10-0{run + 1}T09:00:00.000Z", "datasetRunItems": links,
        }  # fmt: skip
        made.append(saved(folder / f"{WHEN[run]}.json", about))
    traces = [_langfuse_trace(run, case) for run in (0, 1) for case in QUESTIONS]
    stray = {"id": "stray", "timestamp": "2026-10-01T09:00:00Z", "sessionId": None, "name": "chat"}
    made.append(saved(folder / "traces.jsonl", *traces, stray))
    return made


def _langfuse_trace(run: int, case: str) -> JSON:
    id_ = f"t{run}{case}"
    broken = run == 1 and case == "c"
    scores = [
        {"id": f"s{id_}", "traceId": id_, "name": "correct", "value": int(right(run, case)),
         "dataType": "BOOLEAN", "source": "EVAL", "comment": "compared"},
        {"id": f"n{id_}", "traceId": id_, "name": "helpful", "value": 0.5, "dataType": "NUMERIC"},
        {"id": f"k{id_}", "traceId": id_, "name": "tone", "value": None, "stringValue": "dry",
         "dataType": "CATEGORICAL"},
    ]  # fmt: skip
    asked = {
        "id": f"o{id_}", "traceId": id_, "type": "GENERATION", "name": "llm", "model": "gpt-5-mini",
        "parentObservationId": None, "level": "ERROR" if broken else "DEFAULT",
        "statusMessage": "429: slow down" if broken else None,
        "usageDetails": {"input": 20, "output": 3, "total": 23},
    }  # fmt: skip
    return {
        "id": id_, "timestamp": "2026-10-01T09:00:00.000Z", "name": "answer", "sessionId": None,
        "input": {"question": QUESTIONS[case][0]}, "output": None if broken else ANSWERS[run][case],
        "latency": 1.5, "totalCost": 0.001, "observations": [asked], "scores": [] if broken else scores,
        "htmlPath": f"/project/p/traces/{id_}", "tags": ["beta"],
    }  # fmt: skip


def langsmith(folder: Path) -> list[Path]:
    """Examples, a project and its runs, another experiment without its project, and feedback."""
    examples = [
        {"id": f"ex-{case}", "dataset_id": "ds", "inputs": {"question": q}, "outputs": {"answer": e},
         "metadata": {"dataset_split": ["base"]}, "created_at": "2026-10-01T08:00:00"}
        for case, (q, e) in QUESTIONS.items()
    ]  # fmt: skip
    dataset = {"id": "ds", "name": "quiz", "data_type": "kv", "example_count": 3}
    project = {
        "id": "exp-0", "name": "quiz-v0", "reference_dataset_id": "ds", "start_time": "2026-10-01T09:00:00",
        "extra": {"metadata": {"ls_model_name": "gpt-5-mini"}},
    }  # fmt: skip
    runs = [_langsmith_run(run, case) for run in (0, 1) for case in QUESTIONS]
    inner = {
        "id": "child",
        "run_type": "llm",
        "inputs": {},
        "parent_run_id": "r0a",
        "session_id": "exp-0",
    }
    feedback = [
        {"id": f"f{run}{case}", "run_id": f"r{run}{case}", "key": "correct", "value": None,
         "score": float(right(run, case)), "comment": "compared", "feedback_source": {"type": "api"}}
        for run in (0, 1) for case in QUESTIONS
    ]  # fmt: skip
    return [
        saved(folder / "dataset.jsonl", dataset, *examples),
        saved(folder / "runs.json", [project, *runs, inner]),
        saved(folder / "feedback.jsonl", *feedback),
    ]


def _langsmith_run(run: int, case: str) -> JSON:
    broken = run == 1 and case == "c"
    return {
        "id": f"r{run}{case}", "name": "Target", "run_type": "chain", "session_id": f"exp-{run}",
        "reference_example_id": f"ex-{case}", "inputs": {"question": QUESTIONS[case][0]},
        "outputs": None if broken else {"answer": ANSWERS[run][case]},
        "error": "RateLimitError('429')" if broken else None,
        "start_time": f"2026-10-0{run + 1}T09:00:00", "end_time": f"2026-10-0{run + 1}T09:00:02",
        "prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23, "total_cost": "0.0015",
        "feedback_stats": {"length": {"n": 1, "avg": 4}}, "extra": {"metadata": {"revision": run}},
    }  # fmt: skip


def braintrust(folder: Path) -> list[Path]:
    """A dataset with its rows, and two experiments with spans."""
    rows = [
        {"id": f"row-{case}", "dataset_id": "ds", "project_id": "p", "input": {"question": q},
         "expected": e, "metadata": {"level": 1}, "tags": ["easy"], "created": "2026-10-01T08:00:00Z"}
        for case, (q, e) in QUESTIONS.items()
    ]  # fmt: skip
    dataset = {"id": "ds", "project_id": "p", "name": "quiz", "created": "2026-10-01T08:00:00Z"}
    made = [saved(folder / "dataset.json", {"dataset": dataset, "events": rows, "cursor": None})]
    for run in (0, 1):
        about = {
            "id": f"exp-{run}", "project_id": "p", "name": f"quiz v{run}", "public": False,
            "created": f"2026-10-0{run + 1}T09:00:00Z", "dataset_id": "ds",
        }  # fmt: skip
        events = [one for case in QUESTIONS for one in _braintrust_events(run, case)]
        made.append(saved(folder / f"{WHEN[run]}.json", {"experiment": about, "events": events}))
    return made


def _braintrust_events(run: int, case: str) -> Iterator[JSON]:
    broken = run == 1 and case == "c"
    root = f"s{run}{case}"
    yield {
        "id": f"e{run}{case}", "experiment_id": f"exp-{run}", "project_id": "p", "span_id": root,
        "root_span_id": root, "span_parents": None, "is_root": True,
        "input": {"question": QUESTIONS[case][0]}, "expected": QUESTIONS[case][1],
        "output": None if broken else ANSWERS[run][case], "error": "429" if broken else None,
        "scores": {} if broken else {"Exact": float(right(run, case)), "Factuality": 0.6, "Late": None},
        "metadata": {"level": 1}, "tags": None, "created": f"2026-10-0{run + 1}T09:00:00Z",
        "metrics": {"start": 100.0, "end": 101.5},
        "origin": {"object_type": "dataset", "object_id": "ds", "id": f"row-{case}"},
        "span_attributes": {"name": "eval", "type": "eval"},
    }  # fmt: skip
    yield {
        "id": f"m{run}{case}", "experiment_id": f"exp-{run}", "span_id": f"m{root}",
        "root_span_id": root, "span_parents": [root], "is_root": False, "scores": None,
        "span_attributes": {"name": "llm", "type": "llm"}, "metadata": {"model": "gpt-5-mini"},
        "metrics": {"prompt_tokens": 20, "completion_tokens": 3},
    }  # fmt: skip


def phoenix(folder: Path) -> list[Path]:
    """The examples of a dataset, two experiments, and what each is."""
    examples = [
        {"id": f"RGF0YQ{case}", "input": {"question": q}, "output": {"answer": e}, "metadata": {"level": 1},
         "updated_at": "2026-10-01T08:00:00Z"}
        for case, (q, e) in QUESTIONS.items()
    ]  # fmt: skip
    page = {"data": {"dataset_id": "ds", "version_id": "v1", "examples": examples}}
    made = [saved(folder / "quiz.json", page)]
    for run in (0, 1):
        rows = [
            {"example_id": f"RGF0YQ{case}", "repetition_number": 1, "input": {"question": q},
             "reference_output": {"answer": e}, "output": ANSWERS[run][case] or None,
             "error": "429" if run == 1 and case == "c" else None, "latency_ms": 1500.0,
             "start_time": f"2026-10-0{run + 1}T09:00:00+00:00", "end_time": None, "trace_id": "t",
             "prompt_token_count": 20, "completion_token_count": 3,
             "annotations": [
                 {"name": "correct", "annotator_kind": "CODE", "label": str(right(run, case)),
                  "score": float(right(run, case)), "explanation": "compared", "error": None},
                 {"name": "tone", "annotator_kind": "LLM", "label": "dry", "score": None,
                  "explanation": None, "error": None},
             ]}
            for case, (q, e) in QUESTIONS.items()
        ]  # fmt: skip
        about = {
            "id": f"RXhw{run}", "dataset_id": "ds", "dataset_version_id": "v1", "repetitions": 1,
            "metadata": {"model": "gpt-5-mini"}, "project_name": f"quiz v{run}",
            "created_at": f"2026-10-0{run + 1}T09:00:00+00:00",
        }  # fmt: skip
        made += [
            saved(folder / f"RXhw{run}.json", rows),
            saved(folder / f"about{run}.json", {"data": about}),
        ]
    return made


def lm_eval(folder: Path) -> list[Path]:
    """Two models' samples, each logged with two filters, and the results beside them."""
    made: list[Path] = []
    for run, time in enumerate(("2026-10-01T09-00-00.123456", "2026-10-02T09-00-00.123456")):
        samples = [
            {"doc_id": i, "doc": {"question": q, "answer": e}, "target": e, "filter": name,
             "arguments": {"gen_args_0": {"arg_0": f"Q: {q}\nA:", "arg_1": {"until": ["\n"]}}},
             "resps": [[ANSWERS[run][case]]], "filtered_resps": [ANSWERS[run][case]],
             "metrics": ["exact_match", "bleu"], "exact_match": float(right(run, case)),
             "bleu": [e, ANSWERS[run][case]], "doc_hash": f"h{i}", "prompt_hash": "p", "target_hash": "t"}
            for i, (case, (q, e)) in enumerate(QUESTIONS.items()) for name in ("strict", "flexible")
        ]  # fmt: skip
        results = {
            "results": {"quiz": {"alias": "quiz", "exact_match,strict": 0.5}},
            "configs": {"quiz": {"task": "quiz", "num_fewshot": 0}}, "versions": {"quiz": 1},
            "n-shot": {"quiz": 0}, "higher_is_better": {"quiz": {"exact_match": True}},
            "config": {"model": "hf", "model_args": f"pretrained=org/m{run}"}, "date": 1790845200.0 + run,
            "model_name": f"org/m{run}", "total_evaluation_time_seconds": "12.5",
        }  # fmt: skip
        home = folder / f"org__m{run}"
        made += [
            saved(home / f"samples_quiz_{time}.jsonl", *samples),
            saved(home / f"results_{time}.json", results),
        ]
    return made


EXPORTS = {
    "deepeval": deepeval,
    "ragas": ragas,
    "langfuse": langfuse,
    "langsmith": langsmith,
    "braintrust": braintrust,
    "phoenix": phoenix,
    "lm-eval": lm_eval,
}


def names(paths: Sequence[Path], folder: Path) -> list[str]:
    """The files, as somebody in the folder names them."""
    return [str(path.relative_to(folder)) for path in paths]
