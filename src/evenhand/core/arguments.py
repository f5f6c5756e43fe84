"""What is said of a call that cannot be made: `score takes no 'contexts': did you mean 'context'?`.

How this works: a call is made as it is. Only where Python refuses it are its arguments compared with what is taken, so
that a right call costs next to nothing. Other tools have other words for the same things: those are known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from evenhand.core.errors import UsageError
from evenhand.core.names import nearest

if TYPE_CHECKING:
    from types import FrameType

C = TypeVar("C", bound=Callable[..., Any])
K = TypeVar("K", bound=type)
_ASYNC = 0x80  # inspect.CO_COROUTINE

CASE_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("question", "query", "user_input", "prompt_text", "utterance"), "input"),
    **dict.fromkeys(
        """
        expect answer answers expected_output expected_answer ground_truth ground_truths groundtruth reference
        reference_answer target ideal gold golden
        """.split(),
        "expected",
    ),
    **dict.fromkeys(("passages", "contexts", "retrieved_contexts", "documents"), "context"),
    **dict.fromkeys(("case_id", "test_id", "uid"), "id"),
}
"""What other tools and people call the fields of a case."""

_PARTS = {
    "input": ("input", "question"),
    "expected": ("expected", "reference"),
    "context": ("context", "contexts"),
}
"""A part of a case, and the arguments that take it."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    **{word: _PARTS.get(field, (field,)) for word, field in CASE_WORDS.items()},
    **dict.fromkeys(("input", "inputs", "prompt"), ("question", "input")),
    **dict.fromkeys(("output", "actual_output", "response", "prediction"), ("answer", "output")),
    **dict.fromkeys(("retrieval_context", "chunks", "sources"), ("context", "contexts")),
    **dict.fromkeys(
        ("dataset", "cases", "test_cases", "examples", "samples", "goldens", "rows", "df"),
        ("data",),
    ),
    **dict.fromkeys(
        ("scorers", "scorer", "evaluators", "evaluator", "metric_names", "scores"), ("metrics",)
    ),
    **dict.fromkeys(
        ("llm", "grader", "critic", "evaluation_model", "judge_model"), ("judge", "model")
    ),
    **dict.fromkeys(("provider", "target_model", "model_id"), ("model", "judge")),
    **dict.fromkeys(("embeddings", "embedding", "embedding_model"), ("embedder",)),
    **dict.fromkeys(("models", "providers"), ('over={"model": […]}', "judges", "judge")),
    **dict.fromkeys(("prompts", "variants", "axes", "matrix", "grid", "params"), ("over",)),
    **dict.fromkeys(
        ("epochs", "repeat", "runs", "trials", "iterations", "num_trials", "trial_count"),
        ("repeats",),
    ),
    **dict.fromkeys(("limit", "n", "max_samples", "num_samples", "head", "sample"), ("first",)),
    **dict.fromkeys(
        "parallel parallelism max_workers workers jobs max_connections max_concurrency".split(),
        ("concurrency",),
    ),
    **dict.fromkeys(("budget", "max_cost", "cost_limit"), ("max_cost_usd",)),
    **dict.fromkeys(
        ("threshold", "min_score", "minimum", "min"), ("at_least", "pass_rate", "margin")
    ),
    **dict.fromkeys(("max_score", "maximum", "max"), ("at_most",)),
    **dict.fromkeys(("min_pass_rate", "pass_threshold", "success_rate"), ("pass_rate",)),
    **dict.fromkeys(("task", "target", "app", "function"), ("pipeline", "expected")),
    **dict.fromkeys(("verbose", "show_progress", "progress_bar", "show_indicator"), ("progress",)),
    **dict.fromkeys(("case_sensitive", "ignorecase", "case_insensitive"), ("ignore_case",)),
    **dict.fromkeys(("text", "value", "expected_value", "substring"), ("wanted", "criteria")),
    **dict.fromkeys(("prompt_template", "template"), ("text",)),
    **dict.fromkeys(("explanation", "rationale", "comment"), ("reason", "reasoning")),
    **dict.fromkeys(("rubric", "instructions", "evaluation_steps"), ("criteria",)),
    "model": ("judge",),
    **dict.fromkeys(("file", "filename", "filepath", "file_path"), ("path",)),
    **dict.fromkeys(("use_cache", "cached"), ("cache",)),
    **dict.fromkeys(("output_dir", "log_dir", "results_dir", "output_path"), ("home",)),
    **dict.fromkeys(("title", "description"), ("name",)),
    **dict.fromkeys(("tolerance", "epsilon", "delta"), ("margin",)),
    **dict.fromkeys(("group_by", "groups", "group"), ("cluster",)),
}
"""What other tools and people call arguments, and what they may be here: the first that is taken is meant."""


