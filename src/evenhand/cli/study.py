"""Studies: runs with a report and an exit code of their own, which `resume` and `retry` end with as well.

How this works: a wing says by which key of a run's settings its studies are known, and where the function is that
makes a `Study` of such a run. Probes, checks of canaries, tryouts and evals of skills are studies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

import msgspec
from msgspec.structs import replace

from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag
from evenhand.cli.run_and_report import SCRIPTED, Request, settle, settled
from evenhand.cli.run_request import Asked
from evenhand.cli.session import Session, spending_options, study_settings
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_whole
from evenhand.core.malformed import shape_fault
from evenhand.core.record import Record

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Finished, Settings

_Kind = TypeVar("_Kind")


class _JudgeOptions(Protocol):
    @property
    def offline(self) -> bool: ...


_Options = TypeVar("_Options", bound=_JudgeOptions)


class Study(Record, frozen=True):
    """A run that asks something else than how good a system is.

    Attributes:
        name: What it is called in messages, e.g. `probe`.
        came_to: Prints what its file has come to, and returns the exit code of that.
    """

    name: str
    request: Request
    came_to: Callable[[Path, Session], int]

    def report(self, finished: Finished, session: Session) -> int:
        """Prints what it came to, and returns the exit code, which says if it stopped early."""
        from evenhand.cli.exits import NO_VERDICT, complaint

        try:
            code = self.printed(finished.path, session)
        except UsageError as error:
            if finished.ending.status == "finished":
                raise
            # Too little was answered for a report. That it stopped is what counts, and can be resumed.
            tell(complaint(error).removesuffix("\n"))
            code = NO_VERDICT
        return ended(finished, code, self.name)

    def printed(self, file: Path, session: Session) -> int:
        """Prints what its file has come to, and returns the exit code.

        Raises:
            UsageError: The report of a package's study returned something else, which must not pass for 0.
        """
        code = cast("object", self.came_to(file, session))  # nobody has type-checked a package
        # True would exit with 1, and None with 0.
        if is_whole(code):
            return code
        raise UsageError(
            f"the report of the {self.name} returned {code!r}, not an exit code",
            hint="`came_to` of a Study returns 0 for passed, 1 for failed, or 3 for undecided.",
        )


class StudyPlan(Record, frozen=True):
    """What a study is asked to do, where its plan says all of it. Implements `evenhand.cli.run_and_report.Request`.

    Attributes:
        folder: Where offline.jsonl is.
        offline: Replies come from that file.
        definitions: Whose definitions of RAG metrics; empty for ours.
    """

    make: Callable[[], Plan]
    folder: Path
    offline: bool = False
    definitions: str = ""

    def plan(self) -> Plan:
        return self.make()


study_options = OptionSet(
    spending_options,
    flag("--json", "as_json", help="Print one JSON document to stdout."),
    flag("--no-progress", help="Don't print progress."),
)
"""What every study takes: what may be spent and how fast, --json, and --no-progress."""


class OfEvals:
    """The parts of a request that are those of the evals which it is about, in `asked`, and of its own `options`."""

    __slots__ = ()

    asked: Asked
    options: Any

    @property
    def folder(self) -> Path:
        return self.asked.folder

    @property
    def definitions(self) -> str:
        return self.asked.definitions

    @property
    def offline(self) -> bool:
        return bool(self.options.offline)


class JudgeRequest(OfEvals, Record, Generic[_Options], frozen=True):
    """What a study of a run's judges is asked to do: kept in its file, so that `resume` continues the same study.

    Each kind of study adds its plan. With it, the request implements `evenhand.cli.run_and_report.Request`.

    Attributes:
        kind: The class of its options, which have the id of the `run` and whether it is `offline`.
        key: The key of the study's settings that keeps them.
        word: What a study is called in messages.
        remedy: What to do where what its file keeps is damaged.
        asked: What the run was asked to run.
    """

    kind: ClassVar[type[Any]]
    key: ClassVar[str]
    word: ClassVar[str]
    remedy: ClassVar[str]

    asked: Asked
    run: Path
    options: _Options

    @classmethod
    def of(cls, meta: RunMeta, run: Path, *, offline: bool, **options: Any) -> Self:
        """A study of this run's judges.

        Args:
            options: The other fields of its options.

        Raises:
            UsageError: It isn't known what the run was made from.
        """
        request = asked_of(meta)
        options |= {"run": run.stem, "offline": offline or request.offline}
        return cls(request, run, cls.kind(**options))

    @classmethod
    def again(cls, meta: RunMeta, file: Path) -> Self:
        """What an earlier session was asked.

        Raises:
            UsageError: The record is damaged, or the run whose judges it asks is gone.
        """
        options = kept_of(meta, cls.key, cls.kind, f"{cls.word} {meta.id}", cls.remedy)
        run = run_beside(file, options.run)
        return cls(asked_of(meta), run, options)

    def record(self) -> dict[str, Any]:
        """For the study's file."""
        return {"asked": self.asked.record(), self.key: msgspec.to_builtins(self.options)}


