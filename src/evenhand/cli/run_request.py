"""What a run is asked to run. It is kept in the run's file, so that `resume` asks for the same.

Versions of what is kept:
0  without a version: before there was one.
1  `version`.

A new option needs no new version: where it is missing, its default holds, and an older Evenhand refuses it by name. An
option that is renamed or means something else needs one, and `Asked.again` has to translate what was kept before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace as record_replace

from evenhand.cli.streams import tell
from evenhand.core.case import case_id
from evenhand.core.encoding import decode
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.json_shapes import is_mapping
from evenhand.core.malformed import shape_fault
from evenhand.core.plan import Edit, Selection, look_at_size, refuse_hints
from evenhand.core.record import Record
from evenhand.core.version import __version__
from evenhand.doors.promptfoo.overrides import Chosen, Overrides

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.doors.prompt_directories.library import Library


_REASONS = {1: "fail", 2: "error"}
"""What promptfoo's `failureReason` says."""
_RUN = r"latest(~\d+)?|01[0-9A-Z]{8}([0-9A-Z]{16})?"
"""The name of a run, as commands take it that look at one."""


class Failing(Record, frozen=True):
    """The tests that came to some of these outcomes in an earlier run.

    Attributes:
        path: The run's file, or a JSON file of promptfoo's results.
    """

    path: str
    outcomes: tuple[str, ...]

    def cases(self) -> frozenset[str]:
        """The ids of their cases.

        Raises:
            UsageError: The file holds no results.
            StoreError: It is a run file that cannot be read.
        """
        from evenhand.store.runfile import RunFile

        path = Path(self.path)
        if path.suffix == ".json":
            return frozenset(case_id(variables) for variables in self._of_promptfoo(path))
        with RunFile.open(path) as run:
            return frozenset(
                trial.case.partition("#")[0]
                for trial in run.outcomes()
                if trial.outcome in self.outcomes
            )

    def _of_promptfoo(self, path: Path) -> Iterator[Mapping[str, Any]]:
        """The variables of the tests in a JSON file of promptfoo's results."""
        try:
            document: Any = decode(path.read_bytes())
            for row in document["results"]["results"]:
                outcome = (
                    "pass" if row.get("success") else _REASONS.get(row.get("failureReason", 1))
                )
                if outcome in self.outcomes:
                    yield row["vars"]
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{path} holds no results of promptfoo's: it needs results.results, a list of objects with vars",
                hint="Write some with: evenhand run -o results.json, or promptfoo eval -o results.json",
            ) from None


VERSION = 1
"""Of what `Asked.record` returns."""

LONGEST_NAME = 255
"""Bytes in the name of a file, on all systems that we run on."""


