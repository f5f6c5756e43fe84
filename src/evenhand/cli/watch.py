"""`evenhand watch`: runs what a saved file changed, again and again.

How this works: each run is a process of its own, `evenhand run` as anybody would type it, so that code is always
imported anew, and what is true of a run is true of these. What a run was made of stands in its results: that says which
eval files a saved file is about.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import IO, Any

import click

from evenhand.cli.completing import complete_paths
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.run import run
from evenhand.cli.streams import tell
from evenhand.core.errors import ConfigError, EvenhandError, UsageError
from evenhand.core.json_shapes import is_object
from evenhand.core.record import MutableRecord
from evenhand.core.wording.ink import Ink, is_dumb, is_plain
from evenhand.doors.eval_sets.changed_evals import changed_evals
from evenhand.doors.eval_sets.eval_paths import split_line
from evenhand.doors.prompt_directories.library import prompts_at
from evenhand.languages.documents.watching import Looked, changed, look

POLL_S = 0.3
"""Between two looks; what was saved is run once nothing more was saved from one look to the next."""
NAMED = 3
SAVED_DURING = 5
"""Runs in a row during which a file that they are made of changes before it is taken for one that they write."""
LONGEST_PATH = 500
_CLEAR = "\r\x1b[2K"
_NOT_HERE = frozenset(
    "as_json calls verbose no_table no_progress exit_zero promptfoo_exit_codes fail_on_empty shard retry_errors resumed"
    " batch detach batch_until batch_waves batch_size batch_poll workers ray cpus_per_trial stop_when_decided".split()
)
"""Options of `run` that have no effect here."""
_OPTIONS = [
    one for one in run.params if isinstance(one, click.Option) and one.name not in _NOT_HERE
]
_WORDS = "evenhand.watch.words"


class _WatchCommand(GroupedCommand):
    """Keeps the words of the command line: each run is given them again."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)


class _Ended(BaseException):
    """Somebody wants it to end."""


@click.command(
    cls=_WatchCommand, params=_OPTIONS, short_help="Run evals again when their files are saved."
)
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@click.pass_context
def watch(
    context: click.Context, paths: tuple[str, ...], max_cost: float | None, **_options: object
) -> int:
    """Run PATH, and run it again whenever one of its files is saved. Ctrl-C ends it. Default: the current folder.

    Saving a file runs the eval files that import or read it; if only some evals of a file changed, only these.
    Prompt directories run one by one, promptfoo configs whole. Unchanged model calls come from the cache.

    Takes most options of `evenhand run`. --max-cost holds for all runs together.
    """
    _refuse_missing(paths)
    _refuse_what_never_runs(paths)
    watched = Watched(tuple(map(os.path.abspath, paths or (".",))))
    options = _without(context.meta[_WORDS], paths)
    with _signals():
        try:
            _Watcher(watched=watched, options=options, budget=_Budget(max_cost)).watch()
        except _Ended:
            tell("")
    return 0


def _refuse_missing(paths: Sequence[str]) -> None:
    """Raises a UsageError that names the paths that don't exist: nothing would ever be saved there."""
    missing = [path for path in paths if not Path(split_line(path)[0]).exists()]
    if missing:
        lines = "\n".join(f"{path} does not exist" for path in missing)
        raise UsageError(lines, hint=f"Looked in {Path.cwd()}.")


def _refuse_what_never_runs(paths: Sequence[str]) -> None:
    """Raises a ConfigError for files that are of no kind that runs: saving them would never help."""
    from evenhand.doors.eval_sets.eval_paths import is_evals
    from evenhand.doors.promptfoo.config_files import find_config
    from evenhand.languages.documents.findings import Findings

    findings = Findings()
    for path in paths:
        file = Path(path)
        if file.is_file() and not is_evals(path) and prompts_at(file) is None:
            find_config(file, findings)
    if findings.problems:
        raise ConfigError(findings.problems)


