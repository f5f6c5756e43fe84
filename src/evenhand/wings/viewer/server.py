"""The server: the page, and what it asks. Runs are named by id, files by a fixed list; no path ever comes in."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from evenhand.analysis.history.run_changes import RunChange
from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.core.json_shapes import is_object
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.remarks import delete, remark
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.access import HEADERS, Access, Refused, error_answer
from evenhand.wings.viewer.asks import Asks
from evenhand.wings.viewer.blind_verdicts import (
    draw_more,
    draw_more_pairs,
    draw_reviews,
    drawn,
    keep_pair_rule,
    keep_preference,
    keep_reviewed,
    keep_rule,
    keep_verdict,
    pair_draws,
    review_draw,
)
from evenhand.wings.viewer.cell import (
    BODY,
    MOST,
    Cell,
    StepPage,
    call,
    cell,
    previews,
    steps_page,
    whole_step,
)
from evenhand.wings.viewer.comparison import compared_elsewhere, comparison
from evenhand.wings.viewer.export import exported
from evenhand.wings.viewer.head import head, notes, run_labels, summary
from evenhand.wings.viewer.history import CanaryPoint, canary_points, changes_since, measures
from evenhand.wings.viewer.listing import FEW, NoSuchRun, Runs, State, follow
from evenhand.wings.viewer.over_runs import case_page, prompt_page
from evenhand.wings.viewer.page import FILES
from evenhand.wings.viewer.passes import Pass, RunPasses
from evenhand.wings.viewer.roles import admit, has, needs, person_of
from evenhand.wings.viewer.saved import keep_view, saved_views
from evenhand.wings.viewer.search_all_runs import Query, search_piece
from evenhand.wings.viewer.shapes import Call, ComparisonShape, ReviewShape

LONGEST_BODY = 1 << 20
LABELLING: Mapping[str, Callable[[Path, Mapping[str, Any]], None]] = {
    "draw": draw_more,
    "rules": keep_rule,
    "verdicts": keep_verdict,
    "pairs": draw_more_pairs,
    "pair-rules": keep_pair_rule,
    "preferences": keep_preference,
    "review-draw": draw_reviews,
    "reviews": keep_reviewed,
    "views": keep_view,
}
"""What changes the labels of a run, or its saved views, by the last word of its address."""
OVER_RUNS: Mapping[str, Callable[[Runs, Path, Mapping[str, str]], object]] = {
    "cases": lambda runs, path, query: case_page(runs, path, query.get("q", "")),
    "prompts": lambda runs, path, _: prompt_page(runs, path),
}
"""What is read of all runs of what a run is of, by the last word of its address."""
LONGEST_SEARCH = 10_000


class PageServer:
    """Answers the page.

    Args:
        access: Who may ask.
        review: A dataset that is reviewed meanwhile; None for none.
        asks: Asks cells again; None where the page may run nothing.
    """

    def __init__(
        self, runs: Runs, access: Access, review: Review | None = None, asks: Asks | None = None
    ) -> None:
        self.access = access
        self._asks = asks
        self._runs = runs
        self._review = review
        self._passes = RunPasses()
        self._large = asyncio.Lock()
        """Held by what takes much memory for a large run: one at a time."""
        self._searching = asyncio.Lock()
        """Held by a piece of a search in all runs: those who wait take turns."""
        self._compared: dict[tuple[object, ...], bytes] = {}
        self._closing = asyncio.Event()
        self._whole: dict[tuple[str, Path], tuple[State, bytes]] = {}
        """What was worked out of all trials of a run, by what it is: as good as new while the file is the same."""

    def app(self) -> web.Application:
        """The application, with every route behind the check of who asks."""
        app = web.Application(middlewares=[self._guarded], client_max_size=LONGEST_BODY)
        app.on_response_prepare.append(_with_headers)
        app.on_shutdown.append(self._close)
        app.router.add_routes(self.access.routes())
        for path in FILES:
            app.router.add_get(path, self._file)
        app.router.add_get("/api/runs", self._list)
        app.router.add_post("/api/search", self._search_all)
        run = "/api/runs/{run}"
        app.router.add_get(run, self._head)
        app.router.add_get(run + "/notes", self._notes)
        app.router.add_get(run + "/summary", self._summary)
        app.router.add_get(run + "/blocks", self._blocks)
        app.router.add_get(run + "/previews", self._previews)
        app.router.add_get(run + "/cells/{index}", self._cell)
        app.router.add_get(run + "/cells/{index}/calls/{number}", self._call)
        app.router.add_post(run + "/cells/{index}/ask", self._ask)
        app.router.add_post(run + "/stop", self._stop)
        app.router.add_get(run + "/cells/{index}/steps", self._steps)
        app.router.add_get(run + "/cells/{index}/steps/{number}", self._step)
        app.router.add_post(run + "/search", self._search)
        app.router.add_get(run + "/labels", self._labels)
        app.router.add_post(run + "/labels", self._label)
        app.router.add_get(run + "/draw", self._drawn)
        app.router.add_get(run + "/pairs", self._drawn_pairs)
        app.router.add_get(run + "/reviews", self._reviews)
        for path, change in LABELLING.items():
            app.router.add_post(f"{run}/{path}", self._changing(change))
        for path, look in OVER_RUNS.items():
            app.router.add_get(f"{run}/{path}", self._over_runs(look))
        app.router.add_get(run + "/views", self._saved)
        app.router.add_get(run + "/export", self._export)
        app.router.add_get(run + "/measures", self._measures)
        app.router.add_get(run + "/changes", self._changes)
        app.router.add_get(run + "/canaries", self._canaries)
        app.router.add_post(run + "/remarks", self._remark)
        app.router.add_post(run + "/delete", self._delete)
        app.router.add_get(run + "/comparison", self._comparison)
        app.router.add_get(run + "/events", self._events)
        return app

    async def _close(self, app: web.Application) -> None:
        del app
        self._closing.set()
        self._passes.close()
        if self._asks is not None:
            await self._asks.close()

    def may_run(self, request: web.Request) -> bool:
        """Whether whoever asks may have this machine run something: the viewer was started with --allow-runs."""
        return self._asks is not None and has(person_of(request), "run")

    def _running(self, request: web.Request) -> Asks:
        """What runs things, for those who may have things run."""
        if self._asks is None or not self.may_run(request):
            raise Refused(403, "this viewer runs nothing", "Start it with --allow-runs.")
        return self._asks

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Checks who asks, and gives errors the form that the page reads."""
        try:
            self._let_in(request)
            return await handler(request)
        except Refused as refused:
            if request.path.startswith("/api/"):
                return error_answer(refused.status, "refused", refused.message, refused.hint)
            if refused.page:
                return web.Response(
                    status=refused.status, text=refused.page, content_type="text/html"
                )
            text = f"Evenhand: {refused.message}. {refused.hint}".strip()
            return web.Response(status=refused.status, text=text + "\n")
        except web.HTTPException as error:
            return error_answer(error.status, "usage", error.reason, "")
        except NoSuchRun as error:
            return error_answer(404, error.slug, error.message, error.hint)
        except UsageError as error:
            return error_answer(400, error.slug, error.message, error.hint)
        except EvenhandError as error:
            return error_answer(500, error.slug, error.message, error.hint)
        except ConnectionError:  # whoever asked has gone: nobody reads it, and nothing is wrong
            return web.Response()
        except Exception:  # noqa: BLE001 (the page is told that it is ours; the terminal is told what)
            traceback.print_exc()
            return error_answer(
                500, "error", "this is a fault of Evenhand's own", "The terminal says more."
            )

    def _let_in(self, request: web.Request) -> None:
        person = self.access.check(request)
        if not admit(request, person):
            raise Refused(403, f"your role here doesn't allow this: {person.role or 'none'}", "")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        answer = self.access.front(request) if request.path == "/" else None
        if answer is not None:
            return answer
        body, kind = FILES[request.path]()
        return web.Response(body=body, headers={"Content-Type": kind})

    async def _list(self, request: web.Request) -> web.Response:
        del request
        return await _in_thread(self._runs.list)

    async def _head(self, request: web.Request) -> web.Response:
        path = self._path(request)
        known = await asyncio.to_thread(self._runs.known, path)
        if known.summary.problem:
            raise StoreError(known.summary.problem)
        review = self._review_of(path)
        shape = None if review is None else ReviewShape(review.file.name, review.places)
        may = self.may_run(request)
        return await self._answer(
            request, lambda run: replace(head(run, known), review=shape, may_ask=may)
        )

    async def _notes(self, request: web.Request) -> web.Response:
        path = self._path(request)
        history = await asyncio.to_thread(self._passes.of, path)
        return await self._of_all("notes", path, lambda run: notes(run, history.marked))

    async def _summary(self, request: web.Request) -> web.Response:
        return await self._of_all("summary", self._path(request), summary)

    async def _measures(self, request: web.Request) -> web.Response:
        return await self._of_all("measures", self._path(request), measures)

    async def _changes(self, request: web.Request) -> web.Response:
        other = self._runs.path(request.query.get("since", ""))

        def changed(run: RunFile) -> Sequence[RunChange]:
            with RunFile.open(other) as before:
                return changes_since(run, before)

        return await self._answer(request, changed)

    async def _canaries(self, request: web.Request) -> web.Response:
        source = (await asyncio.to_thread(self._runs.known, self._path(request))).summary.source

        def points() -> list[CanaryPoint]:
            every = self._runs.list()
            alike = [one.id for one in every if one.of_judges and source and one.source == source]
            return canary_points(map(self._runs.path, alike))

        return await _in_thread(points)

    async def _of_all(
        self, what: str, path: Path, look: Callable[[RunFile], object]
    ) -> web.Response:
        """What takes the whole file, and memory: one at a time, and once for what the file holds now."""
        async with self._large:
            state = State.of(path)
            known = self._whole.get((what, path))
            if known is None or known[0] != state:
                known = self._whole[what, path] = state, await self._json_of(path, look)
            return _body(known[1])

    async def _blocks(self, request: web.Request) -> web.StreamResponse:
        path = self._path(request)
        history = await asyncio.to_thread(self._passes.of, path)
        # Before anything is sent: what goes wrong by then can still be answered as an error.
        data = await asyncio.to_thread(history.read, 0)
        answer = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await answer.prepare(request)
        at = 0
        while data:
            await answer.write(data)
            at += len(data)
            data = await asyncio.to_thread(history.read, at)
        await answer.write_eof()
        return answer

    async def _previews(self, request: web.Request) -> web.Response:
        places = [_place(text) for text in filter(None, request.query.get("cells", "").split(","))]
        if len(places) > MOST:
            raise UsageError(f"cells: {len(places):,} at once; at most {MOST:,}")
        return await self._answer(request, lambda run: previews(run, places))

    async def _cell(self, request: web.Request) -> web.Response:
        index = _place(request.match_info["index"])

        def read_cell(run: RunFile) -> Cell:
            trial = run.trial(index)
            if trial is None:
                raise NoSuchRun(f"the run has no trial {index}", hint="It may not be settled yet.")
            return cell(run, trial, BODY)

        return await self._answer(request, read_cell)

    async def _call(self, request: web.Request) -> web.Response:
        index, number = (_place(request.match_info[name]) for name in ("index", "number"))

        def read_call(run: RunFile) -> Call:
            one = call(run, index, number)
            if one is None:
                raise NoSuchRun(f"trial {index} has no call {number}")
            return one

        return await self._answer(request, read_call)

    @needs("run")
    async def _ask(self, request: web.Request) -> web.Response:
        """Says what of a cell can be edited, what the edited cell would cost, or begins to run it."""
        asks, path = self._running(request), self._path(request)
        index, body = _place(request.match_info["index"]), await _object(request, "what to ask")
        if body.get("do") == "run":
            return _body(encode({"run": await asks.start(path, index, body)}))
        do = "estimate" if body.get("do") == "estimate" else "offer"
        return _body(encode(await asks.read(do, path, index, body), ordered=False))

    @needs("run")
    async def _stop(self, request: web.Request) -> web.Response:
        self._running(request).stop(self._path(request).stem)
        return _body(b"{}")

    async def _steps(self, request: web.Request) -> web.Response:
        index, first = _place(request.match_info["index"]), _place(request.query.get("first", "0"))

        def read_steps(run: RunFile) -> StepPage:
            trial = run.trial(index)
            page = steps_page(run, trial, first) if trial is not None else None
            if page is None:
                raise NoSuchRun(f"trial {index} has no steps")
            return page

        return await self._answer(request, read_steps)

    async def _step(self, request: web.Request) -> web.Response:
        index, number = (_place(request.match_info[name]) for name in ("index", "number"))

        def read_step(run: RunFile) -> Mapping[str, Any]:
            trial = run.trial(index)
            step = whole_step(run, trial, number) if trial is not None else None
            if step is None:
                raise NoSuchRun(f"trial {index} has no step {number}")
            return step

        return await self._answer(request, read_step)

    @needs("read")
    async def _search(self, request: web.Request) -> web.Response:
        path, body = self._path(request), await _object(request, "a search")
        text, blind = _sought(body), body.get("blind") is True
        searched = Pass.search_pattern if body.get("pattern") is True else Pass.search
        return await _in_thread(lambda: searched(self._passes.of(path), text, blind=blind))

    @needs("read")
    async def _search_all(self, request: web.Request) -> web.Response:
        body = await _object(request, "a search")
        query, place = Query(_sought(body), blind=body.get("blind") is True), body.get("from", "")
        if not isinstance(place, str):
            raise UsageError("from: where the search goes on")
        async with self._searching:
            return await _in_thread(lambda: search_piece(self._runs, query, place))

    def _over_runs(
        self, look: Callable[[Runs, Path, Mapping[str, str]], object]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Answers with a look into the runs of what a run is of."""

        async def answer(request: web.Request) -> web.Response:
            path = self._path(request)
            async with self._large:
                return await _in_thread(lambda: look(self._runs, path, request.query))

        return answer

    async def _labels(self, request: web.Request) -> web.Response:
        return await self._answer(request, run_labels)

    @needs("label")
    async def _label(self, request: web.Request) -> web.Response:
        path, new = self._path(request), await _object(request, "a label")
        index = new.get("index")
        if type(index) is not int or not 0 <= index < 1 << 53:
            raise UsageError("index: the trial's place in the plan")
        label = NewLabel(
            index,
            str(new.get("field")),
            new.get("value"),
            _author(request, new.get("author", "")),
            new.get("blind") is True,
        )
        (appended,) = await asyncio.to_thread(append_labels, path, [label])
        review = self._review_of(path)
        if review is not None and appended.field == "dataset":
            await asyncio.to_thread(review.write)
        return _body(encode(asdict(appended), ordered=False))

    def _review_of(self, path: Path) -> Review | None:
        """The review of a dataset that was drawn from this run."""
        review = self._review
        return review if review is not None and review.run.samefile(path) else None

    async def _drawn(self, request: web.Request) -> web.Response:
        author = _author(request, request.query.get("author", ""))
        return await self._answer(request, lambda run: drawn(run, author))

    async def _reviews(self, request: web.Request) -> web.Response:
        author = _author(request, request.query.get("author", ""))
        return await self._answer(request, lambda run: review_draw(run, author))

    async def _drawn_pairs(self, request: web.Request) -> web.Response:
        author = _author(request, request.query.get("author", ""))
        return await self._answer(request, lambda run: pair_draws(run, author))

    def _changing(
        self, change: Callable[[Path, Mapping[str, Any]], None]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Answers by changing the run file as the request's body says."""

        @needs("label")
        async def answer(request: web.Request) -> web.Response:
            path, body = self._path(request), await _object(request, "what to keep")
            body["author"] = _author(request, body.get("author"))
            await asyncio.to_thread(change, path, body)
            return _body(b"{}")

        return answer

    async def _saved(self, request: web.Request) -> web.Response:
        return await self._answer(request, saved_views)

    async def _export(self, request: web.Request) -> web.StreamResponse:
        path, base = self._path(request), request.query.get("baseline", "")
        baseline = self._runs.path(base) if base else None
        where, format_ = request.query.get("where", ""), request.query.get("format", "")
        hidden = {_place(text) for text in filter(None, request.query.get("hide", "").split(","))}
        async with self._large:
            export = await asyncio.to_thread(exported, path, format_, where, baseline, hidden)
        try:
            answer = web.StreamResponse(
                headers={
                    "Content-Type": "application/octet-stream",  # to be kept, never to be shown here
                    "Content-Disposition": f'attachment; filename="{export.name}"',
                    "Content-Length": str(export.path.stat().st_size),
                }
            )
            await answer.prepare(request)
            with export.path.open("rb") as file:
                while data := await asyncio.to_thread(file.read, LONGEST_BODY):
                    await answer.write(data)
            await answer.write_eof()
            return answer
        finally:
            await asyncio.to_thread(export.folder.cleanup)

    @needs("label")
    async def _remark(self, request: web.Request) -> web.Response:
        path, changes = self._path(request), await _object(request, "a remark")
        was, by = changes.pop("was", {}), person_of(request).name
        if not is_object(was):
            raise UsageError("was: what had been read, by field")
        return await _in_thread(lambda: asdict(remark(path, changes, by, was)))

    @needs("label")
    async def _delete(self, request: web.Request) -> web.Response:
        """Deletes a run whose whole id is said once more: nobody deletes what they did not name."""
        path, body = self._path(request), await _object(request, "a deletion")
        if body.get("id") != path.stem:
            raise UsageError("id: the whole id of the run that is to be deleted")
        try:
            await asyncio.to_thread(delete, path)
        except StoreError as error:  # it is being written, say
            return error_answer(409, error.slug, error.message, error.hint)
        return _body(b"{}")

    async def _comparison(self, request: web.Request) -> web.Response:
        path, other = self._path(request), self._runs.path(request.query.get("baseline", ""))
        known = [await asyncio.to_thread(self._runs.known, each) for each in (path, other)]

        def compared(run: RunFile) -> ComparisonShape:
            with RunFile.open(other) as baseline:
                return comparison(run, baseline)

        try:
            if all(one.summary.totals.trials <= FEW for one in known):
                return await self._answer(request, compared)
            key = (path, other, *(one.state for one in known))
            async with self._large:
                if key not in self._compared:
                    self._compared = {key: await compared_elsewhere(path, other)}
                return _body(self._compared[key])
        except UsageError as error:
            return error_answer(409, error.slug, error.message, "Choose another baseline.")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        return await follow(request, self._path(request), self._closing)

    def _path(self, request: web.Request) -> Path:
        return self._runs.path(request.match_info["run"])

    async def _answer(
        self, request: web.Request, look: Callable[[RunFile], object]
    ) -> web.Response:
        """What a look into the run gives."""
        return _body(await self._json_of(self._path(request), look))

    async def _json_of(self, path: Path, look: Callable[[RunFile], object]) -> bytes:
        """A look into the run as JSON, made and written in a thread of its own: others are answered meanwhile."""

        def looked() -> bytes:
            with RunFile.open(path) as run:
                return encode(look(run), ordered=False)

        return await asyncio.to_thread(looked)


def _author(request: web.Request, claimed: Any) -> Any:
    """Who says something: the person who signed in, whatever the page claims."""
    return person_of(request).name or claimed


async def _object(request: web.Request, what: str) -> dict[str, Any]:
    """The JSON object that is the request's body."""
    try:
        value = decode(await request.read())
    except ValueError:
        value = None
    if not is_object(value):
        raise UsageError(f"{what} is a JSON object")
    return value


def _sought(body: Mapping[str, Any]) -> str:
    """The text that a search is for."""
    text = body.get("text")
    if not isinstance(text, str):
        raise UsageError("text: what is sought")
    if len(text) > LONGEST_SEARCH:
        raise UsageError(
            f"a text of {len(text):,} characters cannot be searched for",
            hint=f"It may have {LONGEST_SEARCH:,}.",
        )
    return text


def _place(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise UsageError(f"{text!r:.40} is not a trial index")
    return int(text)


async def _in_thread(make: Callable[[], object]) -> web.Response:
    """An answer that is made, and written, in a thread of its own: others are answered meanwhile."""
    return _body(await asyncio.to_thread(lambda: encode(make(), ordered=False)))


def _body(data: bytes) -> web.Response:
    return web.Response(body=data, headers={"Content-Type": "application/json"})


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    del request
    response.headers.update(HEADERS)


class Review(Protocol):
    """A dataset that was drawn from a run, and is reviewed on the page."""

    run: Path
    """The run's file."""
    file: Path
    """The dataset's file."""

    @property
    def places(self) -> Sequence[int]:
        """The drawn trials' places in the run."""
        ...

    def write(self) -> object:
        """Writes the dataset as the decisions have it."""
        ...