class Asked(Record, frozen=True, kw_only=True):
    """The paths, which part of what they hold, and what goes over it.

    Attributes:
        paths: Absolute. Promptfoo configs and folders; or eval files, with a line or without, and folders of them.
        selection: Which cases and variants.
        over: What goes over a promptfoo config; its variables go over prompt directories, too.
        failing: Only cases that failed in an earlier run.
        names: Of eval sets, only evals with this text in their name.
        tag: Of eval sets, only evals with this tag.
        case: Of prompt directories, only the case with this name.
        strict_prompts: Call prompt functions as promptfoo does.
        offline: Answer from offline.jsonl.
        strict: What would be warned of is an error.
        at_least: The share of trials that has to pass in each variant; None for what the files say.
        model: Of eval sets, take this one instead of all models that they name; empty for those.
        definitions: Whose definitions of RAG metrics; empty for ours.
        record_anew: Of eval sets, record their cassettes again.
        record_calls: Whether the calls of all clients of the process are recorded; None for what is usual where the
            paths lead.
        edits: One trial of the plan instead of all, edited; and again one of that plan.
    """

    paths: tuple[str, ...]
    selection: Selection
    over: Overrides
    failing: Failing | None = None
    names: str = ""
    tag: str = ""
    case: str = ""
    strict_prompts: bool = False
    offline: bool = False
    strict: bool = False
    definitions: str = ""
    at_least: float | None = None
    model: str = ""
    record_anew: bool = False
    record_calls: bool | None = None
    edits: tuple[Edit, ...] = ()

    @staticmethod
    def again(record: object, written_by: str) -> Asked:
        """What an earlier session was asked.

        Args:
            record: What `record` returned then, as JSON has it.
            written_by: The version of Evenhand that kept it.

        Raises:
            UsageError: It has options that this version does not know, or is damaged.
        """
        if not is_mapping(record):
            raise _damaged("they are not an object")
        options = dict(record)
        version, unknown = options.pop("version", 0), _unknown(options)
        if unknown or version not in range(VERSION + 1):
            named = f": {', '.join(unknown)}" if unknown else ""
            raise UsageError(
                f"this run cannot be resumed: Evenhand {written_by} started it with options that this version"
                f" ({__version__}) does not know{named}",
                hint=f"Resume it with Evenhand {written_by}, or run it again: {_NOT_PAID_TWICE}",
            )
        try:
            return msgspec.convert(options, Asked)
        except msgspec.ValidationError as error:
            raise _damaged(shape_fault(error)) from error

    def record(self) -> dict[str, Any]:
        """For the run's file: the attributes, and the version of their shape."""
        record = {"version": VERSION, **msgspec.to_builtins(self)}
        # An earlier version, which knows of neither, can resume it.
        if not self.edits:
            del record["edits"]
        if self.record_calls is None:
            del record["record_calls"]
        return record

    @property
    def folder(self) -> Path:
        """The first path's, or, for eval files in `evals`, the one above: it keeps the runs, and has offline.jsonl."""
        from evenhand.languages.documents.project import project_folder

        path = _without_line(self.paths[0])
        folder = path if path.is_dir() else path.parent
        prompts = self._prompts()
        if prompts is not None and not (folder / "offline.jsonl").is_file():
            library, ids = prompts
            own = library.prompts / ids[0]
            # A prompt that is the only one has its own replies, whichever way it is named.
            return own if len(ids) == 1 and (own / "offline.jsonl").is_file() else library.root
        if not self._is_evals(self.paths[0]):
            return folder
        return project_folder(folder)

    @property
    def is_part(self) -> bool:
        """Whether paths or options leave out some of what the folder's offline.jsonl may answer."""
        chosen = record_replace(self.selection, seed=0, repeats=None)
        paths = [Path(path) for path in self.paths]
        return (
            chosen != Selection()
            or self.over != Overrides()
            or any((self.failing, self.names, self.tag, self.case, self.model, self.edits))
            or not any(self.folder in (path, path.parent) for path in paths)
        )

    def check_offline(self) -> None:
        """That where replies are missed, the paths are there; whether there are replies is looked at later.

        Raises:
            UsageError: A path does not exist, or only single prompts of several have replies.
        """
        if not self.offline or (self.folder / "offline.jsonl").is_file():
            return
        from evenhand.cli.offline import prompts_script
        from evenhand.core.wording.words import near

        if (prompts := self._prompts()) is not None:
            prompts_script(*prompts)
            return

        for path in map(_without_line, self.paths):
            if not path.exists():
                self._check_names()
                raise UsageError(f"{near(path)} does not exist", hint=f"Looked in {path.parent}.")
            if path.is_dir() and not self._is_evals(str(path)):
                self._check_config(path)

    @staticmethod
    def _check_config(folder: Path) -> None:
        """That a folder holds something to run: without, no replies would help."""
        from evenhand.doors.promptfoo.config_files import find_config
        from evenhand.languages.documents.findings import Findings

        findings = Findings()
        if find_config(folder, findings) is None:
            raise ConfigError(findings.problems)

    def _check_names(self) -> None:
        """That no path lacks its folder or ending, as `refunds` for `prompts/refunds`, or ends in an eval's name."""
        for path in map(_without_line, self.paths):
            if path.exists():
                continue
            from evenhand.cli.other_words import meant_path
            from evenhand.core.wording.words import near

            file, colon, name = path.name.partition(":")
            if colon and (path.parent / file).is_file():
                name, whole = name.lstrip(":"), os.path.relpath(path.parent / file)
                raise UsageError(
                    f"{path.name}: '{name}' is not a line of {file}",
                    hint=f"Name a line, {whole}:12, or an eval: evenhand run {whole} -k {name}",
                )
            if re.fullmatch(_RUN, path.name) and path.parent == Path.cwd():
                raise UsageError(
                    f"{path.name}: does not exist",
                    hint="`evenhand run` takes files and folders of evals. To look at a run: "
                    f"evenhand show {path.name}",
                )
            if meant := meant_path(path):
                raise UsageError(f"{near(path)}: does not exist", hint=f"Did you mean '{meant}'?")

    def plan(self, *, prepare: bool = True, offline_helps: bool = True) -> Plan:
        """The plan; `broken` has what is wrong with files that it goes on without.

        Args:
            prepare: Look at what only a run needs, too.
            offline_helps: Where keys are missing, scripted replies would do.

        Raises:
            UsageError: The paths do not go together, or the plan comes to more trials than can be run.
            ConfigError: All that is wrong with what they hold.
            NothingSelected: Nothing is left to run.
        """
        for path in self.paths:
            # stat() would raise OSError in the middle of something.
            if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(path).parts):
                raise UsageError(f"{path[:60]}…: no file has a name as long as this one")
        self._check_names()
        with _patience(" ".join(Path(path).name for path in self.paths[:3])):
            try:
                plan = self._plan(prepare=prepare)
            except ConfigError as error:
                if not offline_helps:
                    raise
                problems = self._or_offline(error.problems)
                raise ConfigError(problems, error.hints, error.more, spared=error.spared) from None
            if offline_helps:
                plan.broken = self._or_offline(plan.broken)
        if self.record_calls is not None:
            from evenhand.doors.eval_sets.models import calls_recorded

            around = partial(calls_recorded, strict=True) if self.record_calls else None
            plan.options = record_replace(plan.options, around=around)
        for edit in self.edits:
            from evenhand.core.editing import edited_plan

            plan = edited_plan(plan, edit)
        if self.strict:
            refuse_hints(plan)
        look_at_size(plan)
        return plan

    def _or_offline(self, problems: Sequence[Problem]) -> Sequence[Problem]:
        """The problems, with what answers without keys if only keys are missing and the folder has scripted replies."""
        if self.offline or not problems:
            return problems
        from evenhand.providers.missing_keys import model_without_key

        if not all(map(model_without_key, problems)):
            return problems
        if not (self.folder / "offline.jsonl").is_file():
            return problems
        last = problems[-1]
        hint = f"{last.hint} Or let offline.jsonl answer: run with --offline."
        return (*problems[:-1], dataclasses.replace(last, hint=hint))

    def _plan(self, *, prepare: bool) -> Plan:
        selection = self.selection
        if self.failing:
            selection = replace(selection, only=self.failing.cases())
        if any(self._is_evals(path) for path in self.paths):
            return self._evals(selection)
        if (prompts := self._prompts()) is not None:
            return self._registry(*prompts, selection)
        return self._configs(selection, prepare=prepare)

    def _specific_options(self) -> dict[str, object]:
        """The options that not all evaluations have a use for, as they were given."""
        over = self.over
        return {
            "-k": self.names,
            "--tag TAG": self.tag,
            "--case": self.case,
            "--prompts": over.prompts,
            "--providers": over.providers,
            "--tests": over.tests,
            "--var": over.variables,
            "--prompt-prefix": over.prefix,
            "--prompt-suffix": over.suffix,
            "--description": over.description,
            "--tag NAME=VALUE": over.tags,
            "--grader": over.grader,
            "--model-outputs": over.model_outputs,
            "--assertions": over.assertions,
            "--delay": over.delay_ms,
            "--extension": over.extensions,
            "--env-file": over.env_files,
            "--strict-prompts": self.strict_prompts,
            "--model": self.model,
            "--record": self.record_anew,
            "--at-least": self.at_least is not None,
        }

    def _evals(self, selection: Selection) -> Plan:
        from evenhand.doors.eval_sets.discovery import find
        from evenhand.doors.eval_sets.plan import plan_of
        from evenhand.doors.eval_sets.selection import EvalFilter

        _refuse(self._specific_options(), EVALS)
        discovered = find(self.paths)
        only = EvalFilter(name=self.names, tag=self.tag, lines=discovered.lines)
        return plan_of(
            discovered.sets,
            selection,
            env=os.environ,
            only=only if self.names or self.tag or discovered.lines else None,
            source=str(self.folder),
            strict=self.strict,
            model=self.model,
            broken=discovered.problems,
            record=self.record_anew,
        )

    def _configs(self, selection: Selection, *, prepare: bool) -> Plan:
        from evenhand.doors.promptfoo.load import load

        _refuse(self._specific_options(), CONFIGS)
        chosen = Chosen(selection, self.over, self.strict_prompts, prepare=prepare)
        return load([Path(path) for path in self.paths], chosen)

    def _prompts(self) -> tuple[Library, list[str]] | None:
        """The prompts that the paths stand for, all of one repository; None where one of them stands for none."""
        from evenhand.doors.prompt_directories.library import PROMPTS, prompts_at

        library, ids = None, dict[str, None]()
        for text in self.paths:
            path = Path(text)
            # Only in a prompt's own folder does a file stand for a prompt.
            if _is_promptfoos(path) or (path.is_file() and path.parent.parent.name != PROMPTS):
                return None
            prompts = prompts_at(path) if path.exists() else None
            if prompts is None or (library is not None and prompts[0] != library):
                return None
            library = prompts[0]
            ids.update(dict.fromkeys(prompts[1]))
        return (library, list(ids)) if library is not None else None

    def _registry(self, library: Library, ids: list[str], selection: Selection) -> Plan:
        from evenhand.doors.prompt_directories.plan import load

        _refuse(self._specific_options(), PROMPTS)
        return load(
            library,
            ids,
            selection,
            case=self.case,
            variables=self.over.variables,
            offline=self.offline,
        )

    @staticmethod
    def _is_evals(path: str) -> bool:
        if path.endswith((".yaml", ".yml", ".json")) or _is_promptfoos(Path(path)):
            return False
        from evenhand.doors.eval_sets.eval_paths import is_evals

        return is_evals(path)


