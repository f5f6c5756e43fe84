"""Names and operators that Evenhand does not have, as other libraries have them: what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module

from evenhand.core.names import did_you_mean, nearest
from evenhand.core.public_names import PUBLIC


def _each(words: str, meant: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), meant)


_TEXT = "Write reply.text."
_ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "Reply": _each("content output_text output message choices completion response body", _TEXT),
    "LentModel": _each(
        "chat complete completion ask invoke ainvoke predict create responses messages call run acomplete query",
        "Write await model.generate(…).",
    ),
    "Expect": {
        **_each(
            "equal equals to_equal to_be assert_equal assertEqual contains to_contain matches is_true assert_that",
            "Write expect(output, Equals(…)), with a scorer of evenhand.scorers.",
        ),
        **_each("soft fail raises", 'Write with expect.that("…"): around what must not raise.'),
    },
    "NoneType": _each(
        "to_equal to_be to_contain contains equals to_match not_to",
        "expect returns nothing: write expect(output, Contains(…)).",
    ),
    "EvalSet": {
        **_each("run evaluate execute start", "Write run(evals), with run of evenhand."),
        **_each(
            "test case task add add_eval register evaluation evals_ evaluator scorer",
            "Write @evals.eval above a function.",
        ),
        **_each("setup before before_each teardown", "Write @evals.fixture above a function."),
    },
    "Dataset": {
        **_each(
            "from_csv from_json from_jsonl from_yaml from_file load read_csv open",
            "Write Dataset.read(path).",
        ),
        **_each("from_pandas from_list from_dict from_dicts from_records", "Write Dataset(rows)."),
        **_each("to_csv to_json save export", "Write dataset.write(path)."),
        **_each("to_pandas to_list", "Write dataset.rows()."),
    },
    "Prompt": {
        **_each(
            "format fill substitute template",
            "Write prompt.render(name=…), or prompt.text for its text.",
        ),
        **_each(
            "replace split strip lower startswith encode join removeprefix format_map content",
            "Write prompt.text for its text.",
        ),
    },
    "Run": _each("results cases outcomes", "Write run.trials() or run.rows()."),
    "Scored": _each(
        "score value metrics", 'Write scored["faithfulness"].value, by the name of a metric.'
    ),
}
_PUBLIC = {"LentModel": "Model"}
_CALLED: Mapping[str, str] = {
    "EvalSet": "Write @evals.eval above a function, or run(evals).",
    "LentModel": "Write await model.generate(…).",
    "Case": "",
}
_SCORERS: Mapping[str, str] = {
    **_each("GEval LLMTestCase LLMJudge LLMRubric ModelGraded AspectCritic Criteria", "Passes"),
    **_each(
        "AnswerRelevancy AnswerRelevancyMetric ResponseRelevancy ResponseRelevance",
        "AnswerRelevance",
    ),
    **_each("FaithfulnessMetric Groundedness GroundednessMetric", "Faithfulness"),
    **_each("HallucinationMetric", "Hallucination"),
    **_each("FactualCorrectness AnswerCorrectness Factuality", "Correctness"),
    **_each("Regex Match RegexMatch", "Matches"),
    **_each("Includes Contain ContainsText HasText", "Contains"),
    **_each("ExactMatchMetric Exact Equal EqualsExpected IsEqual", "Equals"),
    **_each("Json ValidJson IsValidJson JsonSchema JSONValid IsJSON", "IsJson"),
    **_each("ToolCall ToolCorrectness CallTool HasToolCall", "CallsTool"),
    **_each("Levenshtein LevenshteinDistance", "EditDistance"),
    **_each("F1 F1Score", "TokenF1"),
    **_each("NDCG Ndcg", "nDCG"),
    **_each("Pairwise PairwiseJudge Battle", "Preferred"),
}
"""Scorers and metrics of other libraries, and ours."""
LISTED = 12
"""So many names of a module are listed where none is near."""
_NO_ATTRIBUTE = re.compile(r"(?:type object )?'(\w+)'(?: object)? has no attribute '(\w+)'")
_NO_MEMBER = re.compile(r"module '(evenhand(?:\.\w+)*)' has no attribute '(\w+)'")
_MISUSED = re.compile(r"'(\w+)' object is not (callable|subscriptable)")
_NO_NAME = re.compile(r"(?:name '(\w+)' is not defined|cannot import name '(\w+)' from 'evenhand)")
_OPERATOR = re.compile(r"unsupported operand type\(s\) for ([|&]): '(\w+)'")


def instead_of(message: str, line: str = "") -> str:
    """What to write instead of what an exception of Python's is about; empty where nobody knows.

    Args:
        line: The line of code that it was raised in.
    """
    if match := _NO_MEMBER.search(message):
        public = getattr(import_module(match[1]), "__all__", ())
        few = f"There are: {', '.join(public)}." if 0 < len(public) <= LISTED else ""
        return did_you_mean(match[2], public, few)
    if match := _NO_ATTRIBUTE.search(message):
        return _attribute(match[1], match[2])
    if match := _MISUSED.search(message):
        if match[1] == "Reply":
            return _TEXT
        return _CALLED.get(match[1], "") if match[2] == "callable" else ""
    if match := _NO_NAME.search(message):
        return _name(match[1] or match[2])
    if match := _OPERATOR.search(message):
        any_of = "Write ContainsAny([…]), or a function of the output that says so."
        each = "Write an expect(…) for each."
        return (each if match[1] == "&" else any_of) if _is_scorer(match[2]) else ""
    if "bad operand type for unary ~: 'function'" in message:
        return "Write ~FunctionScorer(…)."
    if "bad operand type for unary ~: " in message:
        return "Derive the class from Question, of evenhand.scorers.opposite."
    if "Expect.__call__() takes" in message:
        return 'Write expect(output, scorer, label="…"): what follows the scorer has a name.'
    if "'await' expression" in message and "await expect(" in line:
        return "expect waits for nothing: leave the await out, or write await expect.now(…)."
    if "LentModel.generate() got an unexpected" in message:
        return "Settings belong to the model: create it with them, or write model='openai:chat:gpt-5-mini'."
    return ""


def _attribute(kind: str, name: str) -> str:
    known = _ATTRIBUTES.get(kind, {}).get(name, "")
    if known or kind not in _ATTRIBUTES or kind == "NoneType":
        return known
    public_name = _PUBLIC.get(kind, kind)
    public = getattr(import_module(f"evenhand.{PUBLIC[public_name]}"), public_name)
    near = nearest(name, [one for one in dir(public) if not one.startswith("_")])
    return f"Did you mean '{near}'?" if near else ""


def _name(name: str) -> str:
    from evenhand import scorers  # noqa: PLC0415 (for an error only)

    if name == "evenhand":
        return "Write import evenhand."
    if name in scorers.__all__:
        return f"Write from evenhand.scorers import {name}."
    if name in PUBLIC:
        return f"Write from evenhand import {name}."
    meant = _SCORERS.get(name) or nearest(name, scorers.__all__)
    if meant:
        return f"Did you mean {meant}? Write from evenhand.scorers import {meant}."
    near = nearest(name, PUBLIC)
    return f"Did you mean {near}?" if near else ""


def _is_scorer(name: str) -> bool:
    from evenhand import scorers  # noqa: PLC0415 (for an error only)

    return name in scorers.__all__
