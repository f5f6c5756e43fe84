"""Agent frameworks' own calls of tools, as steps: with arguments, results and failures, without a decorator.

How this works: each framework has a method that runs a tool. While it runs for a trial, it is a step. The tool itself
does what it always does, also in a replay; `@recording.tool` is for those that must not. Its record says more than the
framework's call, so that call is no step of its own. Where a framework has no such method, or it is called by another
name in some release, the calls are read from the messages to models, as without a framework.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import first_line
from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import Record
from evenhand.core.step import Step, StepStatus
from evenhand.core.timeline import ANSWERS
from evenhand.doors.recording.outgoing import own_trial
from evenhand.doors.recording.wrapping.recorder import Replaced, recorders
from evenhand.engine.call_context import phase
from evenhand.engine.trial import LiveTrial

Called = Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[str, object]]
"""The name of the tool and its arguments: from what its method is called with, first of all the tool itself."""


class ToolMethod(Record, frozen=True):
    """Where a framework runs tools.

    Attributes:
        owner: The class, in the module that it is looked for in; empty for functions of the module's.
        names: Its methods, of which the async ones are awaited.
        called: See there.
    """

    owner: str
    names: tuple[str, ...]
    called: Called


def _by_keywords(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    return args[0].name, {**_positional(args[1:]), **more}


def _by_first(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    return args[0].name, args[1] if len(args) > 1 else next(iter(more.values()), {})


def _of_smolagents(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    own = {key: value for key, value in more.items() if key != "sanitize_inputs_outputs"}
    return _by_keywords(args, own)


def _of_pydantic(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    both = dict(zip(("toolset", "name", "tool_args"), args, strict=False)) | dict(more)
    return both["name"], both["tool_args"]


def _of_agents(_args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    return more["function_tool"].name, decode(more["arguments"].encode() or b"{}")


def _of_agent_framework(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    context = more.get("context")
    return args[0].name, more.get("arguments") or (context.arguments if context is not None else {})


def _of_semantic_kernel(args: tuple[Any, ...], more: Mapping[str, Any]) -> tuple[str, object]:
    if args[0].is_prompt:
        raise LookupError  # a function that asks a model, which is none of its tools
    return args[0].fully_qualified_name, {
        **(more.get("arguments") or (args[2:] or (None,))[0] or {})
    }


METHODS: Mapping[str, tuple[ToolMethod, ...]] = {
    "langchain_core.tools.base": (ToolMethod("BaseTool", ("run", "arun"), _by_first),),
    "pydantic_ai.toolsets.function": (ToolMethod("FunctionToolset", ("call_tool",), _of_pydantic),),
    "llama_index.core.tools.function_tool": (
        ToolMethod(
            "FunctionTool",
            ("call", "acall"),
            lambda args, more: (args[0].metadata.name, {**_positional(args[1:]), **more}),
        ),
    ),
    "smolagents.tools": (ToolMethod("Tool", ("__call__",), _of_smolagents),),
    "crewai.tools.base_tool": (
        ToolMethod("BaseTool", ("run", "arun"), _by_keywords),
        ToolMethod("Tool", ("run", "arun"), _by_keywords),
    ),
    "crewai.tools.structured_tool": (
        ToolMethod("CrewStructuredTool", ("invoke", "ainvoke"), _by_first),
    ),
    "google.adk.tools.function_tool": (
        ToolMethod("FunctionTool", ("run_async",), lambda args, more: (args[0].name, more["args"])),
    ),
    "dspy.adapters.types.tool": (ToolMethod("Tool", ("__call__", "acall"), _by_keywords),),
    "autogen_core.tools._base": (ToolMethod("BaseTool", ("run_json",), _by_first),),
    "agent_framework._tools": (ToolMethod("FunctionTool", ("invoke",), _of_agent_framework),),
    "agents.run_internal.tool_execution": (
        ToolMethod("", ("invoke_function_tool", "_invoke_function_tool_with_metadata"), _of_agents),
    ),
    "agno.tools.function": (
        ToolMethod(
            "FunctionCall",
            ("execute", "aexecute"),
            lambda args, _more: (args[0].function.name, args[0].arguments or {}),
        ),
    ),
    "semantic_kernel.functions.kernel_function": (
        ToolMethod("KernelFunction", ("invoke",), _of_semantic_kernel),
    ),
    "mirascope.llm.tools.tools": tuple(
        ToolMethod(name, ("execute",), lambda args, _more: (args[0].name, decode(args[-1].args)))
        for name in ("Tool", "AsyncTool", "ContextTool", "AsyncContextTool")
    ),
    "camel.toolkits.function_tool": (
        ToolMethod(
            "FunctionTool",
            ("__call__", "async_call"),
            lambda args, more: (args[0].get_function_name(), {**_positional(args[1:]), **more}),
        ),
    ),
    "griptape.tools.base_tool": (
        ToolMethod(
            "BaseTool",
            ("try_run",),
            lambda args, _more: (args[3].to_native_tool_name(), args[3].input),
        ),
    ),
    "haystack.tools.tool": (ToolMethod("Tool", ("invoke", "invoke_async"), _by_keywords),),
}
"""By the module that has them, which is looked at when it is imported."""


def wrap(methods: tuple[ToolMethod, ...], module: Any) -> list[Replaced]:
    """Wraps those of these methods that this release of the framework has."""
    owners = [(getattr(module, one.owner, None) if one.owner else module, one) for one in methods]
    return [
        Replaced.by(owner, name, functools.partial(_stepped, method.called))
        for owner, method in owners
        if owner is not None
        for name in method.names
        if name in vars(owner)
    ]


class _Running(Record, frozen=True):
    """A call of a tool that has begun."""

    trial: LiveTrial
    place: int

    @contextmanager
    def noted(self) -> Iterator[list[Any]]:
        """Inside, the tool runs; what it returns is put into the list, and noted, and so is what it raises."""
        results: list[Any] = []
        try:
            with self.trial.within(self.place):
                yield results
        except BaseException as error:
            own = isinstance(error, Exception)
            self._ended(None, "error", first_line(error) if own else "given up")
            raise
        self._returned(results[0])

    def _returned(self, value: object) -> None:
        try:
            result, is_error = _told(value)
        except Exception:  # noqa: BLE001 (of another release, it is the framework's all the same)
            result, is_error = str(value), False
        self._ended(result, "error" if is_error else "ok", str(result) if is_error else "")

    def _ended(self, result: object, status: StepStatus, error: str) -> None:
        log = self.trial.step_log
        if log.holds_tool(self.place):
            log.drop(self.place)
            return
        more = {"error": error} if error else {"result": result}
        self.trial.step_ended(self.place, status=status, **more)


def _stepped(called: Called, before: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(before):

        @functools.wraps(before)
        async def run_async(*args: Any, **more: Any) -> Any:
            running = _begun(called, args, more)
            if running is None:
                return await before(*args, **more)
            with running.noted() as result:
                result.append(await before(*args, **more))
            return result[0]

        return run_async

    @functools.wraps(before)
    def run(*args: Any, **more: Any) -> Any:
        running = _begun(called, args, more)
        if running is None:
            return before(*args, **more)
        with running.noted() as result:
            result.append(before(*args, **more))
        return result[0]

    return run


def _begun(called: Called, args: tuple[Any, ...], more: Mapping[str, Any]) -> _Running | None:
    """The step that begins; None where it is none of a trial's application, or a framework's way to end."""
    trial = own_trial() if recorders else None
    if trial is None or trial.over or phase.get() != "subject":
        return None
    # Another release, with other parameters, or no call of a tool: the application goes on as without a recorder.
    with suppress(Exception):
        name, arguments = called(args, more)
        around = trial.step_log.within()
        inside = around is not None and trial.step_log[around]
        if name in ANSWERS or (inside and inside.kind == "tool" and inside.name == name):
            return None  # one method of a tool's calls another
        place = trial.step_log.add(Step("tool", str(name), _plain(arguments)))
        return _Running(trial, place)
    return None


def _positional(args: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments without names: of one mapping its own, else by their numbers."""
    if len(args) == 1 and is_mapping(args[0]):
        return dict(args[0])
    return {str(i): value for i, value in enumerate(args)}


def _told(value: object) -> tuple[object, bool]:
    """What a tool returned, without what its framework wraps it in; and whether the framework says that it failed."""
    thing = cast("Any", value)
    failed = getattr(thing, "status", "") in ("error", "failure") or any(
        getattr(thing, name, False) is True for name in ("is_error", "is_sdk_generated_error")
    )
    if isinstance(value, list) and value:
        texts = [getattr(each, "text", None) for each in cast("list[Any]", value)]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(map(str, texts)), failed
    # Agno's, Mirascope's; LlamaIndex's `ToolOutput` has content instead.
    if type(thing).__name__ in ("FunctionExecutionResult", "ToolOutput") and hasattr(
        thing, "result"
    ):
        failed = failed or getattr(thing, "error", None) is not None
        return _plain(thing.error if failed else thing.result), failed
    content = getattr(thing, "content", getattr(thing, "output", None))
    return _plain(value if content is None else content), failed


def _plain(value: object) -> Any:
    """A value as JSON has it; the text of one that JSON has no form for."""
    if hasattr(value, "model_dump"):
        value = cast("Any", value).model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[Any, Any]", value).items()}
    try:
        return decode(encode(value, ordered=False))
    except (TypeError, ValueError):
        return str(value)