def begin_study(study: Study, key: str, record: Mapping[str, Any], options: dict[str, Any]) -> int:
    """Runs a study from its start, prints what it came to, and returns the exit code.

    Args:
        key: The key of the run's settings that marks it: `studies` of the wing has it.
        record: What the run's file keeps there, so that `resume` makes the same study again.
        options: What `study_options` gave the command; they are taken out.
    """
    from evenhand.store.run_lookup import home_for

    session = Session.of(options)
    settings = study_settings(home_for(Path.cwd()), session, {key: dict(record)})
    finished, _ = settled(study.request, settings, None, session)
    return study.report(finished, session)


def study_of(meta: RunMeta, file: Path) -> Study | None:
    """The study that an earlier session started; None for a run of evals.

    Raises:
        UsageError: The record is damaged, of another version, or needs a run that is gone.
    """
    from evenhand.core.wing import parts

    for key, part in parts("studies").items():
        if key in meta.settings:
            return cast("Callable[[RunMeta, Path], Study | None]", part.load())(meta, file)
    return None


def ended(finished: Finished, code: int, name: str) -> int:
    """The exit code; it says so where not all was asked.

    Args:
        code: Of what came out, if all was asked.
        name: What the run is called, e.g. `probe`.
    """
    from evenhand.cli.exits import code_for
    from evenhand.store.run_lookup import called

    ending = finished.ending
    if ending.status == "finished":
        return code
    resume = f"evenhand resume {called(Path.cwd(), finished.path)}"
    tell(f"the {name} stopped early: {ending.message}; {resume} continues it")
    return code_for("undecided", ending.status, ending.signal)


@contextlib.contextmanager
def as_asked(request: Request) -> Iterator[None]:
    """Inside, models and definitions are those of the request."""
    from evenhand.cli.offline import offline_answers
    from evenhand.engine.process import own_process
    from evenhand.scorers.rag.definitions import OURS, using_definitions

    replies = offline_answers(request.folder) if request.offline else contextlib.nullcontext()
    with own_process(), replies, using_definitions(request.definitions or OURS):
        yield


@contextlib.contextmanager
def judges_asked_alone(request: Request, *, nobody: bool) -> Iterator[None]:
    """Inside, models under evaluation lack no key: the run has their answers.

    Args:
        nobody: Judges lack none either: nothing is sent.
    """
    from evenhand.cli.offline import environment_kept, without_keys
    from evenhand.providers.leading import judges_alone

    if request.offline:
        yield
        return
    with environment_kept(), without_keys() if nobody else judges_alone():
        yield


def judges_asked(
    request: Request, plan: Plan, settings: Settings, file: Path | None, session: Session
) -> Finished:
    """Asks the judges.

    Args:
        file: The run to go on with; None for a new one.
        session: What may be spent, and what is printed.
    """
    settings = replace(settings, free=request.offline)
    return settle(plan, settings, file, session, source=SCRIPTED if request.offline else "")


def asked_of(meta: RunMeta) -> Asked:
    """What a run was asked to run.

    Raises:
        UsageError: It isn't known.
    """
    if "asked" not in meta.settings:
        raise UsageError(
            f"the judges of run {meta.id} cannot be asked again: its file doesn't record what it was made from",
            hint="Only `evenhand run` keeps it: imported runs, and those that a program or a notebook made, don't say"
            " what their judges were asked.",
        )
    return Asked.again(meta.settings["asked"], meta.version)


def kept_of(meta: RunMeta, key: str, kind: type[_Kind], name: str, hint: str) -> _Kind:
    """What an earlier session kept under a key of its run's settings.

    Args:
        name: What the run is called in a message.
        hint: What to do where it is damaged.

    Raises:
        UsageError: It is missing or damaged.
    """
    try:
        return msgspec.convert(meta.settings.get(key), kind)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{name} cannot be resumed: what it was asked is damaged: {shape_fault(error)}",
            hint=hint,
        ) from error


def run_beside(file: Path, run: str) -> Path:
    """The file of the run whose judges a run asked again: it is kept beside it.

    Raises:
        UsageError: It is gone.
    """
    path = file.parent / f"{run}{file.suffix}"
    if not path.is_file():
        raise UsageError(
            f"{file.stem} cannot be resumed: there is no run {run} beside it any more",
            hint="Restore that run, or run the evals again and start again.",
        )
    return path


def run_or_folder(run: str | None) -> Path:
    """The run file; of a folder, the latest run in or below it.

    Raises:
        UsageError: There is none.
    """
    from evenhand.store.run_lookup import find

    # A folder may be called `latest`; the word is meant.
    if run and run != "latest" and Path(run).is_dir():
        return find(Path(run), None)
    return find(Path.cwd(), run)
