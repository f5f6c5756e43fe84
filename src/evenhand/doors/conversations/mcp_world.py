"""A world that is an MCP server: started for a trial, its tools are the world's, and gone afterwards.

How this works: a client of the official package `mcp` has to be opened and closed by one task. A task of its own does
so, while the agent's tasks call. A server that cannot be started, crashes or doesn't answer says nothing of the agent:
the trial is an error of the infrastructure. What the server itself says went wrong is for the agent to see.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import os
import shlex
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, get_args

from evenhand.core.arguments import checked_class, past_checks
from evenhand.core.errors import InfrastructureError, UsageError
from evenhand.core.message import Model
from evenhand.core.names import did_you_mean
from evenhand.core.program_output import complaint_of
from evenhand.doors.conversations.tool_calls import (
    MAX_TURNS,
    TURNS,
    WITH_TOOLS,
    CallingModel,
    ToolForm,
)
from evenhand.doors.conversations.toolbox import Toolbox, ToolFailedError
from evenhand.engine.trial import present
from evenhand.providers.configured import tool_form

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

LIMIT_S = 60.0
_CLOSE_S = 10.0
_CONNECT_S, _READ_S = 30.0, 300.0
"""What the package's own client waits for a connection, and for the next piece of a stream."""


@checked_class
class MCPWorld(Toolbox):
    """The tools of an MCP server: `async with MCPWorld("python3 shop_server.py") as shop:`, in a fixture.

    Its tools are functions in `tools`, as those of every world. Each is async, and takes its arguments by name. One
    that the server says has failed raises, or is `{"error": …}` for the model where `call` calls it.

    Args:
        server: The command that starts a server on its standard input and output, or the address of one, `https://…`.
        env: The names of variables that the command is given beside those that it needs to start; or names and values.
        folder: Where the command is run; by default, beside the file that this is written in.
        headers: What is sent with each request to an address.
        limit_s: The seconds that its start, and each call, may take.

    Raises:
        UsageError: One of them is not what it should be.
    """

    def __init__(
        self,
        server: str,
        *,
        env: Sequence[str] | Mapping[str, str] = (),
        folder: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        super().__init__()
        remote = server.startswith(("http://", "https://"))
        try:
            words = [] if remote else shlex.split(server)
        except ValueError as error:
            raise UsageError(f"MCPWorld: {server!r} cannot be read: {error}") from None
        if not remote and not words:
            raise UsageError("MCPWorld: it names no server", hint="Give a command or an address.")
        if headers and not remote:
            raise UsageError("MCPWorld: headers= are for servers at an address")
        if isinstance(env, str) or not 0 < limit_s < 1e8:
            raise UsageError(f"MCPWorld: env is {env!r}, limit_s is {limit_s!r}")
        frame = inspect.currentframe()
        caller = past_checks(frame.f_back) if frame else None
        file = Path(caller.f_code.co_filename) if caller else Path()
        self.server = server
        self._words = words
        self._env = (
            {name: os.environ.get(name) for name in env} if not isinstance(env, Mapping) else env
        )
        self._folder = (
            Path(folder) if folder else file.resolve().parent if file.is_file() else Path()
        )
        self._headers = dict(headers or {})
        self._limit_s = limit_s
        self._listed: list[Tool] = []
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._errors: Any = None
        self._told = ""

    async def __aenter__(self) -> Self:
        """Starts the server, and lists its tools.

        Raises:
            UsageError: The package `mcp` is not installed.
            InfrastructureError: The server cannot be started, or doesn't answer in time.
        """
        if find_spec("mcp") is None:
            raise UsageError("MCPWorld needs the package mcp", hint="pip install 'evenhand[mcp]'")
        await asyncio.to_thread(_import_client)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # A file and not a pipe: a pipe that nobody reads fills up, and blocks the server.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the server is)
        self._task = asyncio.create_task(self._serve(ready), name=f"MCP server {self.server}")
        done, _ = await asyncio.wait(
            {ready, self._task}, timeout=self._limit_s, return_when="FIRST_COMPLETED"
        )
        if ready not in done:
            await self.close()
            raise self._broken(f"did not start within {self._limit_s:g} s")
        error = ready.exception()
        if error is not None:
            await self.close()
            raise self._broken(f"cannot be started: {_words_of(error)}") from error
        for tool in self._listed:
            self._tools[tool.name] = self._noted(tool.name, self._function(tool))
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Ends the server."""
        await self.close()

    async def close(self) -> None:
        """Ends the server."""
        self._stop.set()
        task, self._task = self._task, None
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=_CLOSE_S)
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if task is not None and not task.cancelled():
            task.exception()  # told already, or of no account any more
        self._client = None
        if self._errors is not None:
            self._errors_told()
            self._errors.close()

    def definitions(
        self, form: ToolForm = "openai", names: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """The server's tools as a model is told of them: what goes into `tools` of its settings.

        Args:
            form: Whose: `openai` (chat), `responses`, `anthropic` or `google`.
            names: Those that it is told of; None for all.

        Raises:
            UsageError: Nobody has this form.
        """
        forms = get_args(ToolForm)
        if form not in forms:
            hint = did_you_mean(str(form), forms, f"There are: {', '.join(forms)}.")
            raise UsageError(f"MCPWorld: no vendor's tools are in the form {form!r}", hint=hint)
        chosen = None if names is None else set(names)
        each = [
            {"name": one.name, "description": one.description or "", "parameters": one.input_schema}
            for one in self._listed
            if chosen is None or one.name in chosen
        ]
        if form == "openai":
            return [{"type": "function", "function": one} for one in each]
        if form == "responses":
            return [{"type": "function", **one} for one in each]
        if form == "google":
            return [{"functionDeclarations": each}] if each else []
        return [
            {
                "name": one["name"],
                "description": one["description"],
                "input_schema": one["parameters"],
            }
            for one in each
        ]

    def agent(self, model: Model, *, max_turns: int = MAX_TURNS) -> CallingModel:
        """An agent that is a model with these tools, and nothing else: `await shop.agent(model).generate(case.input)`.

        The tools that it asks for are called, and it is asked again with what they returned, until it answers in
        words, or asks for a tool that isn't there. It can be the agent of a `Conversation`, and remembers its calls
        from turn to turn: each conversation needs one of its own.

        Args:
            model: A model that the run lends, such as an eval's `model`.
            max_turns: How many answers of the model's an answer may take, from 1 on. If the last of them asks for
                tools, it is the answer.

        Raises:
            UsageError: It cannot be given tools, the world is not open, or `max_turns` is no such number.
        """
        TURNS.check("max_turns", max_turns)
        provider = getattr(model, "provider", None)
        form = tool_form(provider) if provider is not None else ""
        if not form:
            raise UsageError(f"MCPWorld: {model.name} cannot be given tools", hint=WITH_TOOLS)
        if self._client is None:
            raise UsageError("MCPWorld: it is not open", hint="Write `async with MCPWorld(…)`.")
        its = cast("ToolForm", form)
        return CallingModel(model, self, its, max_turns, self.definitions(its))

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        """Opens the client, and closes it when the world is."""
        try:
            async with self._opened() as client:
                cursor: str | None = None
                while True:
                    page = await client.list_tools(cursor=cursor)
                    self._listed += page.tools
                    cursor = page.next_cursor
                    if not cursor:
                        break
                self._client = client
                if not ready.done():
                    ready.set_result(None)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 (whatever a server does is told as its fault)
            if not ready.done():
                ready.set_exception(error)
        finally:
            self._client = None

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[Client]:
        from mcp import Client, StdioServerParameters  # noqa: PLC0415 (an extra)

        async with AsyncExitStack() as stack:
            transport: Any = self.server
            if self._words:
                from mcp.client.stdio import (  # noqa: PLC0415 (an extra)
                    get_default_environment,
                    stdio_client,
                )

                env = {name: value for name, value in self._env.items() if value is not None}
                parameters = StdioServerParameters(
                    command=self._words[0],
                    args=self._words[1:],
                    cwd=self._folder,
                    env={**get_default_environment(), **env},
                )
                transport = stdio_client(parameters, errlog=self._errors)
            elif self._headers:
                import httpx2  # noqa: PLC0415 (an extra)
                from mcp.client.streamable_http import (  # noqa: PLC0415 (an extra)
                    streamable_http_client,
                )

                limits = httpx2.Timeout(_CONNECT_S, read=_READ_S)
                http = httpx2.AsyncClient(headers=self._headers, timeout=limits)
                await stack.enter_async_context(http)
                transport = streamable_http_client(self.server, http_client=http)
            yield await stack.enter_async_context(Client(transport))

    def _function(self, tool: Tool) -> Callable[..., Any]:
        async def called(**arguments: Any) -> Any:
            return _result(await self._asked(tool.name, arguments))

        called.__name__ = called.__qualname__ = tool.name
        called.__doc__ = tool.description
        return called

    async def _asked(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """What the server answers to a call.

        Raises:
            InfrastructureError: It doesn't. The trial ends in this error, whatever the agent makes of it.
            ToolFailedError: It says that there is something wrong with the call.
        """
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 (an extra)
        from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT  # noqa: PLC0415 (an extra)

        client, task = self._client, self._task
        if client is None or task is None:
            raise self._failed("is not running")
        call = asyncio.ensure_future(client.call_tool(name, dict(arguments)))
        try:
            # The server's task ends when its process does, which the call itself may never notice.
            await asyncio.wait({call, task}, timeout=self._limit_s, return_when="FIRST_COMPLETED")
            if call.done():
                return call.result()
        except MCPError as error:
            # With these the server is gone; any other error is its own answer to the call.
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise self._failed(f"broke off while {name} was called") from error
            raise ToolFailedError(str(error)) from error
        except Exception as error:
            raise self._failed(f"broke off while {name} was called: {_words_of(error)}") from error
        finally:
            # A finished call ignores this; an unfinished one would outlive the trial.
            call.cancel()
            await asyncio.wait({call})
        if task.done():
            raise self._failed(f"broke off while {name} was called")
        raise self._failed(f"did not answer to {name} within {self._limit_s:g} s")

    def _failed(self, what: str) -> InfrastructureError:
        """What ends the trial."""
        error = self._broken(what)
        trial = present.get()
        if trial is not None and not trial.over:
            trial.halt(error)
        return error

    def _broken(self, what: str) -> InfrastructureError:
        stderr = self._errors_told()
        return InfrastructureError(
            f"the MCP server {self.server} {what}" + (f": {stderr}" if stderr else ""),
            hint="The trial says nothing of the agent. Ask again with `evenhand resume --errors`.",
        )

    def _errors_told(self) -> str:
        """The end of what the server wrote to its standard error."""
        if self._errors is not None and not self._errors.closed:
            with contextlib.suppress(OSError):
                self._errors.seek(0)
                self._told = complaint_of(self._errors.read())
        return self._told


def _import_client() -> None:
    """Imports what is needed of the package, which may take seconds: in a thread, so that no other trial waits."""
    for name in ("mcp.client.stdio", "mcp.client.streamable_http"):
        importlib.import_module(name)


def _result(result: CallToolResult) -> Any:
    """What a tool returned: its structured result, or else its text, or else the blocks that it is in."""
    blocks = [
        block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content
    ]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    text = "\n".join(texts) if len(texts) == len(blocks) else None
    if result.is_error:
        raise ToolFailedError(text or "it failed")
    content = result.structured_content
    if isinstance(content, dict):
        # Structured content has to be an object, so servers wrap a list or a number in `result`.
        return content["result"] if content.keys() == {"result"} else content
    return blocks if text is None else text


def _words_of(error: BaseException) -> str:
    """An error in words; of a group, its first."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return str(error) or type(error).__name__
