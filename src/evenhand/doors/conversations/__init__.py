"""Conversations with an agent: who plays the user, how its turns are checked, and the world that both act in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazily

if TYPE_CHECKING:
    from evenhand.doors.conversations.checking import TurnChecks as TurnChecks
    from evenhand.doors.conversations.contract import UserContract as UserContract
    from evenhand.doors.conversations.conversation import Conversation as Conversation
    from evenhand.doors.conversations.database_world import DatabaseWorld as DatabaseWorld
    from evenhand.doors.conversations.dict_world import DictWorld as DictWorld
    from evenhand.doors.conversations.fault import Fault as Fault
    from evenhand.doors.conversations.mcp_world import MCPWorld as MCPWorld
    from evenhand.doors.conversations.simulated import SimulatedUser as SimulatedUser
    from evenhand.doors.conversations.talk import Talk as Talk
    from evenhand.doors.conversations.tool_table import ToolTable as ToolTable
    from evenhand.doors.conversations.turn_judge import TurnJudge as TurnJudge
    from evenhand.doors.conversations.users import FunctionUser as FunctionUser
    from evenhand.doors.conversations.users import ScriptedUser as ScriptedUser
    from evenhand.doors.conversations.users import StatefulUser as StatefulUser
    from evenhand.doors.conversations.world import World as World

_HOMES = {
    "Conversation": "conversation",
    "DatabaseWorld": "database_world",
    "DictWorld": "dict_world",
    "Fault": "fault",
    "FunctionUser": "users",
    "MCPWorld": "mcp_world",
    "ScriptedUser": "users",
    "SimulatedUser": "simulated",
    "StatefulUser": "users",
    "Talk": "talk",
    "ToolTable": "tool_table",
    "TurnChecks": "checking",
    "TurnJudge": "turn_judge",
    "UserContract": "contract",
    "World": "world",
}
__all__ = [*_HOMES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)
__getattr__, __dir__ = lazily(__name__, _HOMES)
