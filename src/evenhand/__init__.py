"""Evenhand: find out whether an LLM application is good, and whether a change made it better."""

from __future__ import annotations

from evenhand.core.lazy import lazily
from evenhand.core.version import __version__

TYPE_CHECKING = (
    False  # type checkers know better; importing `typing` takes as long as all else here
)
if TYPE_CHECKING:
    from evenhand.authoring.batch import score_batch as score_batch
    from evenhand.authoring.batch import score_batch_async as score_batch_async
    from evenhand.authoring.dataset import Dataset as Dataset
    from evenhand.authoring.evalset import EvalSet as EvalSet
    from evenhand.authoring.expect import Expect as Expect
    from evenhand.authoring.prompt import Prompt as Prompt
    from evenhand.authoring.running import run as run
    from evenhand.authoring.running import run_async as run_async
    from evenhand.authoring.scoring import score as score
    from evenhand.authoring.scoring import score_async as score_async
    from evenhand.conversations.conversation import Conversation as Conversation
    from evenhand.conversations.simulated import SimulatedUser as SimulatedUser
    from evenhand.conversations.talk import Talk as Talk
    from evenhand.conversations.world import World as World
    from evenhand.core.case import Case as Case
    from evenhand.core.gate_terms import GateTerms as GateTerms
    from evenhand.core.message import Message as Message
    from evenhand.core.message import Model as Model
    from evenhand.core.message import Reply as Reply
    from evenhand.core.requirement import at_least as at_least
    from evenhand.core.requirement import at_most as at_most
    from evenhand.core.score import Score as Score
    from evenhand.providers.command_agents.agent import CommandAgent as CommandAgent
    from evenhand.report.comparison.comparing import compare as compare
    from evenhand.report.run import Run as Run
    from evenhand.report.scored import Scored as Scored
    from evenhand.scorers.rubric import Rubric as Rubric

_HOMES = {
    "Case": "core.case",
    "CommandAgent": "providers.command_agents.agent",
    "Conversation": "conversations.conversation",
    "Dataset": "authoring.dataset",
    "EvalSet": "authoring.evalset",
    "Expect": "authoring.expect",
    "GateTerms": "core.gate_terms",
    "Message": "core.message",
    "Model": "core.message",
    "Prompt": "authoring.prompt",
    "Reply": "core.message",
    "Rubric": "scorers.rubric",
    "Run": "report.run",
    "Score": "core.score",
    "Scored": "report.scored",
    "SimulatedUser": "conversations.simulated",
    "Talk": "conversations.talk",
    "World": "conversations.world",
    "at_least": "core.requirement",
    "at_most": "core.requirement",
    "compare": "report.comparison.comparing",
    "run": "authoring.running",
    "run_async": "authoring.running",
    "score": "authoring.scoring",
    "score_async": "authoring.scoring",
    "score_batch": "authoring.batch",
    "score_batch_async": "authoring.batch",
}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)
__getattr__, __dir__ = lazily(__name__, _HOMES)