_NOT_PAID_TWICE = "answers that the cache has are not paid for twice."
_PARTS: Mapping[str, type] = {"selection": Selection, "over": Overrides, "failing": Failing}
"""The attributes of `Asked` that have attributes of their own."""


def _damaged(what: str) -> UsageError:
    return UsageError(
        f"this run cannot be resumed: the options that it was started with are damaged: {what}",
        hint=f"Run it again: {_NOT_PAID_TWICE}",
    )


def _unknown(options: Mapping[str, Any]) -> list[str]:
    """The names that no attribute has, those of a part after its name: `selection.shuffle`."""
    known = {field.name for field in fields(Asked)}
    unknown = [str(name) for name in options if name not in known]
    for part, kind in _PARTS.items():
        inner = options.get(part)
        if isinstance(inner, Mapping):
            known = {field.name for field in fields(kind)}
            unknown += [f"{part}.{name}" for name in inner if name not in known]
    return unknown


def _is_promptfoos(path: Path) -> bool:
    """Whether a path is a folder with a promptfoo config: it is promptfoo's, whatever else it holds."""
    return path.is_dir() and any(path.glob("promptfooconfig.*"))


def _without_line(path: str) -> Path:
    """The file of `file.py:41`."""
    if ":" in path:
        from evenhand.doors.eval_sets.eval_paths import split_line

        path, _ = split_line(path)
    return Path(path)


