"""What other tools mean by the same names, for those whose numbers have to go on as they were.

How this works: where another tool counts, its formula is applied to the verdicts that ours is counted from: same judge,
same claims, another sum. Where it takes a number that the judge makes up, the judge is asked for that number. What it
does not have is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean

OURS = "evenhand"
SYSTEMS = (OURS, "ragas", "deepeval", "eval-ruby", "promptfoo")

VERSIONS: Mapping[str, str] = {
    "ragas": "Ragas 0.4",
    "deepeval": "DeepEval 3",
    "eval-ruby": "eval-ruby of 2026",
    "promptfoo": "promptfoo of 2026",
}
"""Of which version the definitions are: other versions may compute something else under the same name."""
VARIANTS: Mapping[str, Mapping[str, str]] = {
    "faithfulness": {
        "ragas": "supported claims / claims",
        "deepeval": "claims that are not contradicted / claims; 1 without claims",
        "eval-ruby": "supported claims / claims, counted here and not by the judge",
        "promptfoo": "1 − unsupported claims / claims",
    },
    "answer_relevance": {
        "ragas": "mean cosine of the question and three questions guessed from the answer; 0 if all are evaded",
        "deepeval": "statements that are not off the question / statements; 1 without statements",
        "eval-ruby": "the judge's rating: 1, 0.5 or 0",
        "promptfoo": "mean cosine of the question and three questions guessed from the answer",
    },
    "correctness": {
        "ragas": "0.75 · F1 over claims + 0.25 · cosine of answer and reference; F1 is 1 where one side has no claims",
        "eval-ruby": "the judge's rating: 1, 0.5 or 0",
    },
    "context_precision": {
        "ragas": "Σ P@i · v_i / Σ v_i over the passages that support the reference; 0 where none does",
        "deepeval": "Σ P@i · v_i / Σ v_i over the passages that support the reference; 0 where none does",
        "eval-ruby": "passages that bear on the question / passages, their order aside",
    },
    "context_recall": {
        "ragas": "supported reference claims / reference claims",
        "deepeval": "supported reference claims / reference claims; 0 without claims",
        "eval-ruby": "supported reference claims / reference claims, counted here and not by the judge",
        "promptfoo": "supported reference claims / reference claims",
    },
    "context_relevance": {
        "ragas": "the judge's rating of all passages together: 1, 0.5 or 0, asked once where Ragas takes the mean"
        " of two; 0 where they are part of the question",
        "deepeval": "sentences that bear on the question / sentences",
        "promptfoo": "sentences that bear on the question / sentences",
    },
    "noise_sensitivity": {
        "ragas": "wrong claims that a useful (or only a useless) passage supports / claims"
    },
    "entity_recall": {
        "ragas": "entities that stand in the contexts letter for letter / entities; 0 without entities"
    },
    "hallucination": {"deepeval": "passages that the answer contradicts / passages"},
    "summarisation": {
        "ragas": "(answerable key claims + conciseness) / 2, conciseness being 1 − length / length of the source",
        "deepeval": "the lower of faithfulness and coverage",
    },
    "semantic_similarity": {"ragas": "cosine", "promptfoo": "cosine"},
}
"""For each metric, whose definition of it there is, and what it computes."""

_run_wide: ContextVar[str] = ContextVar("evenhand_definitions", default=OURS)


def need_definitions(who: str, metric: str, name: object) -> None:
    """Refuses definitions that there are none of, where they are asked for.

    Raises:
        UsageError: Nobody knows the tool, or it has nothing of this name.
    """
    if name in ("", OURS):
        return
    check_system(who, name)
    there = VARIANTS.get(metric, {})
    if name not in there:
        others = ", ".join([OURS, *there])
        raise UsageError(
            f"{who}: {name} has no definition of {metric}", hint=f"There are: {others}."
        )


def check_system(who: str, name: object) -> None:
    """Refuses the name of a tool that nobody knows.

    Raises:
        UsageError: It isn't one.
    """
    if name not in SYSTEMS:
        hint = did_you_mean(str(name), SYSTEMS, f"There are: {', '.join(SYSTEMS)}.")
        raise UsageError(f"{who}: no definitions are called {name!r}", hint=hint)


def definitions_for(metric: str, own: str) -> str:
    """Whose definition counts: the scorer's own, else the run's where it has one of this metric, else ours."""
    if own:
        return own
    wide = _run_wide.get()
    return wide if wide in VARIANTS.get(metric, {}) else OURS


@contextmanager
def using_definitions(system: str) -> Iterator[None]:
    """Inside, metrics that name no definitions use these, where there are any of them.

    Raises:
        UsageError: Nobody knows the tool.
    """
    check_system("definitions", system)
    token = _run_wide.set(system)
    try:
        yield
    finally:
        _run_wide.reset(token)
