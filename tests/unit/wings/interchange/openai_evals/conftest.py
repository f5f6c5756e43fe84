"""Objects of OpenAI's API, each checked against the types of the `openai` package before a test uses it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openai.types import EvalRetrieveResponse
from openai.types.evals import RunRetrieveResponse
from openai.types.evals.runs import OutputItemRetrieveResponse

JSON = dict[str, Any]
EQUAL: JSON = {
    "type": "string_check",
    "name": "equal",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.right }}",
    "operation": "eq",
}


def an_eval(*criteria: JSON, id_: str = "eval_1", name: str = "Sums") -> JSON:
    """An eval with these graders."""
    value = {
        "object": "eval",
        "id": id_,
        "created_at": 1_790_000_000,
        "name": name,
        "metadata": {"team": "maths"},
        "data_source_config": {"type": "custom", "schema": {"type": "object"}},
        "testing_criteria": list(criteria or [EQUAL]),
    }
    EvalRetrieveResponse.model_validate(value)
    return value


def a_run(id_: str = "evalrun_1", *, total: int = 1, **more: Any) -> JSON:
    """A run of `eval_1`."""
    value = {
        "object": "eval.run",
        "id": id_,
        "eval_id": "eval_1",
        "created_at": 1_790_000_100,
        "status": "completed",
        "model": "gpt-4o-mini",
        "name": "first",
        "metadata": {},
        "error": {"code": "", "message": ""},
        "report_url": "https://example.org/report",
        "data_source": {
            "type": "completions",
            "source": {"type": "file_id", "id": "file-1"},
            "input_messages": {
                "type": "template",
                "template": [{"type": "message", "role": "user", "content": "{{ item.sum }}"}],
            },
            "model": "gpt-4o-mini",
            "sampling_params": {"temperature": 0.0},
        },
        "per_model_usage": [],
        "per_testing_criteria_results": [],
        "result_counts": {"total": total, "passed": total, "failed": 0, "errored": 0},
        **more,
    }
    RunRetrieveResponse.model_validate(value)
    return value


def a_result(*, passed: bool = True, **more: Any) -> JSON:
    """What a grader said."""
    return {
        "name": "equal",
        "type": "string_check",
        "passed": passed,
        "score": float(passed),
    } | more


def an_item(
    number: int = 0, *, results: Sequence[JSON] | None = None, answer: str = "4", **more: Any
) -> JSON:
    """An output item of `evalrun_1`."""
    results = [a_result()] if results is None else results
    passed = all(one["passed"] for one in results)
    value = {
        "object": "eval.run.output_item",
        "id": f"outputitem_{number}",
        "created_at": 1_790_000_200,
        "run_id": "evalrun_1",
        "eval_id": "eval_1",
        "status": "pass" if passed else "fail",
        "datasource_item_id": number,
        "datasource_item": {"sum": f"2 + {number}", "right": "4"},
        "results": list(results),
        "sample": a_sample(answer),
        **more,
    }
    OutputItemRetrieveResponse.model_validate(value)
    return value


def a_sample(answer: str = "4", **more: Any) -> JSON:
    """What the model was asked and answered."""
    return {
        "error": {"code": "", "message": ""},
        "finish_reason": "stop",
        "input": [{"role": "user", "content": "2 + 2"}],
        "output": [{"role": "assistant", "content": answer}],
        "max_completion_tokens": 100,
        "model": "gpt-4o-mini-2024-07-18",
        "seed": 42,
        "temperature": 0.0,
        "top_p": 1.0,
        "usage": {
            "cached_tokens": 2,
            "completion_tokens": 5,
            "prompt_tokens": 7,
            "total_tokens": 12,
        },
    } | more


def saved(path: Path, *values: Any) -> Path:
    """The values in a file, one on each line."""
    path.write_text("".join(json.dumps(one) + "\n" for one in values), "utf-8")
    return path