def absolute(path: str) -> str:
    """A path as it can be found again from anywhere, the line after it kept."""
    return os.path.abspath(path)  # noqa: PTH100 (a path may have a line after it)


CONFIGS, PROMPTS, EVALS = "promptfoo configs", "prompt directories", "eval sets"

_IN_EVAL_YML = "Models, judges and cases are named in eval.yml and meta.yml."
_ENVIRONMENT = "Set the variables before: `set -a; . FILE`."
_NOT_SLOWER = "For fewer calls at a time, use --concurrency."
_RECORD = "`evenhand runs cassette RUN --to FILE` makes a cassette of a run."
_INSTEAD = {
    CONFIGS: {
        "-k": "Use --filter.",
        "--tag TAG": "Use --filter-metadata.",
        "--case": "Use --filter-pattern.",
        "--model": "Use --providers.",
        "--record": _RECORD,
    },
    PROMPTS: {
        "-k": "Use --filter.",
        "--tag TAG": "Use --filter-metadata tags=TAG.",
        "--prompts": _IN_EVAL_YML,
        "--providers": _IN_EVAL_YML,
        "--tests": _IN_EVAL_YML,
        "--prompt-prefix": "What is sent is in prompt.xml.",
        "--prompt-suffix": "What is sent is in prompt.xml.",
        "--description": "",
        "--tag NAME=VALUE": "Tags are in meta.yml.",
        "--grader": _IN_EVAL_YML,
        "--model-outputs": _IN_EVAL_YML,
        "--assertions": _IN_EVAL_YML,
        "--delay": _NOT_SLOWER,
        "--env-file": _ENVIRONMENT,
        "--extension": "",
        "--strict-prompts": "",
        "--model": _IN_EVAL_YML,
        "--record": _RECORD,
        "--at-least": "Write pass_rate: below defaults: in eval.yml; evidence uses it.",
    },
    EVALS: {
        "--case": "Use --filter.",
        "--prompts": "Write over={'prompt': [...]} in the EvalSet.",
        "--providers": "Use --model for another one; or write over={'model': [...]} in the EvalSet.",
        "--tests": "Write data=Dataset.read(…) in the EvalSet.",
        "--var": "Variables are in the rows of data=….",
        "--prompt-prefix": "Prompts are in the eval file.",
        "--prompt-suffix": "Prompts are in the eval file.",
        "--description": "The EvalSet has a name.",
        "--tag NAME=VALUE": "Write tags=[...] in the EvalSet; --tag NAME runs the evals that have it.",
        "--grader": "Write judge=… in the EvalSet, or set EVENHAND_JUDGE.",
        "--model-outputs": "Use evenhand.score_batch for outputs that already exist.",
        "--assertions": "Use evenhand.score_batch for outputs that already exist.",
        "--delay": _NOT_SLOWER,
        "--env-file": _ENVIRONMENT,
        "--extension": "Use a fixture.",
        "--strict-prompts": "",
    },
}
"""What to do instead, where an option says nothing. One that stands below none of these works for all three."""


