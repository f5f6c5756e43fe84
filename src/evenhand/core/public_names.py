"""The names that `evenhand` offers, and where each lies: nothing has to import the front door for them.

Some modules have short names, too: `evenhand.conversations` is `evenhand.doors.conversations`. A public name outlives
the folder that its code lies in. Both names mean one module, which is imported once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

PUBLIC: Mapping[str, str] = {
    "Case": "core.case",
    "CommandAgent": "providers.command_agents.agent",
    "Conversation": "doors.conversations.conversation",
    "DatabaseWorld": "doors.conversations.database_world",
    "Dataset": "doors.eval_sets.dataset",
    "DictWorld": "doors.conversations.dict_world",
    "EvalSet": "doors.eval_sets.evalset",
    "Expect": "doors.eval_sets.expect",
    "Fault": "doors.conversations.fault",
    "FunctionUser": "doors.conversations.users",
    "GateTerms": "core.gate_terms",
    "MCPWorld": "doors.conversations.mcp_world",
    "Message": "core.message",
    "Model": "core.message",
    "Prompt": "doors.eval_sets.prompt",
    "Reply": "core.message",
    "Rubric": "scorers.rubric",
    "Run": "render.run",
    "Score": "core.score",
    "Scored": "render.scored",
    "ScriptedUser": "doors.conversations.users",
    "SimulatedUser": "doors.conversations.simulated",
    "StatefulUser": "doors.conversations.users",
    "Talk": "doors.conversations.talk",
    "ToolTable": "doors.conversations.tool_table",
    "TurnChecks": "doors.conversations.checking",
    "TurnJudge": "doors.conversations.turn_judge",
    "UserContract": "doors.conversations.contract",
    "World": "doors.conversations.world",
    "at_least": "core.requirement",
    "at_most": "core.requirement",
    "compare": "render.comparing",
    "django_rolled_back": "doors.isolation",
    "rolled_back": "doors.isolation",
    "run": "doors.eval_sets.running",
    "run_async": "doors.eval_sets.running",
    "score": "doors.eval_sets.scoring",
    "score_async": "doors.eval_sets.scoring",
    "score_batch": "doors.eval_sets.batch",
    "score_batch_async": "doors.eval_sets.batch",
}
"""Each name, and the module below `evenhand` that has it."""


HOMES = {
    "evenhand.conversations": "evenhand.doors.conversations",
    "evenhand.importers": "evenhand.doors.importers",
    "evenhand.isolation": "evenhand.doors.isolation",
    "evenhand.metrics": "evenhand.scorers.metrics",
    "evenhand.promptfoo": "evenhand.doors.promptfoo",
    "evenhand.pytest_plugin": "evenhand.doors.pytest_plugin",
    "evenhand.recording": "evenhand.doors.recording",
}


class _Same:
    """Gives the module that already exists, unchanged."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        module = import_module(self.home)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just put the short name's there


class ShortNames:
    """Finds public modules, and what lies below them, by their short names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if not fullname.startswith("evenhand."):
            return None
        for short, home in HOMES.items():
            if fullname == short or fullname.startswith(f"{short}."):
                loader = _Same(home + fullname.removeprefix(short))
                return ModuleSpec(fullname, loader, is_package=True)  # pyright: ignore[reportArgumentType] (it loads)
        return None


def install() -> None:
    """Makes the short names importable, once."""
    if not any(isinstance(finder, ShortNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, ShortNames())  # before the finder of what lies below
