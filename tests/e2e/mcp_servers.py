"""A shop's MCP server, to be started by a command or served at an address."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = '''
import os, sys, time
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("shop")
orders = {"7": "late"}


@server.tool()
def state(order: str) -> str:
    """The state of an order."""
    return orders[order]


@server.tool()
def refund(order: str) -> dict[str, str]:
    """Pays an order back."""
    if order not in orders:
        raise ToolError("no such order")
    orders[order] = "refunded"
    return dict(orders)


@server.tool()
def crash() -> str:
    """Ends the server."""
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def hang() -> str:
    """Never answers."""
    time.sleep(600)
    return ""


server.run("stdio")
'''

OVER_HTTP = SERVER.replace(
    'server.run("stdio")',
    """
import socket
import uvicorn

inner = server.streamable_http_app()


async def app(scope, receive, send):
    if scope["type"] == "http" and (b"x-key", b"open sesame") not in scope["headers"]:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"no key"})
        return
    await inner(scope, receive, send)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
""",
)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server that wants a header with each request, as long as the block lasts."""
    (folder / "over_http.py").write_text(OVER_HTTP)
    with subprocess.Popen(
        [sys.executable, folder / "over_http.py"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        finally:
            server.kill()