def _without(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The words of a command line without its paths and its budget."""
    rest = list(words)
    for path in reversed(paths):  # options may stand anywhere; the last of equal words is the path
        del rest[len(rest) - 1 - rest[::-1].index(path)]
    options: list[str] = []
    skip = False
    for word in rest:
        if skip or word == "--" or word.startswith("--max-cost="):
            skip = False
        elif word == "--max-cost":
            skip = True
        else:
            options.append(word)
    return options


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Inside, SIGINT and SIGTERM raise `_Ended`."""

    def end(_: int, __: object) -> None:
        # A second Ctrl-C would interrupt what the first one ends.
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise _Ended

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _spent(document: Mapping[str, Any]) -> float:
    """The most that a run spent, calls of unsettled trials included; what its trials cost where no file is kept."""
    from evenhand.store.run_lookup import find
    from evenhand.store.runfile import RunFile

    try:
        with RunFile.open(find(Path.cwd(), document["run"]["id"])) as run:
            return run.most_spent()
    except EvenhandError:
        return document["totals"]["cost_usd"] or 0.0


class _Budget(MutableRecord):
    """What all runs together may cost; None for no limit."""

    limit: float | None
    spent: float = 0.0

    def options(self) -> list[str]:
        """For the next run."""
        return [] if self.limit is None else ["--max-cost", repr(max(0.0, self.limit - self.spent))]


@dataclass(slots=True, kw_only=True)
class _Watcher:
    watched: Watched
    options: Sequence[str]
    budget: _Budget
    failing: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    complaints: dict[str, str] = field(default_factory=dict[str, str])
    not_run: set[str] = field(default_factory=set[str])
    during: dict[str, int] = field(default_factory=dict[str, int])
    live: bool = field(default_factory=lambda: sys.stdout.isatty() and not is_dumb())

    def watch(self) -> None:
        """Runs everything once, and then what changes, until somebody ends it."""
        self.watched.find()
        before = self.watched.look()
        for target in list(self.watched.targets):
            self._run(target, [target.path], [])
        for target in self.watched.find():  # made meanwhile
            self._run(target, [target.path], [target.path])
        now = self.watched.look()
        before = {**before, **{path: now[path] for path in now.keys() - before.keys()}}
        self._say(f"{self._watching(len(before))} · Ctrl-C ends it")
        while True:
            time.sleep(POLL_S)
            now = self.watched.look()
            files = changed(before, now)
            if not files:
                continue
            while True:  # editors and formatters save twice, and a checkout saves many files
                time.sleep(POLL_S)
                again = self.watched.look()
                if again == now:
                    break
                now = again
            self._changed(changed(before, now))
            before = self._without_outputs(now, self.watched.look())

    def _watching(self, files: int) -> str:
        """How much is watched, and what a target that could not be run waits for."""
        from evenhand.core.wording.words import count, safe

        text = f"watching {count(files, 'file')} of {count(len(self.watched.targets), 'target')}"
        idle = [target for target in self.watched.targets if target.path in self.not_run]
        if not idle:
            return text
        named = ", ".join(safe(_name(target.path)) for target in idle[:NAMED])
        more = f" and {len(idle) - NAMED} more" if len(idle) > NAMED else ""
        return f"{text} · {named}{more} will be tried again when a file of it is saved"

    def _without_outputs(self, before: Looked, now: Looked) -> Looked:
        """The files as they were before a run, but those that each run changes: it writes them."""
        from evenhand.core.wording.words import safe

        self.during = {path: self.during.get(path, 0) + 1 for path in changed(before, now)}
        # What changes during every run is the run's own; once may be the user, saving meanwhile. What it is made of
        # is the user's as a rule, who may save it during one slow run after another.
        written = {
            path
            for path, times in self.during.items()
            if times >= (SAVED_DURING if self.watched.is_input(path) else 2)
        }
        for path in sorted(filter(self.watched.is_input, written)):
            self._say(
                f"         {safe(_name(path))} changed during {self.during[path]} runs in a row, so it seems to be "
                "written by them: save it again to run it as it is now"
            )
        remaining = {path: before[path] for path in before.keys() - written}
        return {**remaining, **{path: now[path] for path in written & now.keys()}}

    def _changed(self, files: Sequence[str]) -> None:
        """Runs what these files are about."""
        new = self.watched.find()
        for target in new:
            self._run(target, [target.path], files)
        for target, about in self.watched.affected(files):
            if target not in new and (paths := target.to_run(about)):
                self._run(target, paths, about)

    def _run(self, target: Target, paths: Sequence[str], files: Sequence[str]) -> None:
        target.read()
        started = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._ended(target, paths, out, err, started)
            document, complaint = _document(out), _text(err)
        seconds = time.monotonic() - started
        if document is not None:
            self.budget.spent += _spent(document)
            config = document["configuration"]["config"]
            names = config.get("files", {}) if target.is_evals else _named(config, target.folder)
            target.files = frozenset(
                os.path.normpath(target.folder / name) + "/" * name.endswith("/") for name in names
            )
        else:
            target.text = ""  # what was saved has not run yet
        (self.not_run.add if document is None else self.not_run.discard)(target.path)
        for line in self._lines(target, paths, files, document, code, seconds):
            self._say(line)
        if complaint != self.complaints.get(target.path, "") or document is None:
            for line in complaint.splitlines():
                self._say(f"  {line}")
        self.complaints[target.path] = complaint

    def _ended(
        self, target: Target, paths: Sequence[str], out: IO[bytes], err: IO[bytes], started: float
    ) -> int:
        """Runs it in a process of its own, and waits for its end."""
        # -P: the current folder may hold a module that is called like one of Python's.
        command = [sys.executable, "-P", "-m", "evenhand", "run", *paths, *self.options]
        command += [*self.budget.options(), "--json", "--no-progress"]
        process = subprocess.Popen(  # noqa: S603 (ourselves)
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            while True:
                try:
                    return process.wait(POLL_S)
                except subprocess.TimeoutExpired:
                    if self.live:
                        took = time.monotonic() - started
                        sys.stdout.write(f"{_CLEAR}… {_name(target.path)} {took:.0f} s")
                        sys.stdout.flush()
        except _Ended:
            with contextlib.suppress(_Ended):  # the run ends in order; who can't wait asks again
                process.send_signal(signal.SIGINT)
                process.wait()
            raise
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _lines(
        self,
        target: Target,
        paths: Sequence[str],
        files: Sequence[str],
        document: dict[str, Any] | None,
        code: int,
        seconds: float,
    ) -> list[str]:
        """What a run came to: a line, and one more for what changed since the one before."""
        from evenhand.core.wording.words import safe
        from evenhand.core.wording.words import seconds as duration

        ink = Ink(self.live and not is_plain())
        name = (
            " ".join(_name(path) for path in paths) if len(paths) <= NAMED else _name(target.path)
        )
        why = ""
        if files:
            named = ", ".join(_name(file) for file in files[:NAMED])
            why = safe(f"{named} saved" if len(files) <= NAMED else f"{len(files):,} files saved")
        clock = time.strftime("%H:%M:%S")
        if document is None:
            return [
                safe(f"{clock} {name}")
                + f"  {ink('not run', 'yellow')} (exit code {code}){f' · {why}' * bool(why)}"
            ]
        totals, verdict = document["totals"], str(document["verdict"])
        color = {"passed": "green", "failed": "red"}.get(verdict, "yellow")
        parts = [f"{totals['passed']:,} of {document['run']['planned']:,} passed"]
        parts += [f"{totals[one]:,} {one}" for one in ("failed", "errors") if totals[one]]
        if totals["cost_usd"]:
            parts.append(f"${totals['cost_usd']:.2g}")
        parts += [duration(seconds), *([why] if why else [])]
        line = safe(f"{clock} {name}") + f"  {ink(verdict, color)} · {' · '.join(parts)}"
        return [line, *self._changes(target, paths, document)]

    def _changes(
        self, target: Target, paths: Sequence[str], document: dict[str, Any]
    ) -> Iterator[str]:
        """Which cases fail that did not, and the other way round, where the whole of the target was run before."""
        from evenhand.core.wording.words import clip, safe

        if list(paths) != [target.path]:
            return
        now = frozenset(
            f"{trial['variant']['prompt']}:{trial['case']}"
            for trial in document["trials"]
            if trial["outcome"] in ("fail", "error")
        )
        before = self.failing.get(target.path)
        self.failing[target.path] = now
        if before is None:
            return
        for word, cells in (("fails now", now - before), ("passes now", before - now)):
            if cells:
                more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
                named = ", ".join(clip(safe(cell), 60) for cell in sorted(cells)[:NAMED])
                yield f"         {word}: {named}{more}"

    def _say(self, line: str) -> None:
        from evenhand.core.wording.words import put_quietly

        put_quietly(sys.stdout, f"{_CLEAR * self.live}{line}\n")
        with contextlib.suppress(OSError):
            sys.stdout.flush()


def _document(out: IO[bytes]) -> dict[str, Any] | None:
    out.seek(0)
    try:
        value: object = json.loads(out.read())
    except ValueError:
        return None
    return value if is_object(value) else None


def _text(err: IO[bytes]) -> str:
    err.seek(0)
    return err.read(20_000).decode("utf-8", "replace").strip()


def _name(path: str) -> str:
    """A path as people would write it from here."""
    from evenhand.languages.documents.findings import shown_path

    return shown_path(Path(path))


WRITTEN = frozenset({"calibration.json", "canaries.json"})
"""Files that runs and their judges' checks write beside what they were made of: no change of the user's."""
_DATA = frozenset(
    ".csv .html .j2 .jinja .jinja2 .js .json .jsonl .md .mjs .parquet .sql .toml .ts .tsv .txt .xlsx .xml .yaml .yml"
    "".split()
)
_FOR_PEOPLE = ("README", "CHANGELOG", "LICENSE", "CONTRIBUTING", "AGENTS", "CLAUDE")


@dataclass(slots=True)
class Target:
    """One thing that is run by itself: an eval file, a prompt directory, or a config.

    Attributes:
        path: What `evenhand run` is given, with a line where one was named.
        folder: The folder that its code and data are in; runs are kept there.
        is_evals: Whether it is an eval file.
        files: The files that its last run was made of, absolute; None before that is known. One that ends in a slash
            is a folder. Of a config, those that it names.
        text: Of an eval file, its text at its last run.
    """

    path: str
    folder: Path
    is_evals: bool
    files: frozenset[str] | None = None
    text: str = field(default="", repr=False)

    @property
    def file(self) -> str:
        """The target's path, without a line."""
        return split_line(self.path)[0]

    def read(self) -> None:
        """Keeps its text, so that the next change of it can be told from this one."""
        if self.is_evals:
            try:
                self.text = Path(self.file).read_text("utf-8")
            except (OSError, ValueError):
                self.text = ""

    def takes(self, file: str) -> bool:
        """Whether its last run was made of this file, as far as that is known."""
        if not self.is_evals:
            around = self.path if Path(self.path).is_dir() else str(self.folder)
            within = file.startswith(os.path.join(around, ""))  # noqa: PTH118 (its end counts)
            return within or file == self.path or file in (self.files or ())
        # Before its first run ends nobody knows what it imports.
        if self.files is None:
            return file.endswith(".py") or _may_be_data(file)
        return file == self.file or any(
            file == one or (one.endswith("/") and file.startswith(one)) for one in self.files
        )

    def to_run(self, files: Sequence[str]) -> list[str]:
        """What to run after these of its files changed: paths for `evenhand run`; empty for nothing."""
        if not Path(self.file).exists():
            return []
        if list(files) != [self.file] or not self.is_evals or not self.text or self.files is None:
            return [self.path]
        before = self.text
        self.read()
        lines = changed_evals(before, self.text)
        if lines is None or split_line(self.path)[1] is not None:
            return [] if lines == [] else [self.path]
        return [f"{self.file}:{line}" for line in lines]


@dataclass(slots=True)
class Watched:
    """All targets, and the folders that they are in.

    Attributes:
        paths: What was asked for, absolute.
    """

    paths: tuple[str, ...]
    targets: list[Target] = field(default_factory=list[Target])

    def find(self) -> list[Target]:
        """Looks for targets that are new, and drops those that are gone; the new ones."""
        targets = [target for path in self.paths for target in _targets(path)]
        known = {target.path for target in self.targets}
        self.targets = [target for target in self.targets if Path(target.file).exists()]
        new = [
            target for target in {t.path: t for t in targets}.values() if target.path not in known
        ]
        self.targets += new
        return new

    def look(self) -> Looked:
        """All files that a change may be in."""
        roots = {Path(target.folder) for target in self.targets} | {
            Path(path) for path in map(_without_line, self.paths)
        }
        files = {Path(file) for target in self.targets for file in target.files or ()}
        # What lies elsewhere, such as a library of the user's own or a shared dataset.
        files = {one for one in files if roots.isdisjoint(one.parents)}
        return look((*sorted(roots), *sorted(files)))

    def is_input(self, file: str) -> bool:
        """Whether something that is run is known to be made of this file."""
        return any(file == target.file or file in (target.files or ()) for target in self.targets)

    def affected(self, files: Iterable[str]) -> list[tuple[Target, list[str]]]:
        """The targets that changes of these files are about, each with the files."""
        by_target: dict[str, list[str]] = {}
        for file in files:
            if Path(file).name in WRITTEN:
                continue
            those = [target for target in self.targets if target.takes(file)]
            if not those and _may_be_data(file):
                those = [t for t in self.targets if file.startswith(f"{t.folder}{os.sep}")]
            for target in those:
                by_target.setdefault(target.path, []).append(file)
        return [(t, by_target[t.path]) for t in self.targets if t.path in by_target]


def _may_be_data(file: str) -> bool:
    """Whether an application may read this file while it runs, without anybody's knowing."""
    path = Path(file)
    return path.suffix.lower() in _DATA and not path.name.upper().startswith(_FOR_PEOPLE)


def _named(config: object, folder: Path) -> Iterator[str]:
    """The files that a config names."""
    from evenhand.doors.assertions.transform import split_reference

    if isinstance(config, str):
        path, _ = split_reference(config.removeprefix("python:"), "")
        if len(path) > LONGEST_PATH or "\0" in path:
            return
        paths = [str(folder / path)]
        if config.startswith("file://") and "*" in path:
            paths = glob(paths[0])  # noqa: PTH207 (a Path's takes no absolute one)
        yield from filter(os.path.isfile, paths)
    elif is_object(config) or isinstance(config, list):
        parts: Iterable[object] = config.values() if is_object(config) else config
        for one in parts:
            yield from _named(one, folder)


def _without_line(path: str) -> str:
    return split_line(path)[0]


def _targets(path: str) -> list[Target]:
    """What a path stands for."""
    from evenhand.doors.eval_sets.eval_paths import eval_files, is_evals
    from evenhand.languages.documents.project import project_folder

    place = Path(_without_line(path))
    if is_evals(path):
        files = [path] if not place.is_dir() else list(map(str, eval_files(place)))
        return [
            Target(file, project_folder(Path(_without_line(file)).parent), is_evals=True)
            for file in files
        ]
    is_config = place.is_dir() and any(place.glob("promptfooconfig.*"))
    prompts = prompts_at(place) if place.exists() and not is_config else None
    if prompts is not None:
        library, ids = prompts
        return [Target(str(library.prompts / one), library.root, is_evals=False) for one in ids]
    return [Target(path, place if place.is_dir() else place.parent, is_evals=False)]
