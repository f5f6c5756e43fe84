"""Where runs live, which there are, and which one a name means: an id, the start of one, a file, `latest`.

The list is made anew from the files each time: there is nothing to fall out of step with them.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.core.errors import StoreError, UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import SHORT_ID, RunMeta
from evenhand.core.shard import Shard
from evenhand.core.wording.words import near
from evenhand.store.home import HOME
from evenhand.store.runfile import RunFile

SUFFIX = ".db"
DEPTH = 4
_EXPORT = rb'\{"schema":"evenhand\.run/|\{"case":.+?,"variant":\{|case,description,prompt,model,repeat,outcome'
"""How files begin that `evenhand export` writes of eval sets, and `--json` prints."""
_NOT_HERE = frozenset({"node_modules", "venv", "site-packages", "__pycache__"})
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID_LENGTH = 26


class ListedRun(Record, frozen=True):
    """A run in the list. `meta` is None for a file that cannot be read; `problem` says why."""

    path: Path
    meta: RunMeta | None
    alive: bool = False
    problem: str = ""

    @property
    def id(self) -> str:
        """The run's id; the name of a file that cannot be read."""
        name = self.path.stem
        return name if self.meta is None or _is_id(name) else self.meta.id


def new_id(home: Path) -> str:
    """A ULID: 48 bits of time in milliseconds, 80 random bits, in 26 characters that sort by time.

    It comes after the ids of all runs that are there, so that the run is the latest even if the clock was set back.

    Args:
        home: Where the run is kept.

    Source: https://github.com/ulid/spec
    """
    id_ = _id(time.time_ns() // 1_000_000, secrets.randbits(80))
    known = (path.stem for path in run_folder(home).glob(f"*{SUFFIX}") if _is_id(path.stem))
    newest = max((run for run in known if run < _tomorrow()), default="")
    return id_ if id_ > newest else _id(_milliseconds(newest) + 1, secrets.randbits(80))


def id_at(moment: float, name: str) -> str:
    """The id of a run that was made elsewhere: the same for the same moment and name, and sorted among all others.

    Args:
        moment: Seconds since 1970.
        name: Hexadecimal digits, 20 at least.
    """
    return _id(int(moment * 1000), int(name[:20], 16))


def _id(milliseconds: int, rest: int) -> str:
    # A clock that is set wrong may say more than 48 bits; the id keeps its length, and so its place in the order.
    number = (milliseconds % (1 << 48)) << 80 | rest
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


def home_for(source: Path | None) -> Path:
    """The folder that keeps runs: EVENHAND_HOME, or `.evenhand` beside the config, or in the current folder."""
    named = os.environ.get("EVENHAND_HOME")
    if named:
        return Path(named).expanduser().absolute()
    beside = Path.cwd() if source is None else source if source.is_dir() else source.parent
    return beside.absolute() / HOME


def cache_folder(home: Path) -> Path:
    """The folder that keeps the cache: EVENHAND_CACHE, or `cache` in the home."""
    named = os.environ.get("EVENHAND_CACHE")
    return Path(named).expanduser().absolute() if named else home / "cache"


def run_folder(home: Path) -> Path:
    """The folder with one file for each run."""
    return home / "runs"


def paths(home: Path) -> list[Path]:
    """The run files, newest first; those of the future, made under a wrong clock, come last."""
    folder = run_folder(home)
    return newest_first(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def newest_first(files: Iterable[Path]) -> list[Path]:
    """Run files by the time in their ids. A run of the future is never the latest: its clock was wrong."""
    tomorrow = _tomorrow()

    def order(path: Path) -> tuple[bool, str, bool]:
        run = id_of(path)
        # Of a run and its copies, the file that is called as the run was made comes first.
        return not _is_id(run) or run < tomorrow, run, run == path.stem

    return sorted(files, key=order, reverse=True)


def id_of(path: Path) -> str:
    """The id of a run: the name of its file. A copy or a merged run may be called anything, and says it inside."""
    if _is_id(path.stem):
        return path.stem
    try:
        with RunFile.open(path) as run:
            return run.meta.id
    except StoreError:
        return path.stem


def _tomorrow() -> str:
    """Where the ids begin of runs that were made under a wrong clock."""
    return _id((time.time_ns() // 1_000_000) + 86_400_000, 0)


def _milliseconds(id_: str) -> int:
    """The moment that an id says, since 1970; of a name that is no id, anything."""
    number = 0
    for character in id_[:SHORT_ID]:
        number = number << 5 | max(0, _ALPHABET.find(character))
    return number


def _is_id(name: str) -> bool:
    return len(name) == _ID_LENGTH


def runs(home: Path) -> list[ListedRun]:
    """All runs, newest first; files that cannot be read are listed as such."""
    listed: list[ListedRun] = []
    for path in paths(home):
        try:
            with RunFile.open(path) as run:
                listed.append(ListedRun(path, run.meta, run.alive))
        except StoreError as error:
            listed.append(ListedRun(path, None, problem=error.message))
    return listed


def killed_run(home: Path, fingerprint: str, shard: Shard | None) -> Path | None:
    """The newest run, if it is of this plan, its process died before its end, and it can be resumed."""
    for path in paths(home)[:1]:
        try:
            with RunFile.open(path) as run:
                meta = run.meta
                same = meta.fingerprint == fingerprint
                same = same and shard == (meta.sharded and meta.sharded.shard)
                if same and meta.status == "running" and meta.can_resume and not run.alive:
                    return path
        except StoreError:
            return None
    return None


def homes(start: Path) -> list[Path]:
    """The folders with runs that somebody who stands in `start` may mean.

    EVENHAND_HOME alone where it is set; else the `.evenhand` of this folder, of those above it, and of those below
    it, four levels deep.
    """
    if os.environ.get("EVENHAND_HOME"):
        return [home_for(None)]
    start = start.absolute()
    folders = [folder / HOME for folder in (start, *start.parents)]
    level = [start]
    for _ in range(DEPTH):
        level = [child for folder in level for child in _folders(folder)]
        folders += [folder / HOME for folder in level]
    return [home for home in folders if os.path.isdir(run_folder(home))]  # noqa: PTH112 (says no, and does not raise, where one may not look)


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name not in _NOT_HERE
                and entry.is_dir(follow_symlinks=False)  # a link may lead back up
            ]
    except OSError:
        return []


def _imported_as(path: Path) -> str:
    """The id that promptfoo gave a run; empty where it was not imported."""
    try:
        with RunFile.open(path) as run:
            return str((run.meta.settings.get("imported") or {}).get("id") or "")
    except StoreError:
        return ""


def files(start: Path) -> list[Path]:
    """All run files that somebody who stands in `start` may mean, the nearest first."""
    return [path for home in homes(start) for path in paths(home)]


def names(known: Iterable[Path]) -> dict[Path, str]:
    """As much of each run's id as tells it from the others, `SHORT_ID` characters at least.

    Empty where two files have the same id: then none does.
    """
    order = sorted((id_of(path), path) for path in known)
    # In sorted order, only a neighbour can share the longest beginning.
    ids = ["", *(run for run, _ in order), ""]
    by_path: dict[Path, str] = {}
    for (run, path), *beside in zip(order, ids, ids[2:], strict=False):
        alike = max(len(os.path.commonprefix([run, other])) for other in beside)  # noqa: RUF071 (of ids)
        by_path[path] = "" if run in beside else run[: max(SHORT_ID, alike + 1)]
    return by_path


def called(start: Path, path: Path, least: int = SHORT_ID) -> str:
    """What somebody who stands in `start` calls a run in a command, as short as finds it.

    It is the file where no id does: where no run is looked for. Only runs beside it are looked at: those elsewhere
    were made at other moments, and of a copy among them `find` tells.

    Args:
        least: So many characters at least; more than SHORT_ID of one that may get neighbours of the same moment.
    """
    path, home = path.absolute(), path.absolute().parent.parent
    name = names(paths(home)).get(path) if _looked_in(start.absolute(), home) else ""
    return id_of(path)[: max(least, len(name))] if name else os.path.relpath(path, start)


def _looked_in(start: Path, home: Path) -> bool:
    """Whether this is one of `homes(start)`, without a look at all the folders."""
    if os.environ.get("EVENHAND_HOME"):
        return home == home_for(None)
    folder = home.parent
    if home.name != HOME or not (start.is_relative_to(folder) or folder.is_relative_to(start)):
        return False
    below = folder.parts[len(start.parts) :]
    return len(below) <= DEPTH and not any(p.startswith(".") or p in _NOT_HERE for p in below)


def matching(known: Iterable[Path], ref: str) -> list[Path]:
    """The runs that an id, or the start of one, may mean: those with just this id, or all that begin so."""
    begun = [(run, path) for path in known if (run := id_of(path)).startswith(ref.upper())]
    same = [path for run, path in begun if run == ref.upper()]
    return same or [path for _, path in begun]


_REMOTE = r"(?i)[a-z][a-z0-9+.-]*://"


def find(start: Path, ref: str | None, *, ended: bool = False) -> Path:
    """The run meant by somebody who stands in `start`: an id, the start of one, a file, or the latest for None.

    `latest~1` is the one before the latest, as in git. The latest is never a probe, a tryout, a check of canaries, one
    that prepared a dataset or one cell that was asked again: those are found by their ids.
    An imported run is found by the whole of the id that it had in promptfoo, too.

    Args:
        start: Where they stand.
        ref: What they wrote.
        ended: The latest is none that is still being written: who asks may be one of its trials.

    Raises:
        UsageError: There is none, or more than one.
    """
    if ref and (ref.endswith(SUFFIX) or os.sep in ref):
        path = Path(ref)
        if path.is_file():
            if hint := another_kind(path):
                raise UsageError(f"{ref} is not a run", hint=hint)
            return path.absolute()
        if remote := re.match(_REMOTE, ref):
            raise UsageError(  # not quoted, as it may have a password in it
                f"a run of a remote ({remote[0]}…) can be read, but not used here",
                hint="`show`, `export`, `compare`, `view` and `runs history` read remotes. For anything else, name a"
                " run of this machine.",
            )
        raise UsageError(f"{ref}: there is no such run file")
    known = newest_first(files(start))
    if ref and Path(ref).is_file() and not matching(known, ref):
        raise UsageError(
            f"{ref} is a file, but not a run",
            hint=another_kind(Path(ref)) or "`evenhand runs list` lists the runs.",
        )
    if not known:
        raise UsageError(
            f"there are no runs in or below {os.environ.get('EVENHAND_HOME') or start.absolute()}",
            hint="`evenhand run` makes one; set EVENHAND_HOME if your runs are elsewhere.",
        )
    back = runs_back(ref)
    if ref is None or back is not None:
        return _latest(known, back or 0, ended=ended)
    named = ref.startswith("eval-")
    meant = [p for p in known if _imported_as(p) == ref] if named else matching(known, ref)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise _ambiguous(ref, meant)
    newest = ", ".join(dict.fromkeys(map(id_of, known[:5])))
    # Git's other form, which shells may also take for a pattern.
    near = did_you_mean(ref.replace("^", "~1"), ("latest~1", "latest"))
    hint = f"{near} The newest: {newest}" if near else f"The newest: {newest}"
    raise UsageError(f"there is no run '{ref}'", hint=hint)


def runs_back(ref: str | None) -> int | None:
    """How many runs before the latest one is meant; None where a run is named otherwise.

    >>> runs_back(None), runs_back("latest"), runs_back("latest~2"), runs_back("01M8")
    (0, 0, 2, None)
    """
    named = re.fullmatch(r"latest(?:~(\d{0,6}))?", ref or "latest", re.ASCII)
    # A `~` alone is the one before, as in git.
    return None if named is None else 0 if named[1] is None else int(named[1] or 1)


def run_before(start: Path, run: RunFile) -> Path | None:
    """The newest run of a plan of the same title that was made before this one; None where there is none.

    Where a set was added to a folder, or was run alone, it is the newest run of the folder with one of the same evals.
    """
    evals = {variant.eval for variant in run.meta.variants} - {""}
    other_sets: Path | None = None
    for path in newest_first(files(start)):
        with contextlib.suppress(StoreError), RunFile.open(path) as other:
            meta = other.meta
            if meta.id >= run.meta.id or not meta.is_of_evals:
                continue
            if other.plan_title == run.plan_title:
                return path
            same_folder = bool(meta.source) and meta.source == run.meta.source
            if other_sets is None and same_folder and evals & {v.eval for v in meta.variants}:
                other_sets = path
    return other_sets


def another_kind(path: Path) -> str:
    """What a file is for that is a baseline, a cassette or an export of ours; empty for any other."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        start, name = file.read(300), shlex.quote(near(path))
        if b'"evenhand.baseline/' in start:
            return f"It is a baseline: evenhand gate --baseline {name} compares the evals with it."
        if b'"evenhand.cassette/' in start:
            return f"It is a cassette: evenhand run --replay {name} answers from it."
        if re.match(_EXPORT, start):
            return "It is Evenhand's own export, for other programs: evenhand show RUN opens the run itself."
    return ""


def _latest(known: Sequence[Path], back: int, *, ended: bool) -> Path:
    """The newest run that asked about a system, or one before it. One that cannot be read may be it."""
    there = 0
    ids: set[str] = set()
    for path in known:
        try:
            with RunFile.open(path) as run:
                if ended and run.alive:
                    continue
                # A copy is the same run once more, and not the one before.
                there += run.meta.is_of_evals and run.meta.id not in ids
                ids.add(run.meta.id)
        except StoreError:  # who opens it says why not
            there += 1
        if there > back:
            return path
    if there:
        raise UsageError(
            f"there is no run latest~{back}: {'only 1 run is' if there == 1 else f'only {there:,} runs are'} there",
            hint=f"The earliest is {'latest' if there == 1 else f'latest~{there - 1}'}.",
        )
    if ended:
        raise UsageError(f"no run has ended in {known[0].parent}", hint="Run the evals first.")
    raise UsageError(
        "there are only probes, audits, tryouts, checks of canaries, prepared datasets and cells that were asked again"
        f" in {known[0].parent}",
        hint=f"Run the evals first, or name one of these: {known[0].stem}",
    )


def _ambiguous(ref: str, meant: Sequence[Path]) -> UsageError:
    """More than one run, to be told apart by more of the id; or by the file, where two have the same."""
    ids = set(map(id_of, meant))
    by_path = names(meant)
    each = ", ".join(id_of(path) if by_path[path] else str(path) for path in meant[:5])
    if len(ids) == 1:
        return UsageError(
            f"'{ref}' is the id of {len(meant)} files", hint=f"Name one by its file: {each}"
        )
    return UsageError(
        f"'{ref}' could be any of {len(meant)} runs", hint=f"Write more of one: {each}"
    )
