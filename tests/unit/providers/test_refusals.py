"""A block by a filter is an answer that is marked as refused, whichever way a vendor says so; no other error is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadReply, BadRequest
from evenhand.providers.batches.control import line_fault
from evenhand.providers.batches.places import block_in
from evenhand.providers.catalog import create
from evenhand.providers.refusals import refusal

KEYS = {
    **dict.fromkeys(
        ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "AZURE_API_KEY"), "k"
    ),
    "AZURE_API_HOST": "a.openai.azure.com",
}
IDS = (
    "openai:chat:m openai:responses:m openai:completion:m anthropic:m google:m azure:d azure:responses:d "
    "ollama:chat:m mistral:m"
).split()
POLICY = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
AZURE = {
    "error": {
        "message": POLICY,
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
        },
    }
}


def error(message: str, **more: Any) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, **more}}


BLOCKS: list[tuple[int, Any]] = [
    (400, AZURE),
    (400, {"error": {**AZURE["error"], "code": None}}),
    (400, error("Invalid prompt: your prompt was flagged.", code="invalid_prompt")),
    (
        400,
        error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            code=None,
        ),
    ),
    (
        400,
        error("Your request was rejected by our safety system.", code="content_policy_violation"),
    ),
    (400, error("Your request was rejected as a result of our safety system.", code=None)),
    # Anthropic, Alibaba, DeepSeek, Moonshot, Zhipu, xAI
    (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Output blocked by content filtering policy",
            },
        },
    ),
    (400, error("Input data may contain inappropriate content.", code="data_inspection_failed")),
    (
        400,
        {
            "code": "DataInspectionFailed",
            "message": "Output data may contain inappropriate content.",
        },
    ),
    (400, error("Content Exists Risk", code="invalid_request_error")),
    (
        400,
        {"error": {"message": "The request was rejected as high risk", "type": "content_filter"}},
    ),
    (
        400,
        {
            "contentFilter": [{"level": 1, "role": "user"}],
            "error": {
                "code": "1301",
                "message": "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入",
            },
        },
    ),
    (
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
        },
    ),
    # Gateways: OpenRouter twice, LiteLLM's proxy three times, Portkey, TrueFoundry, Databricks, Cloudflare
    (
        403,
        {
            "error": {
                "code": 403,
                "message": 'm requires moderation on OpenAI. Your input was flagged for "violence".',
                "metadata": {"reasons": ["violence"], "flagged_input": "How do I…"},
            }
        },
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "Provider returned error",
                "metadata": {"raw": json.dumps(AZURE), "provider_name": "Azure"},
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - "
                + POLICY,
                "type": None,
                "param": None,
                "code": "400",
            }
        },
    ),
    (
        400,
        {
            "error": {
                "message": "{'error': 'Violated guardrail policy', 'bedrock_guardrail_response': 'Sorry'}",
                "type": "None",
                "code": "400",
            }
        },
    ),
    (500, {"error": {"message": f"upstream said: {json.dumps(AZURE)}", "code": "500"}}),
    (446, {"error": {"message": "The guardrail checks failed", "type": "hooks_failed"}}),
    (400, {"error": {"type": "guardrail_checks_failed", "message": "x"}}),
    (
        400,
        {"error_code": "BAD_REQUEST", "finish_reason": "input_guardrail_triggered", "message": "x"},
    ),
    (
        400,
        {
            "success": False,
            "error": [{"code": 2016, "message": "Prompt blocked due to security configurations"}],
        },
    ),
    # Bedrock
    (400, {"message": "guardrail_intervened", "type": "ValidationException"}),
    (200, AZURE),
]
OTHERS: list[tuple[int, Any]] = [
    (
        400,
        error(
            "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"
        ),
    ),
    (
        400,
        error(
            "Unknown parameter: 'content_filter'.", code="unknown_parameter", param="content_filter"
        ),
    ),
    (400, error("Unsupported value: 'content_filter'", code="unsupported_value")),
    (400, error("Invalid Responses API request", code="invalid_prompt")),
    (400, error("Invalid request: messages is required", code="invalid_prompt")),
    (400, error("The content filtering system is down", code="content_filter_error")),
    (400, error("you must provide a model parameter", code=None)),
    (400, {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}),
    (
        400,
        {"error": {"type": "invalid_request_error", "message": "max_tokens: must be at least 1"}},
    ),
    # What is quoted of the request is no error.
    (
        400,
        error(
            f"Invalid value for messages[0]: {json.dumps({'code': 'content_filter'})}",
            code="invalid_value",
        ),
    ),
    (
        422,
        {
            "detail": [
                {
                    "type": "missing",
                    "msg": "Field required",
                    "input": {"error": {"code": "content_filter"}},
                }
            ]
        },
    ),
    (
        422,
        {"messages": [{"content": POLICY}], "error": error("bad", code="invalid_value")["error"]},
    ),
    (429, error("Rate limit", code="content_filter")),
    (401, AZURE),
    (400, "content_filter"),
    (400, ["content_filter"]),
    (400, {}),
    (400, None),
]


@pytest.mark.parametrize(("status", "body"), BLOCKS, ids=repr)
def test_a_block_is_an_answer_marked_as_refused(status: int, body: Any):
    """Of every vendor, through every gateway, live and in a batch: empty, filtered, with guardrails that say so."""
    raw = json.dumps(body).encode()
    assert refusal(raw, status) is not None
    for id_ in IDS:
        model = create(id_, env=KEYS, base=Path())
        reply = model.reply(raw)
        assert (reply.text, reply.output, reply.finish_reason) == ("", "", "content_filter")
        assert reply.refused
        assert reply.metadata["guardrails"]["flagged"] is True
        if status != 200:
            block = block_in(model, line_fault(status, raw))
            assert block is not None
            assert model.reply(block) == reply


@pytest.mark.parametrize(("status", "body"), OTHERS, ids=repr)
def test_no_other_error_is_an_answer(status: int, body: Any):
    """Whatever it quotes."""
    raw = json.dumps(body).encode()
    assert refusal(raw, status) is None
    if status not in (401, 429):
        for id_ in IDS:
            model = create(id_, env=KEYS, base=Path())
            with pytest.raises(BadReply):
                model.reply(raw)
            assert block_in(model, line_fault(status, raw)) is None


def test_what_measures_a_text_is_not_refused():
    """A vector that was blocked is an error: there is none."""
    model = create("openai:embedding:m", env=KEYS, base=Path())
    raw = json.dumps(AZURE).encode()
    assert block_in(model, BadRequest("x", status=400, body=raw.decode())) is None
    with pytest.raises(BadReply):
        model.reply(raw)


def test_what_azures_filter_reads_costs_nobody_knows_how_much():
    """It charges for it; elsewhere an error costs nothing."""
    raw = json.dumps(AZURE).encode()
    assert create("azure:d", env=KEYS, base=Path()).reply(raw).cost_usd is None
    assert create("openai:chat:gpt-4o", env=KEYS, base=Path()).reply(raw).cost_usd == 0.0


@pytest.mark.parametrize(
    ("prompt", "answer", "flagged"),
    [
        ([], [], None),
        (["NEGLIGIBLE"], ["NEGLIGIBLE"], None),
        (["LOW"], [], (True, False)),
        ([], ["HIGH"], (False, True)),
    ],
)
def test_what_gemini_rates_as_harmful_is_flagged(prompt: Any, answer: Any, flagged: Any):
    """In an answer that it gave nevertheless."""
    ratings = [
        [{"category": "HARM", "probability": one} for one in side] for side in (prompt, answer)
    ]
    candidate = {
        "content": {"parts": [{"text": "x"}]},
        "finishReason": "STOP",
        "safetyRatings": ratings[1],
    }
    body = {"candidates": [candidate], "promptFeedback": {"safetyRatings": ratings[0]}}
    reply = create("google:m", env=KEYS, base=Path()).reply(json.dumps(body).encode())
    guardrails = reply.metadata.get("guardrails") or {}
    assert not reply.refused
    assert (guardrails.get("flagged") is True) is (flagged is not None)
    if flagged:
        assert (guardrails["flaggedInput"], guardrails["flaggedOutput"]) == flagged
