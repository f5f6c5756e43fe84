"""Tools of MCP servers, as `mcp` in a provider's config gives them to a model: which one does it pick?

How this works: the servers are started when the first trial needs their tools, asked what they have, and ended. The
model is told of the tools, and what it calls is its answer. Nothing is called here: a trial changes nothing, and its
request says all that its answer depends on. With `call: true`, each trial has servers of its own, which its model's
calls go to, and the model is asked again with what they returned.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec.structs import replace

from evenhand.core.errors import InfrastructureError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping, is_texts
from evenhand.core.message import Model, Prompt
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider
from evenhand.core.ranges import MILLISECONDS
from evenhand.core.record import Record
from evenhand.doors.conversations.mcp_world import LIMIT_S, MCPWorld
from evenhand.doors.conversations.tool_calls import (
    MAX_TURNS,
    TURNS,
    WITH_TOOLS,
    CallingModel,
    ToolForm,
)
from evenhand.languages.documents.findings import Findings, Place
from evenhand.providers.configured import tool_form

_KEYS = ("enabled", "server", "servers", "tools", "exclude_tools", "timeout", "call", "max_turns")
# Keys of promptfoo that have no effect here, and are no mistake either.
_UNUSED = ("verbose", "debug", "pingOnConnect", "resetTimeoutOnProgress", "maxTotalTimeout")
_OF_SERVER = ("name", "command", "args", "env", "path", "url", "headers", "auth")
_PROGRAMS = {".py": "python3", ".js": "node", ".mjs": "node", ".cjs": "node"}
_ADDRESS = ("http://", "https://")
_WRITE = "Write server: {command: python3, args: [server.py]}, or server: {url: https://…}."


class _Server(Record, frozen=True):
    """One server: a command or an address, and what goes with it."""

    server: str
    headers: Mapping[str, str]
    env: Mapping[str, str]


class McpTools:
    """The tools of the MCP servers that a provider's config names.

    Attributes:
        files: The files of theirs that are beside the config.
        calls: Whether the tools that a model asks for are called.
        turns: How many answers of the model's its answer may take.
    """

    def __init__(
        self,
        servers: Sequence[_Server],
        form: ToolForm,
        base: Path,
        *,
        only: Sequence[str] | None,
        without: Sequence[str],
        limit_s: float,
        calls: bool,
        turns: int,
    ) -> None:
        self.calls = calls
        self.turns = turns if calls else 1
        self._servers = servers
        self._form: ToolForm = form
        self._base = base
        self._only = only
        self._without = without
        self._limit_s = limit_s
        commands = (one.server for one in servers if not one.server.startswith(_ADDRESS))
        words = (word for command in commands for word in shlex.split(command))
        self.files = {base / word for word in words if (base / word).is_file()}

    async def added(self, trial: Trial, prompt: Prompt, config: Mapping[str, Any]) -> Prompt:
        """The prompt with these tools before those that the model is told of anyway.

        Raises:
            InfrastructureError: A server cannot be started, or doesn't answer.
            UsageError: A tool that is to be used isn't there, or the package `mcp` isn't.
        """
        mine = await trial.lasting(self._for_run).definitions()
        tools = [*mine, *as_array({**config, **prompt.config}.get("tools"))]
        return replace(prompt, config={**prompt.config, "tools": tools})

    def _for_run(self, _limit_s: float) -> _Listing:
        return _Listing(self)

    async def listed(self) -> list[dict[str, Any]]:
        """What the servers have now, as the model is told of it."""
        async with self.opened() as tools:
            return tools.definitions

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenTools]:
        """The tools, with the servers started; they are ended with the block.

        Raises:
            InfrastructureError: A server cannot be started, or doesn't answer.
            UsageError: A tool that is to be used isn't there, or the package `mcp` isn't.
        """
        definitions: list[dict[str, Any]] = []
        names: dict[str, None] = {}
        homes: dict[str, MCPWorld] = {}
        async with AsyncExitStack() as stack:
            for one in self._servers:
                world = MCPWorld(
                    one.server,
                    env=one.env,
                    folder=self._base,
                    headers=one.headers,
                    limit_s=self._limit_s,
                )
                await stack.enter_async_context(world)
                chosen = [
                    name
                    for name in world.tools
                    if (self._only is None or name in self._only) and name not in self._without
                ]
                twice = next((name for name in chosen if name in names), "")
                if twice:
                    hint = f"Write exclude_tools: [{twice}], or name one server."
                    raise UsageError(f"mcp: two servers have a tool '{twice}'", hint=hint)
                # Left-out tools too: a name in `tools` that `exclude_tools` takes away again is no misspelling.
                names |= dict.fromkeys(world.tools)
                homes |= dict.fromkeys(chosen, world)
                definitions += world.definitions(self._form, chosen)
            missing = [name for name in self._only or () if name not in names]
            if missing:
                there = f"There are: {', '.join(names)}."
                what = f"mcp: no server has the tool '{missing[0]}'"
                raise UsageError(what, hint=did_you_mean(missing[0], names, there))
            yield OpenTools(definitions, homes, self._form, self.turns)


class OpenTools:
    """The tools of servers that are running.

    Attributes:
        definitions: The tools as a model is told of them.
        tools: The tools by name.
    """

    def __init__(
        self,
        definitions: list[dict[str, Any]],
        homes: Mapping[str, MCPWorld],
        form: ToolForm,
        turns: int,
    ) -> None:
        self.definitions = definitions
        self.tools = {name: world.tools[name] for name, world in homes.items()}
        self._homes = homes
        self._form: ToolForm = form
        self._turns = turns

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        return await self._homes[name].call(name, arguments)

    def asking(self, model: Model) -> CallingModel:
        """A model that calls these tools."""
        return CallingModel(model, self, self._form, self._turns)


class _Listing:
    """What the servers had when a run first asked them."""

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools
        self._lock = asyncio.Lock()
        self._found: list[dict[str, Any]] | None = None
        self._error: InfrastructureError | UsageError | None = None

    async def definitions(self) -> list[dict[str, Any]]:
        """As `McpTools.listed`, asked once; what goes wrong goes wrong for the whole run."""
        # Many trials ask at once: the first starts the servers, and the others wait for what it is told.
        async with self._lock:
            # Servers that failed once are not started again for each of the other trials.
            if self._error is not None:
                raise self._error
            if self._found is None:
                try:
                    self._found = await self._tools.listed()
                except (InfrastructureError, UsageError) as error:
                    self._error = error
                    raise
            return self._found

    def close(self) -> None:
        """Holds nothing: the servers are ended once they are asked."""


def read_mcp(
    config: Mapping[str, Any], provider: Provider, base: Path, place: Place, findings: Findings
) -> McpTools | None:
    """The tools that a provider's config gives it; None where it gives none. What is wrong with it is a problem."""
    written = config.get("mcp")
    if written is None:
        return None
    whose = f"mcp of provider {provider.id}"
    if not is_mapping(written):
        findings.problem(place, f"{whose} is {written!r:.60}, not an object", _WRITE)
        return None
    if written.get("enabled") is False:
        return None
    others = [key for key in written if key not in _UNUSED]
    findings.unknown(others, _KEYS, place, f" of {whose}")
    form = tool_form(provider)
    if not form:
        what = f"{provider.id} cannot be given tools, so mcp has no use"
        findings.problem(place, what, WITH_TOOLS)
        return None
    items: list[object] = [written["server"]] if written.get("server") is not None else []
    items += as_array(written.get("servers"))
    if not items:
        findings.problem(place, f"{whose} names no server", _WRITE)
        return None
    servers = [_server(one, whose, place, findings) for one in items]
    timeout = findings.number(written.get("timeout"), place, f"timeout of {whose}", MILLISECONDS)
    calls: object = written.get("call", False)
    if not isinstance(calls, bool):
        findings.problem(place, f"call of {whose} is {calls!r:.60}, not true or false")
    most = findings.number(written.get("max_turns"), place, f"max_turns of {whose}", TURNS)
    if most is not None and calls is False:
        findings.hint(place, f"max_turns of {whose} has no effect", "It needs call: true.")
    only = _names(written.get("tools"), f"tools of {whose}", place, findings)
    without = _names(written.get("exclude_tools"), f"exclude_tools of {whose}", place, findings)
    return McpTools(
        [one for one in servers if one is not None],
        cast("ToolForm", form),
        base,
        only=only,
        without=without or (),
        limit_s=timeout / 1000 if timeout else LIMIT_S,
        calls=calls is True,
        turns=int(most or MAX_TURNS),
    )


