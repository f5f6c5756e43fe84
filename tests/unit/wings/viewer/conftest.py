"""A server on a loopback port over runs of its own, and who asks it."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, web
from yarl import URL

from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import LinkAccess, PageRunner
from evenhand.wings.viewer.listing import Runs
from evenhand.wings.viewer.server import PageServer


@dataclass
class Asking:
    """Somebody with the token; each header can be another."""

    session: ClientSession
    access: LinkAccess
    app: web.Application
    run: str

    async def __call__(
        self, path: str, method: str = "GET", *, token: bool = True, **headers: str
    ) -> ClientResponse:
        body = headers.pop("body", None)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = f"Bearer {self.access.token}"
        url = URL(f"{self.access.address}{path}", encoded=True)  # as it is: not tidied up
        answer = await self.session.request(
            method, url, headers=sent, data=body, allow_redirects=False
        )
        if answer.content_type != "text/event-stream":
            await answer.read()
        return answer

    async def json(self, path: str) -> Any:
        """What a good answer holds."""
        answer = await self(f"/api/runs/{self.run}{path}")
        assert answer.status == 200, await answer.text()
        return await answer.json()

    async def label(self, body: str) -> ClientResponse:
        """Gives a label as the page does."""
        return await self.post("/labels", body)

    async def search(self, text: str, *, blind: bool = False) -> list[int]:
        """Where a text stands, as the page asks it."""
        answer = await self.post("/search", json.dumps({"text": text, "blind": blind}))
        assert answer.status == 200, await answer.text()
        return await answer.json()

    async def post(self, path: str, body: str) -> ClientResponse:
        """Sends something as the page does."""
        return await self(
            f"/api/runs/{self.run}{path}",
            "POST",
            Origin=self.access.address,
            X_Evenhand="1",
            Content_Type="application/json",
            body=body,
        )


@pytest.fixture
async def ask(summaries_run: RunFile, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Asking]:
    """Asks a server that shows the run."""
    home = summaries_run.path.parent.parent
    monkeypatch.setenv("EVENHAND_HOME", str(home))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        access = LinkAccess("127.0.0.1", listening.getsockname()[1])
        app = PageServer(Runs(Path(home)), access).app()
        runner = PageRunner(app, shutdown_s=0.1)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        async with ClientSession() as session:
            yield Asking(session, access, app, summaries_run.path.stem)
        await runner.cleanup()
