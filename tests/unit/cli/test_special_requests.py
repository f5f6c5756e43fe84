"""What runs with a report of their own were asked, read from run files: damaged, it is a message and no traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenhand.cli.gate_request import GateRequest
from evenhand.cli.run_request import Asked
from evenhand.core.errors import UsageError
from evenhand.core.gate_terms import GateTerms
from evenhand.core.plan import Selection
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.wings.coding_agents.commands.skill import SkillRequest
from evenhand.wings.judge_checks.commands.canaries_of_run import CanaryOptions, CanaryRequest
from evenhand.wings.judge_checks.commands.probe import ProbeOptions, ProbeRequest
from evenhand.wings.judge_checks.commands.tryout import TryoutOptions, TryoutRequest
from evenhand.wings.judge_checks.plan import Probing

ASKED = Asked(paths=("/evals/a.py",), selection=Selection(), over=Overrides())
RUN = Path("/runs/01RUN.db")
Request = ProbeRequest | CanaryRequest | TryoutRequest | SkillRequest | GateRequest
KINDS: Mapping[str, tuple[str, Request, Callable[[RunMeta, Path], Request]]] = {
    "probe": (
        "probe",
        ProbeRequest(ASKED, RUN, ProbeOptions(RUN.stem, Probing(), 0.1, offline=False)),
        ProbeRequest.again,
    ),
    "canaries": (
        "canaries",
        CanaryRequest(ASKED, RUN, CanaryOptions(RUN.stem, "/c.jsonl", offline=True, most=3)),
        CanaryRequest.again,
    ),
    "tryout": (
        "tryout",
        TryoutRequest(
            ASKED,
            RUN,
            TryoutOptions(
                run=RUN.stem,
                tried=("a.yml",),
                base="/evals",
                seed=7,
                metrics=("tone",),
                offline=False,
            ),
        ),
        TryoutRequest.again,
    ),
    "skill": (
        "skill",
        SkillRequest(skill="/skill", model="m", agent="", judge="j", repeats=2, offline=False),
        lambda meta, _: SkillRequest.again(meta),
    ),
    "gate": (
        "gate",
        GateRequest(terms=GateTerms(baseline="/b.json", margin=0.05), lower=("cost",), stops=True),
        lambda meta, _: GateRequest.again(meta),
    ),
}
OTHERS = (None, True, 5, -0.5, "text", [], [1], {}, {"a": 1})
"""Values of all kinds that JSON has."""


def again(kind: str, settings: Mapping[str, Any], folder: Path) -> Request:
    """A request, read from settings as a run file has them."""
    (folder / "01RUN.db").touch()
    meta = RunMeta("01X", "t", "", "f", 1, 1, 1, (), 0.0, settings=json.loads(json.dumps(settings)))
    return KINDS[kind][2](meta, folder / "x.db")


def settings_of(kind: str) -> dict[str, Any]:
    """What is kept of it, as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(KINDS[kind][1].record()))


def places(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key of an object, and of those in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))


def changed(settings: Mapping[str, Any], path: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    """A copy, and the object in it that holds a key."""
    whole = copy.deepcopy(dict(settings))
    inner: Any = whole
    for key in path[:-1]:
        inner = inner[key]
    return whole, inner


DAMAGES = [
    pytest.param(kind, path, id=f"{kind}:{'.'.join(path)}")
    for kind in KINDS
    for path in places(settings_of(kind))
    if path != ("cache",)
]
WHOLE = ("probe", "canaries", "tryout", "skill")
"""Records of which every key on top is needed."""


def fault(kind: str, settings: Mapping[str, Any], folder: Path) -> UsageError | None:
    """What is said of damaged settings; None where they are read."""
    try:
        again(kind, settings, folder)
    except UsageError as error:
        return error
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_asked_is_read_again_as_it_was(kind: str, tmp_path: Path):
    """Beside the run that it is about."""
    request = KINDS[kind][1]
    expected: Record = request
    if isinstance(request, (ProbeRequest, CanaryRequest, TryoutRequest)):
        expected = msgspec.structs.replace(request, run=tmp_path / "01RUN.db")
    assert again(kind, settings_of(kind), tmp_path) == expected


@pytest.mark.parametrize(("kind", "path"), DAMAGES)
def test_a_key_that_is_missing_is_told_or_has_its_default(
    kind: str, path: tuple[str, ...], tmp_path: Path
):
    """An option that an earlier version did not have has one; nothing else may be left out."""
    whole, inner = changed(settings_of(kind), path)
    del inner[path[-1]]
    error = fault(kind, whole, tmp_path)
    if len(path) == 1 or (len(path) == 2 and path[0] in WHOLE) or path == ("asked", "paths"):
        assert error is not None
    assert error is None or error.hint


@pytest.mark.parametrize(("kind", "path"), DAMAGES)
def test_a_key_of_another_type_is_told(kind: str, path: tuple[str, ...], tmp_path: Path):
    """Whatever stands in its place: the same request, or one message that says what to do; never a traceback."""
    faults: list[UsageError] = []
    for other in OTHERS:
        whole, inner = changed(settings_of(kind), path)
        if type(other) is type(inner[path[-1]]):
            continue
        inner[path[-1]] = other
        error = fault(kind, whole, tmp_path)
        faults += [error] if error else []
    assert len(faults) >= 5
    assert all(error.hint for error in faults)