def _names(value: object, what: str, place: Place, findings: Findings) -> list[str] | None:
    if value is None:
        return None
    if is_texts(value):
        return value
    findings.problem(place, f"{what} is {value!r:.60}, not a list of names")
    return None


def _server(value: object, whose: str, place: Place, findings: Findings) -> _Server | None:
    """One server as it is written; None, and a problem, where it is none."""
    if not is_mapping(value):
        findings.problem(place, f"{whose}: a server is {value!r:.60}, not an object", _WRITE)
        return None
    findings.unknown(value, _OF_SERVER, place, f" of a server in {whose}")
    ways = [key for key in ("command", "path", "url") if value.get(key)]
    args = value.get("args") or []
    if len(ways) != 1 or not is_array(args):
        what = f"{whose}: a server has one of command, path and url, and args is a list"
        findings.problem(place, what, _WRITE)
        return None
    (kind,) = ways
    named = str(value[kind])
    headers = _texts(value.get("headers"), f"headers in {whose}", place, findings)
    env = _texts(value.get("env"), f"env in {whose}", place, findings)
    if kind == "url":
        return _at_address(named, headers, value.get("auth"), whose, place, findings)
    if headers or value.get("auth") is not None:
        findings.problem(place, f"{whose}: headers and auth are for a server with a url")
        return None
    words = [named, *(str(arg) for arg in args)]
    if kind == "path":
        program = _PROGRAMS.get(Path(named).suffix)
        if program is None:
            findings.problem(place, f"{whose}: path {named!r} is no .py or .js file", _WRITE)
            return None
        words = [program, *words]
    return _Server(shlex.join(words), {}, env)