class ArgumentsError(UsageError, TypeError):
    """A call with arguments that the callable does not take: to Python, a TypeError."""


def checked(call: C) -> C:
    """The function, which refuses what it does not take in words."""
    name = call.__qualname__

    if call.__code__.co_flags & _ASYNC:

        @wraps(call)
        async def called_async(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                # This runs none of the body yet, so a TypeError here can only be about the arguments.
                work = call(*args, **kwargs)
            except TypeError:
                refuse(call, name, args, kwargs)
                raise
            return await work

        return cast("C", called_async)

    @wraps(call)
    def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            # A TypeError can also come out of the body: `refuse` finds out which it is.
            return call(*args, **kwargs)
        except TypeError:
            refuse(call, name, args, kwargs)
            raise

    return cast("C", called)


def checked_class(kind: K) -> K:
    """The class, changed in its place: it refuses what it does not take in words. It stands above `@dataclass`."""
    init: Any = kind.__init__

    @wraps(init)
    def checked_init(self: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            init(self, *args, **kwargs)
        except TypeError:
            refuse(init, type(self).__name__, (self, *args), kwargs)
            raise

    kind.__init__ = checked_init
    return kind


_made = msgspec.StructMeta.__call__  # what `super()` would find for each record anew


class CheckedRecord(msgspec.StructMeta):
    """Of records that users make: what one does not take is refused in words."""

    if not TYPE_CHECKING:  # or type checkers would not know what a record takes

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                return _made(self, *args, **kwargs)
            except TypeError:
                refuse(self, self.__name__, args, kwargs)
                raise


def past_checks(frame: FrameType | None) -> FrameType | None:
    """The frame, or the next one outwards that isn't a check of arguments."""
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def refuse(
    call: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Refuses a call that cannot be made; one that can be has raised its TypeError itself.

    Raises:
        ArgumentsError: What is wrong with it.
    """
    fault = misgiven_arguments(call, name, args, kwargs)
    if fault:
        __tracebackhide__ = True
        raise ArgumentsError(fault[0], hint=fault[1]) from None


def misgiven_arguments(
    call: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[str, str] | None:
    """What is wrong with the arguments of a call, and what to do; None where it can be made.

    Args:
        name: What its users call it.
        args: Without names; with the object itself where `call` takes it.
    """
    import inspect  # noqa: PLC0415 (only for a call that failed)

    signature = inspect.signature(call)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        pass
    else:
        return None
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    own = len(parameters) < len(signature.parameters)
    named = [p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    positional = len(args) - own
    hint = f"It takes: {', '.join(named)}." if named else "It takes no arguments by name."
    unknown = [word for word in kwargs if word not in named]
    if unknown:
        free = [one for one in named if one not in kwargs]
        meant = {word: meant_by(word, free) for word in unknown}
        lines = (takes_no(name, word, one) for word, one in meant.items())
        return "\n".join(lines), "" if all(meant.values()) else hint
    if positional > len(places):
        most = f"{len(places)} argument{'s' * (len(places) != 1)}" if places else "no argument"
        example = "".join(f"{one}, " for one in places)
        by_name = next((one for one in named if one not in (*places, *kwargs)), "")
        if by_name:
            hint = f"Write {name}({example}{by_name}=…). {hint}"
        return f"{name} takes {most} without a name, and got {positional}", hint
    twice = [one for one in places[:positional] if one in kwargs]
    if twice:
        return f"{name} is given `{twice[0]}` twice: by place, and by name", hint
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in kwargs
        and p.name not in places[:positional]
    ]
    return f"{name} needs {' and '.join(f'`{one}`' for one in missing)}", hint


def takes_no(name: str, word: str, meant: str) -> str:
    """That a callable has no such argument, and which one is meant; nothing of that where it is empty."""
    return f"{name} takes no `{word}`" + (f": did you mean `{meant}`?" if meant else "")


def meant_by(word: str, named: Sequence[str]) -> str:
    """The argument that a word is probably meant for; empty for none."""
    return foreign(word, named) or nearest(word, named)


def foreign(word: str, named: Sequence[str]) -> str:
    """The argument that another tool calls by this word; empty for none."""
    several = _WORDS.get(word.lower(), ())
    return next((one for one in several if one.partition("=")[0] in named), "")
