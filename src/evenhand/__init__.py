"""Evenhand: find out whether an LLM application is good, and whether a change made it better."""

from __future__ import annotations

from evenhand.core.lazy import lazily
from evenhand.core.public_names import PUBLIC, install
from evenhand.core.version import __version__

TYPE_CHECKING = (
    False  # type checkers know better; importing `typing` takes as long as all else here
)
if TYPE_CHECKING:
    from evenhand.core.case import Case as Case
    from evenhand.core.gate_terms import GateTerms as GateTerms
    from evenhand.core.message import Message as Message
    from evenhand.core.message import Model as Model
    from evenhand.core.message import Reply as Reply
    from evenhand.core.requirement import at_least as at_least
    from evenhand.core.requirement import at_most as at_most
    from evenhand.core.score import Score as Score
    from evenhand.doors import recording as recording
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
    from evenhand.doors.eval_sets.batch import score_batch as score_batch
    from evenhand.doors.eval_sets.batch import score_batch_async as score_batch_async
    from evenhand.doors.eval_sets.dataset import Dataset as Dataset
    from evenhand.doors.eval_sets.evalset import EvalSet as EvalSet
    from evenhand.doors.eval_sets.expect import Expect as Expect
    from evenhand.doors.eval_sets.prompt import Prompt as Prompt
    from evenhand.doors.eval_sets.running import run as run
    from evenhand.doors.eval_sets.running import run_async as run_async
    from evenhand.doors.eval_sets.scoring import score as score
    from evenhand.doors.eval_sets.scoring import score_async as score_async
    from evenhand.doors.isolation import django_rolled_back as django_rolled_back
    from evenhand.doors.isolation import rolled_back as rolled_back
    from evenhand.providers.command_agents.agent import CommandAgent as CommandAgent
    from evenhand.render.comparing import compare as compare
    from evenhand.render.run import Run as Run
    from evenhand.render.scored import Scored as Scored
    from evenhand.scorers.rubric import Rubric as Rubric

__all__ = ["__version__", *PUBLIC]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)
__getattr__, __dir__ = lazily(
    __name__, PUBLIC, modules=("recording", "scorers", "testing", "wings")
)
install()