def _at_address(
    url: str, headers: Mapping[str, str], auth: object, whose: str, place: Place, findings: Findings
) -> _Server | None:
    """A server at an address, with who asks."""
    if not url.startswith(_ADDRESS):
        findings.problem(place, f"{whose}: {url!r:.80} is not an address", _WRITE)
        return None
    if auth is None:
        return _Server(url, headers, {})
    fields = as_mapping(auth)
    kind = fields.get("type")
    if kind == "bearer" and fields.get("token"):
        return _Server(url, {**headers, "Authorization": f"Bearer {fields['token']}"}, {})
    key = fields.get("value") or fields.get("api_key")
    if kind == "api_key" and key:
        name = str(fields.get("keyName") or "X-API-Key")
        if fields.get("placement") != "query":
            return _Server(url, {**headers, name: str(key)}, {})
        parts = urlsplit(url)
        query = urlencode([*parse_qsl(parts.query), (name, str(key))])
        return _Server(urlunsplit(parts._replace(query=query)), headers, {})
    what = f"{whose}: auth of the type {kind!r} is not known, or has no token or value"
    findings.problem(place, what, "Write {type: bearer, token: …}, or the headers themselves.")
    return None


def _texts(value: object, what: str, place: Place, findings: Findings) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        findings.problem(place, f"{what} is {value!r:.60}, not an object")
        return {}
    return {str(k): str(v) for k, v in cast("Mapping[object, object]", value).items()}
