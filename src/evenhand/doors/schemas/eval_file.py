"""The eval.yml of a prompt directory."""

from __future__ import annotations

from evenhand.doors.prompt_directories.assertions import OPERATORS
from evenhand.doors.prompt_directories.eval_yml import (
    CASE_KEYS,
    DEFAULTS_KEYS,
    JUDGE_KEYS,
    KEYS,
    PRICE_KEYS,
    TRIGGERING_KEYS,
)
from evenhand.doors.schemas.assertion import assertion, assertions
from evenhand.doors.schemas.parts import (
    ANY,
    TABLE,
    TEXT,
    TEXTS,
    Part,
    described,
    document,
    either,
    table,
)

_POSITIVE: Part = {"type": "number", "exclusiveMinimum": 0}
_COUNT: Part = {"type": "integer", "minimum": 1}
_YES_OR_NO: Part = {"type": "boolean"}
_PRICE: Part = {"type": "number", "minimum": 0}


def schema() -> Part:
    """Of an eval.yml."""
    return document(
        "Evals of a prompt",
        table(
            KEYS,
            {
                "defaults": (_defaults(), "What every case has, unless it says otherwise."),
                "cases": ({"type": "array", "items": _case()}, "The cases."),
                "triggering": (_triggering(), "Queries that should lead to the prompt, or not."),
            },
        ),
        assertion=assertion(),
    )


def _defaults() -> Part:
    prices = table(
        PRICE_KEYS,
        {
            "cost": (_PRICE, "Dollars for each token."),
            "inputCost": (_PRICE, "Dollars for each token that is read."),
            "outputCost": (_PRICE, "Dollars for each token that is written."),
        },
    )
    return table(
        DEFAULTS_KEYS,
        {
            "model": (TEXT, "Who answers."),
            "timeout_s": (_POSITIVE, "Seconds for one attempt."),
            "judge": (either(TEXT, _judge()), "Who judges rubrics and queries."),
            "repeats": (_COUNT, "How often each case is repeated."),
            "hooks": (_YES_OR_NO, "Whether guard.sh and verify.sh take part."),
            "tokens": ({"enum": ["words", "tokens"]}, "What max_tokens and min_tokens count."),
            "pass_rate": (
                {"type": "number", "minimum": 0, "maximum": 1},
                "The share of trials that must pass; all by default.",
            ),
            "cluster": (
                TEXT,
                "The input that says which cases belong together: each cluster counts once.",
            ),
            "prices": (
                {"type": "object", "additionalProperties": prices},
                "Prices of models, by id, in dollars for each token.",
            ),
        },
    )


def _judge() -> Part:
    return table(
        JUDGE_KEYS,
        {
            "model": (TEXT, "Who judges."),
            "pass_threshold": (
                {"type": "number", "minimum": 1, "maximum": 5},
                "The lowest score of a rubric that passes, from 1 to 5; 4 by default.",
            ),
            "samples": (_COUNT, "How often it is asked; the mean counts."),
        },
    )


def _case() -> Part:
    return table(
        CASE_KEYS,
        {
            "name": (TEXT, "The case's name, unique in the file."),
            "inputs": (TABLE, "The variables of the prompt."),
            "inputs_from": (TEXT, "A folder with an inputs.yml."),
            "assert": (assertions(_operators()), "What must hold of the answer."),
            "rubric": (TEXT, "A scale from 1 to 5 in your words: a judge rates the answer by it."),
            "judge": (either(TEXT, _judge()), "Who judges this case."),
            "model": (TEXT, "Who answers this case."),
            "timeout_s": (_POSITIVE, "Seconds for one attempt."),
            "hooks": (_YES_OR_NO, "Whether guard.sh and verify.sh take part."),
            "tags": (either(TEXT, TEXTS), "To filter by."),
        },
        required=["name"],
    )


def _operators() -> Part:
    """`contains: text`: an operator and its value."""
    about = {name: described(ANY, f"Passes if {text}.") for name, text in OPERATORS.items()}
    return {
        "type": "object",
        "properties": about,
        "additionalProperties": False,
        "minProperties": 1,
    }


def _triggering() -> Part:
    return table(
        TRIGGERING_KEYS,
        {
            "judge": (either(TEXT, _judge()), "Who decides."),
            "should_match": (TEXTS, "Queries that this prompt is for."),
            "should_not_match": (TEXTS, "Queries that it is not for."),
            "among": (
                either({"const": "all"}, TEXTS),
                "The prompts to choose from: all, or a list of ids.",
            ),
        },
    )
