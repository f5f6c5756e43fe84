"""What aiohttp answers by itself, before any route or middleware of ours: in our form, and with our headers."""

from __future__ import annotations

import asyncio

from aiohttp import web

from evenhand.core.encoding import encode
from evenhand.wings.viewer.access import HEADERS

UNREAD = "the request cannot be read"
UNREAD_HINT = "Its address or one of its headers is too long, or it is not HTTP."


def error_answer(status: int, slug: str, message: str, hint: str) -> web.Response:
    """An error in the one form that the page reads."""
    error = {"error": {"slug": slug, "message": message, "hint": hint}}
    return web.Response(
        status=status,
        body=encode(error, ordered=False),
        headers={"Content-Type": "application/json"},
    )


class PageRunner(web.AppRunner):
    """Runs the application. What is not even a request gets an error like all others, and nothing of it is repeated.

    Args:
        app: The application.
        shutdown_s: Seconds that requests under way have when it ends.
    """

    def __init__(self, app: web.Application, *, shutdown_s: float) -> None:
        super().__init__(app, handle_signals=False, shutdown_timeout=shutdown_s)

    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        return _Server(server.request_handler, request_factory=server.request_factory)


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, loop=asyncio.get_running_loop())


class _Protocol(web.RequestHandler):
    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status < 500 and not request.writer.output_size:
            # aiohttp's own answer quotes the request, and logs a traceback
            answer: web.StreamResponse = error_answer(status, "usage", UNREAD, UNREAD_HINT)
        else:
            answer = super().handle_error(request, status, exc, message)
        answer.headers.update(HEADERS)
        answer.force_close()
        return answer