def _refuse(selection: Mapping[str, object], these: str) -> None:
    """Refuses what was given and says nothing of what is run.

    Args:
        selection: The options of `_INSTEAD`, with what was given; empty for what was not.
        these: What is run: `CONFIGS`, `PROMPTS` or `EVALS`.
    """
    instead = _INSTEAD[these]
    wrong = [option for option, value in selection.items() if value and option in instead]
    if not wrong:
        return
    meant: dict[str, list[str]] = {}
    for option in wrong:
        doors = [door for door, refused in _INSTEAD.items() if option not in refused]
        meant.setdefault(" and ".join(doors), []).append(option)
    what = "; ".join(
        f"{', '.join(options)} {'is' if len(options) == 1 else 'are'} for {doors}"
        for doors, options in meant.items()
    )
    hints = dict.fromkeys(instead[option] for option in wrong if instead[option])
    raise UsageError(f"{what}, and these are {these}", hint=" ".join(hints))


_FIRST_S, _AGAIN_S = 8.0, 15.0
"""After so many seconds whoever waits is told where the reading is, and after so many more again."""


@contextlib.contextmanager
def _patience(what: str) -> Iterator[None]:
    """Inside, something that may take long: after some seconds, and again and again, it is said where it is."""
    over = threading.Event()
    reader = threading.get_ident()
    started = time.monotonic()

    def watch() -> None:
        pause = _FIRST_S
        while not over.wait(pause):
            seconds = time.monotonic() - started
            tell(f"still reading {what}{_where(reader)} after {seconds:.0f} s; Ctrl-C stops it")
            pause = _AGAIN_S

    # A thread, as the reading is user code that may never give way; a daemon, so that it never holds the process.
    thread = threading.Thread(target=watch, name="evenhand-patience", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _where(thread: int) -> str:
    """The line of the user's own code that a thread is at; empty where it is in none."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    here = f"{Path.cwd()}{os.sep}"
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(here) and "site-packages" not in file:
            return f", in {file.removeprefix(here)}:{frame.f_lineno},"
        frame = frame.f_back
    return ""
