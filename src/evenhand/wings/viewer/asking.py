"""The process that asks a cell again: `python -m evenhand.wings.viewer.asking`.

How this works: the viewer itself runs no code of the user's. It starts this process, in a session of its own, for one
of three things: to say what of a cell can be edited, to estimate what the edited cell would cost, or to run it. What is
asked comes as JSON on stdin, and one line of JSON goes to stdout; whatever user code prints goes to stderr. The run is
an ordinary one: its file knows of the edits, so that `evenhand resume` goes on with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from evenhand.core.editing import CannotAsk, editable
from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.plan import Edit
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.secrets import known
from evenhand.wings.viewer.shapes import AskEstimate, AskModel, AskShape, EstimatedCalls

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked
    from evenhand.core.plan import Plan


class Errand(Record, frozen=True, kw_only=True):
    """What this process is asked to do.

    Attributes:
        do: What: say what can be edited, estimate, or run.
        cell: The trial's place in its plan.
        prompt: The edited prompt; None for the original.
        values: The variables that were edited.
        variant: The variant whose model is asked; None for the cell's own.
        model: The id of a model that was typed; empty for none.
        max_cost_usd: What the new run may spend; None for no bound.
    """

    do: str
    run: str
    cell: int
    id: str = ""
    prompt: str | None = None
    values: Mapping[str, Any] = {}
    variant: int | None = None
    model: str = ""
    max_cost_usd: float | None = None

    def edit(self, meta: RunMeta) -> Edit:
        """What is otherwise than in the run."""
        return Edit(
            run=meta.id,
            trial=self.cell,
            fingerprint=meta.fingerprint,
            prompt=self.prompt,
            values=self.values,
            variant=self.variant,
            model=self.model,
        )


def main() -> None:
    """Does what is asked on stdin, and answers on stdout."""
    import msgspec  # noqa: PLC0415 (for this alone)

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what user code prints is no answer
    errand = msgspec.convert(decode(sys.stdin.buffer.read()), Errand)
    try:
        answer = encode(_done(errand), ordered=False)
    except EvenhandError as error:
        answer = encode({"error": {"message": error.message, "hint": error.hint}})
    answers.write(answer + b"\n")
    answers.close()


def _done(errand: Errand) -> object:
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (imported on use)

    path = Path(errand.run)
    with RunFile.open(path) as run:
        meta, trial = run.meta, run.trial(errand.cell)
    if trial is None:
        raise CannotAsk(f"the run has no cell {errand.cell}", hint="It may not be settled yet.")
    request = _request_of(meta, path)
    if errand.do == "offer":
        return _offered(request, errand.edit(meta), meta, trial)
    request = replace(request, edits=(*request.edits, errand.edit(meta)))
    if errand.do == "estimate":
        return _estimated(request, meta, trial)
    return _run(request, errand, meta, path)


def _request_of(meta: RunMeta, path: Path) -> Asked:
    """What the run was asked to run."""
    from evenhand.cli.run_request import Asked  # noqa: PLC0415 (imported on use)
    from evenhand.store.home import is_signed  # noqa: PLC0415
    from evenhand.store.run_lookup import homes, run_folder  # noqa: PLC0415

    settings = meta.settings
    if "imported" in settings:
        raise CannotAsk("this run was imported: what another program asked can't be asked again")
    if "asked" not in settings or meta.is_judge_check:
        raise CannotAsk(
            "what this run was made from is not known",
            hint="Only runs of `evenhand run` and `evenhand gate` can be asked again: not those of programs, notebooks,"
            " pytest, probes and skills.",
        )
    # Its file says what code is run.
    ours = homes(Path.cwd())
    folders = [run_folder(home).resolve() for home in ours]
    if not is_signed(meta, ours) or path.parent.resolve() not in folders:
        raise CannotAsk(
            "this run was not made here, and its file says what would be run",
            hint="Run its project here, and ask from that run.",
        )
    replay = settings.get("replay")
    if is_mapping(replay) and (replay.get("regrades") or not replay.get("asks")):
        raise CannotAsk(
            "this run asked no model: its answers were replayed, and none is recorded for an edited cell",
            hint="Ask from the run that was recorded.",
        )
    return Asked.again(settings["asked"], meta.version)


def _offered(request: Asked, edit: Edit, meta: RunMeta, trial: TrialResult) -> AskShape:
    from evenhand.cli.study import as_asked  # noqa: PLC0415 (imported on use)

    with as_asked(request):
        plan = request.plan(prepare=False)
        _look_for_changes(meta, plan)
        can = editable(plan, edit)
        limit = plan.options.max_cost_usd
    values = {"input": trial.input, **trial.vars}
    ids = {variant.index: variant.provider_id for variant in meta.variants}
    budget = meta.settings.get("max_cost_usd", limit)
    prompt, notes = can.prompt, can.notes
    if prompt is not None and known.text(prompt) != prompt:
        prompt, notes = None, (*notes, "The prompt can't be edited: it holds a secret.")
    return AskShape(
        prompt=prompt,
        # As the trial had them: with files read in, and tags filled in.
        values={name: known.inside(values.get(name, value)) for name, value in can.values.items()},
        models=[
            AskModel(index, label, ids.get(index, label)) for index, label in can.models.items()
        ],
        model=can.model,
        notes=notes,
        max_cost_usd=budget,
    )


def _look_for_changes(meta: RunMeta, plan: Plan) -> None:
    """Names the files that have changed since, where the run's file has their digests."""
    before, after = meta.config.get("files"), plan.config.get("files")
    if plan.fingerprint == meta.fingerprint or not (is_mapping(before) and is_mapping(after)):
        return
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if names:
        raise CannotAsk(
            f"changed since this run: {', '.join(map(str, names))}",
            hint="Run it again, and ask from the new run.",
        )


