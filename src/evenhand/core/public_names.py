"""The names that `evenhand` offers, and where each lies: nothing has to import the front door for them."""

from __future__ import annotations

from collections.abc import Mapping

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
