"""`evenhand init --agent-framework`: a first eval set beside an agent that already exists."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record

STARTER = Path(__file__).parent / "starters" / "agent.py.txt"
_SKIPPED = frozenset({"node_modules", "site-packages", "venv", "env", "build", "dist", "tests"})
LOOKED_AT = 2_000
"""Files that are looked at in search of an agent."""


class AgentFramework(Record, frozen=True, kw_only=True):
    """How agents of one framework are found, and called.

    Attributes:
        modules: What a file imports that makes one, as the first words of a module's name.
        makers: The functions and classes that make one.
        call: What an eval calls: the lines of a function of `agent` and `question`, which returns a text.
        imports: What those lines need.
    """

    modules: tuple[str, ...]
    makers: tuple[str, ...]
    call: str
    imports: str = ""

    @property
    def is_async(self) -> bool:
        """Whether the call is awaited."""
        return _ASYNC in self.call


_ASYNC, _PLAIN = "async def answer(question: str) -> str:\n", "def answer(question: str) -> str:\n"
_ALONE = "alone = Lock()  # this agent answers one question at a time\n\n\n"

FRAMEWORKS: Mapping[str, AgentFramework] = {
    "openai-agents": AgentFramework(
        modules=("agents",),
        makers=("Agent",),
        imports="from agents import Runner\n",
        call=_ASYNC + "    return str((await Runner.run(agent, question)).final_output)\n",
    ),
    "pydantic-ai": AgentFramework(
        modules=("pydantic_ai",),
        makers=("Agent",),
        call=_ASYNC + "    return str((await agent.run(question)).output)\n",
    ),
    "langchain": AgentFramework(
        modules=("langchain", "langgraph"),
        makers=("create_agent", "create_react_agent", "compile"),
        call=_ASYNC
        + '    state = await agent.ainvoke({"messages": [("user", question)]})\n'
        + '    return state["messages"][-1].text\n',
    ),
    "llama-index": AgentFramework(
        modules=("llama_index",),
        makers=("FunctionAgent", "ReActAgent", "CodeActAgent", "AgentWorkflow"),
        call=_ASYNC + "    return str(await agent.run(question))\n",
    ),
    "smolagents": AgentFramework(
        modules=("smolagents",),
        makers=("ToolCallingAgent", "CodeAgent"),
        imports="from threading import Lock\n",
        call=_ALONE + _PLAIN + "    with alone:\n        return str(agent.run(question))\n",
    ),
    "crewai": AgentFramework(
        modules=("crewai",),
        makers=("Crew",),
        call=_PLAIN + '    return agent.copy().kickoff({"question": question}).raw\n',
    ),
    "google-adk": AgentFramework(
        modules=("google.adk",),
        makers=("Agent", "LlmAgent", "SequentialAgent"),
        imports="from google.adk.runners import InMemoryRunner\nfrom google.genai import types\n",
        call=_ASYNC
        + '    runner = InMemoryRunner(agent=agent, app_name="evals")\n'
        + "    sessions = runner.session_service\n"
        + '    session = await sessions.create_session(app_name="evals", user_id="evals")\n'
        + '    message = types.Content(role="user", parts=[types.Part(text=question)])\n'
        + '    text = ""\n'
        + "    async for event in runner.run_async(\n"
        + '        user_id="evals", session_id=session.id, new_message=message\n'
        + "    ):\n"
        + "        if event.is_final_response() and event.content:\n"
        + '            text = "".join(part.text or "" for part in event.content.parts)\n'
        + "    return text\n",
    ),
    "dspy": AgentFramework(
        modules=("dspy",),
        makers=("ReAct", "ChainOfThought", "Predict"),
        call=_PLAIN + "    return str(agent(question=question).answer)\n",
    ),
    "autogen": AgentFramework(
        modules=("autogen_agentchat",),
        makers=("AssistantAgent",),
        imports="from asyncio import Lock\n\nfrom autogen_core import CancellationToken\n",
        call=_ALONE
        + _ASYNC
        + "    async with alone:\n"
        + "        await agent.on_reset(CancellationToken())\n"
        + "        return str((await agent.run(task=question)).messages[-1].content)\n",
    ),
    "agent-framework": AgentFramework(
        modules=("agent_framework",),
        makers=("Agent", "ChatAgent", "as_agent"),
        call=_ASYNC + "    return (await agent.run(question)).text\n",
    ),
    "agno": AgentFramework(
        modules=("agno",),
        makers=("Agent", "Team"),
        call=_ASYNC + "    return str((await agent.arun(question)).content)\n",
    ),
    "haystack": AgentFramework(
        modules=("haystack",),
        makers=("Agent",),
        imports="from haystack.dataclasses import ChatMessage\n",
        call=_PLAIN
        + "    messages = [ChatMessage.from_user(question)]\n"
        + '    return agent.run(messages=messages)["messages"][-1].text\n',
    ),
}
"""By the names of their packages."""
_OTHER_NAMES = {
    "langgraph": "langchain",
    "llamaindex": "llama-index",
    "adk": "google-adk",
    "haystack-ai": "haystack",
    "autogen-agentchat": "autogen",
}


class FoundAgent(Record, frozen=True):
    """An agent in a file.

    Attributes:
        name: The variable that holds it.
    """

    file: Path
    name: str


def framework_of(name: str) -> AgentFramework:
    """The framework of this name.

    Raises:
        UsageError: There is none.
    """
    key = name.lower().replace("_", "-")
    framework = FRAMEWORKS.get(_OTHER_NAMES.get(key, key))
    if framework is None:
        known = ", ".join(FRAMEWORKS)
        raise UsageError(
            f"--agent-framework {name}: no such framework is known",
            hint=did_you_mean(
                key,
                [*FRAMEWORKS, *_OTHER_NAMES],
                f"There are: {known}. For others: evenhand new eval agent.",
            ),
        )
    return framework


def write_first_evals(name: str, folder: Path) -> tuple[Path, FoundAgent | None]:
    """Writes an eval set beside the first agent of this framework's that is found, and says which that is.

    Args:
        folder: Where agents are looked for. Without one, the eval set is written here, with a name to fill in.

    Raises:
        UsageError: There is no such framework, or the file already exists.
    """
    framework = framework_of(name)
    agent = next(agents_in(folder, framework), None)
    module, variable, place = "my_agent", "agent", folder
    if agent is not None:
        (place, module), variable = _importable(agent.file), agent.name
    target = place / "agent_evals.py"
    renamed = variable if variable == "agent" else f"{variable} as agent"
    values = {
        "IMPORTS": framework.imports,
        "AGENT": f"from {module} import {renamed}"
        + ("" if agent else "  # the module and the name of your agent"),
        "CALL": framework.call.rstrip(),
        "DEF": "async def" if framework.is_async else "def",
        "WAIT": "await " if framework.is_async else "",
    }
    text = re.sub("@([A-Z]+)@", lambda match: values[match[1]], STARTER.read_text("utf-8"))
    text = text.replace('"""\n\n\nfrom', '"""\n\nfrom')  # of a framework that needs no imports
    from evenhand.store.replacing import created

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with created(target) as file:
            file.write_text(text, "utf-8")
    except FileExistsError:
        raise UsageError(
            f"{os.path.relpath(target)} already exists; nothing was written",
            hint=f"Run it: evenhand run {os.path.relpath(target)}",
        ) from None
    except OSError as error:
        raise UsageError(
            f"{os.path.relpath(target)} cannot be written: {error.strerror}"
        ) from error
    return target, agent


def _importable(file: Path) -> tuple[Path, str]:
    """The folder from which a module is imported, and its name there: a package's modules from above the package."""
    folder, names = file.parent, [file.stem]
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def agents_in(folder: Path, framework: AgentFramework) -> Iterator[FoundAgent]:
    """The agents of a framework that modules in a folder hold in a variable, those nearest to its top first."""
    for path in _modules(folder):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        if any(module.startswith(framework.modules) for module in _imported(tree)):
            yield from (FoundAgent(path, name) for name in _made(tree, framework.makers))


def _modules(folder: Path) -> Iterator[Path]:
    looked_at = 0
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if f not in _SKIPPED and not f.startswith((".", "_"))
        )
        for name in sorted(files):
            if name.endswith(".py") and not name.endswith("_evals.py"):
                looked_at += 1
                if looked_at > LOOKED_AT:
                    return
                yield Path(top, name)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _made(tree: ast.Module, makers: tuple[str, ...]) -> Iterator[str]:
    """The variables of a module that hold what one of these makes; the last one first, which others are made for."""
    for node in reversed(tree.body):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not isinstance(
            node.value, ast.Call
        ):
            continue
        maker = node.value.func
        name = maker.attr if isinstance(maker, ast.Attribute) else ""
        name = maker.id if isinstance(maker, ast.Name) else name
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if name in makers:
            yield from (target.id for target in targets if isinstance(target, ast.Name))