def _estimated(request: Asked, meta: RunMeta, trial: TrialResult) -> AskEstimate:
    from evenhand.cli.study import as_asked  # noqa: PLC0415 (imported on use)

    with as_asked(request):
        plan = request.plan(prepare=False)
        calls = [
            EstimatedCalls(
                one.provider,
                one.role,
                one.calls,
                one.tokens_in or None,
                one.tokens_out,
                0.0 if request.offline else one.cost_usd,
            )
            for one in plan.estimate()
        ]
    if calls:
        return AskEstimate(calls=calls, bounded=True)
    # An eval's code decides what it asks: what it asked before is the best guess.
    before = EstimatedCalls(
        meta.variants[trial.variant].model,
        "",
        trial.calls,
        trial.tokens_in,
        trial.tokens_out,
        None if trial.cached else trial.cost_usd,
    )
    return AskEstimate(calls=[before], bounded=False)


def _run(request: Asked, errand: Errand, meta: RunMeta, path: Path) -> object:
    from evenhand.cli.replaying import ReplayRequest  # noqa: PLC0415 (imported on use)
    from evenhand.cli.run_and_report import settled  # noqa: PLC0415
    from evenhand.cli.session import Session, settings_for  # noqa: PLC0415

    earlier = meta.settings
    session = Session(
        concurrency=earlier.get("concurrency"),
        max_cost=errand.max_cost_usd,
        no_cache=not earlier.get("cache", True),
        time_limit=earlier.get("time_limit_s"),
        retries=earlier.get("retries"),
        as_json=True,
        no_progress=True,
    )
    settings = replace(settings_for(request, session, path.parent.parent), id=errand.id)
    with ExitStack() as opened:
        if replay := earlier.get("replay"):
            source = ReplayRequest(str(replay["file"]), asks=True)
            recordings = opened.enter_context(source.opened())
            settings = replace(settings, replay=recordings, replay_asks=True)
        finished, _ = settled(request, settings, None, session)
    return {"status": finished.ending.status}


if __name__ == "__main__":
    main()
