"""A server whose tools refuse arguments that they don't have or can't take, and whose refusals are errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent
from pydantic import ValidationError

from evenhand.core.names import did_you_mean

_LONGEST = 20_000
"""Characters of a path, the name of a run, or a filter."""
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""What a file system, a filter or an answer in UTF-8 cannot hold: NUL, other controls, half a character."""
_PROBLEM = '{"problem":'
"""How the answers begin that say what is wrong; see `evenhand.wings.coding_agents.answers.refusal`."""


class KnownArgumentsServer(MCPServer):
    """An MCP server that looks at the names and texts of all arguments before anything is done."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Calls a tool, or says which of the arguments it does not have or cannot take."""
        for tool in await self.list_tools():
            if tool.name == name:
                text = _unknown(name, arguments, tool.input_schema.get("properties", {}))
                text = text or _impossible(name, arguments)
                if text:
                    return _refused(text)
        try:
            return _result(await super().call_tool(name, arguments, context))
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            return _refused(_of_another_type(name, error.__cause__))


def _refused(text: str) -> CallToolResult | InputRequiredResult:
    content = TextContent(type="text", text=text)
    return _result(CallToolResult(content=[content], structured_content={"result": text}))


def _result(result: CallToolResult | InputRequiredResult) -> CallToolResult | InputRequiredResult:
    """An answer that says what is wrong, as the error that it is."""
    if not isinstance(result, CallToolResult) or not result.content:
        return result
    first = result.content[0]
    text = first.text if isinstance(first, TextContent) else ""
    return result.model_copy(update={"is_error": True}) if text.startswith(_PROBLEM) else result


def _unknown(tool: str, arguments: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """An answer that says which arguments a tool does not have; empty where it has all."""
    wrong = [name for name in arguments if name not in known]
    if not wrong:
        return ""
    listed = ", ".join(repr(name[:80]) for name in wrong[:10])
    near = {did_you_mean(name, known): None for name in wrong[:10]}
    there = f"There are: {', '.join(known)}." if known else "It takes none."
    hint = " ".join([*filter(None, near), there])
    return json.dumps({"problem": f"{tool} has no argument {listed}", "next": [{"do": hint}]})


def _of_another_type(tool: str, error: ValidationError) -> str:
    """An answer that says which arguments are missing, or of a type that they can't have."""
    wrong = {str(one["loc"][0])[:80]: one["msg"] for one in reversed(error.errors())}
    problem = "; ".join(f"{name}: {message}" for name, message in reversed(wrong.items()))
    hint = f"Call {tool} again, with another {next(reversed(wrong))}."
    return json.dumps({"problem": problem, "next": [{"do": hint}]})


def _impossible(tool: str, arguments: Mapping[str, Any]) -> str:
    """An answer that says which text is no name of anything; empty where all may be."""
    for name, value in arguments.items():
        if not isinstance(value, str):
            continue
        problem = ""
        if len(value) > _LONGEST:
            problem = f"has {len(value):,} characters; at most {_LONGEST:,} are taken"
        elif bad := _NO_TEXT.search(value):
            problem = f"has the character U+{ord(bad[0]):04X}, which is in no name and no filter"
        if problem:
            hint = f"Call {tool} again, with another {name}."
            return json.dumps({"problem": f"{name} {problem}", "next": [{"do": hint}]})
    return ""
