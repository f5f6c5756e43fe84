"""Wings: products beside the kernel, each declared in one record.

How this works: a wing says where its parts are, `module:attribute` each, and the kernel imports a part when somebody
asks for it by its name. Ours are found in `evenhand.wings`, those of installed packages by their entry points in the
group `evenhand.wings`; both are loaded and used alike. So the kernel imports no wing, and nobody pays for one that
isn't used. Packages are looked at only for a name that none of ours has: finding entry points takes a tenth of a
second where many packages are installed.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Literal, get_args

import msgspec
from msgspec import field

from evenhand.core.errors import EvenhandError, UsageError, first_line
from evenhand.core.plugins import WINGS, Plugin, plugin, plugins
from evenhand.core.record import Record
from evenhand.core.version import __version__

OURS = (
    "audit",
    "code_hosts",
    "coding_agents",
    "failures",
    "fleet",
    "interchange",
    "judge_checks",
    "remotes",
    "traces",
    "viewer",
)
"""Our wings: the folders of `evenhand.wings`."""
Kind = Literal[
    "commands",
    "importers",
    "exporters",
    "folders",
    "datasets",
    "studies",
    "documents",
    "settings",
    "run_names",
    "destinations",
    "hooks",
]
"""The kinds of parts: attributes of `Wing`."""
KINDS: tuple[Kind, ...] = get_args(Kind)


class Command(Record, frozen=True):
    """A command of a wing.

    Attributes:
        place: The click command, `module:attribute`.
        summary: The line that `evenhand --help` has of it.
        examples: Command lines that can be typed, for the end of the command's own help.
        section: The heading of `evenhand --help` that lists a command of one word: Start, Run, Look, CI, Judges or
            More.
    """

    place: str
    summary: str
    examples: tuple[str, ...] = ()
    section: str = "More"


class Exporter(Record, frozen=True):
    """A format that runs are written in.

    Attributes:
        place: A function that takes a `RunFile` and a text stream, and returns how many trials it wrote.
        endings: The endings of file names that mean this format, without the dot.
        ready: A function that raises a `UsageError` where the format cannot be written here: it is called before
            anything is paid for. Empty for none.
        compares: Whether the function also takes the run to hold it against, or None.
    """

    place: str
    endings: tuple[str, ...] = ()
    ready: str = ""
    compares: bool = False


class Importer(Record, frozen=True):
    """A reader of another tool's files.

    Attributes:
        place: A function of paths that returns `Recordings`.
        example: What such a file may be called, for messages.
    """

    place: str
    example: str = "export.json"


class Wing(Record, frozen=True, kw_only=True):
    """What a product beside the kernel brings. Every part is a place, `module:attribute`, under the name users write.

    Attributes:
        summary: What it is for, in a line.
        extra: What `pip install` needs for it, such as `evenhand[mcp]`; empty for nothing.
        needs: The other wings that it imports.
        commands: Commands of the command line. A name of two words, such as `data draw`, is a command of a group.
        importers: What `evenhand import NAME` reads.
        exporters: What `evenhand export --format NAME` writes.
        folders: What `evenhand init --from NAME` makes eval sets of, where it is more than what an importer's datasets
            give: functions of the files and the folder that return `MovedIn`.
        datasets: What `evenhand data convert --for NAME` writes: functions of a dataset and its name that return a
            JSON-ready mapping.
        studies: Runs with a report and an exit code of their own, by the key of a run's settings that marks them:
            functions of the run's metadata and its file that return a `Study`, or None.
        documents: The formats of its documents, such as `acme.report/1`: msgspec Structs that write and read them.
        settings: Its tables in pyproject.toml: `acme` is `[tool.evenhand.acme]`, a msgspec Struct.
        run_names: Who knows runs that are not on this machine, by a name of any kind: a `RunNames`.
        destinations: What `evenhand export --to NAME` sends a run to: functions of a `RunFile` that return how many
            events were sent, and where to.
        hooks: What commands of the kernel leave to a wing of ours: `fleet` for `run --workers` and `--ray`, `canaries`
            for `run --canaries`, `cant_fail` and `cant_fail_in` for what `gate` and `doctor` say of cases that can't
            fail. Those of packages are not looked for.
    """

    name: str
    summary: str = ""
    extra: str = ""
    needs: tuple[str, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    importers: Mapping[str, Importer] = field(default_factory=dict[str, Importer])
    exporters: Mapping[str, Exporter] = field(default_factory=dict[str, Exporter])
    folders: Mapping[str, str] = field(default_factory=dict[str, str])
    datasets: Mapping[str, str] = field(default_factory=dict[str, str])
    studies: Mapping[str, str] = field(default_factory=dict[str, str])
    documents: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    run_names: Mapping[str, str] = field(default_factory=dict[str, str])
    destinations: Mapping[str, str] = field(default_factory=dict[str, str])
    hooks: Mapping[str, str] = field(default_factory=dict[str, str])


class Part(Record, frozen=True):
    """A part of a wing, and whose it is.

    Attributes:
        package: The package that has the wing, and its version.
        place: Where the part is, `module:attribute`.
        ours: Whether the wing is one of ours.
    """

    wing: str
    package: str
    place: str
    ours: bool

    def load(self) -> object:
        """The part, imported.

        Raises:
            UsageError: It cannot be imported. What is wrong with a part of ours is raised as it is.
        """
        try:
            return imported(self.place)
        except EvenhandError:
            raise
        except (Exception, SystemExit) as error:
            if self.ours:
                raise
            raise self.broken(f"cannot be loaded: {first_line(error)}") from error

    def broken(self, what: str, *, hint: str = "") -> UsageError:
        """What to say of a part that cannot be used.

        Args:
            hint: What one of its kind has to be.
        """
        package = self.package.partition(" ")[0]
        return UsageError(
            f"the wing '{self.wing}' of the package {self.package}: {self.place} {what}",
            hint=f"{hint} Mend, upgrade or uninstall the package: pip uninstall {package}".lstrip(),
        )


def imported(place: str) -> object:
    """What is at a place, `module:attribute`."""
    module, _, attribute = place.partition(":")
    return functools.reduce(getattr, attribute.split("."), import_module(module))


def our_wings() -> Iterator[Wing]:
    """Our own wings; their modules import nothing but this one."""
    for name in OURS:
        yield import_module(f"evenhand.wings.{name}.wing").WING


def installed_wings() -> Iterator[tuple[str, Wing]]:
    """The wings of installed packages that can be used, each with its package and version.

    One that cannot be loaded is left out: `evenhand doctor` says why. Nobody else's command breaks for it.
    """
    for name in plugins(WINGS):
        if name in OURS:
            continue
        try:
            one = plugin(WINGS, name)
            if one is not None:
                yield f"{one.package} {one.version}", wing_of(one)
        except UsageError:
            continue


def wing_of(one: Plugin) -> Wing:
    """The wing that an entry point names.

    Raises:
        UsageError: It cannot be loaded, or is something else.
    """
    loaded = one.load()
    if not isinstance(loaded, Wing):
        what = f"is {type(loaded).__name__}, not a Wing"
        raise one.broken(what, hint="It has to be a `Wing` of evenhand.wings.")
    try:
        # A record doesn't look at what it is made of: a text for a list of endings would be one of letters.
        msgspec.convert(msgspec.to_builtins(loaded), Wing)
    except (msgspec.ValidationError, TypeError) as error:
        from evenhand.core.malformed import shape_fault  # noqa: PLC0415 (for an error only)

        fault = shape_fault(error) if isinstance(error, msgspec.ValidationError) else error
        raise one.broken(f"is no Wing that can be used: {fault}") from error
    return loaded


def load_parts(wing: Wing, package: str) -> None:
    """Imports all parts of a package's wing, but for hooks, which no package is asked for.

    Raises:
        UsageError: One cannot be imported.
    """
    for kind in KINDS:
        if kind != "hooks":
            for _, one in _of(wing, package, kind, ours=False):
                one.load()


def shadowed(wing: Wing) -> Iterator[tuple[Kind, str]]:
    """The parts of a package's wing whose names our own wings have: theirs are not used."""
    for kind in KINDS:
        for name, _ in _of(wing, "", kind, ours=False):
            if name in _ours(kind):
                yield kind, name


def all_wings() -> Iterator[tuple[str, Wing]]:
    """All wings, each with its package and version: ours first."""
    yield from ((f"evenhand {__version__}", wing) for wing in our_wings())
    yield from installed_wings()


def command_of(name: str) -> Command | None:
    """What a wing says of the command of these words; None where none brings it."""
    return next((wing.commands[name] for _, wing in all_wings() if name in wing.commands), None)


def importer_of(name: str) -> Importer | None:
    """What a wing says of the importer of this name; None for none."""
    return next((wing.importers[name] for _, wing in all_wings() if name in wing.importers), None)


def exporter_of(name: str) -> Exporter | None:
    """What a wing says of the format of this name; None for none."""
    return next((wing.exporters[name] for _, wing in all_wings() if name in wing.exporters), None)


def format_of(ending: str) -> str:
    """The format that a wing writes to files of this ending; empty for none."""
    for _, wing in all_wings():
        for name, one in wing.exporters.items():
            if ending in one.endings:
                return name
    return ""


def hook(name: str) -> object:
    """What a command of the kernel leaves to a wing of ours, imported."""
    return _ours("hooks")[name].load()


def our_parts(kind: Kind) -> Mapping[str, Part]:
    """The parts of a kind that our own wings bring."""
    return _ours(kind)


def parts(kind: Kind) -> Mapping[str, Part]:
    """All parts of a kind, by the names that users write: ours first, and a name of ours stays ours."""
    return _parts(kind, tuple(sys.path))


def part(kind: Kind, name: str) -> Part | None:
    """The part of this name; None for none. Packages are looked at only where none of ours has the name."""
    return _ours(kind).get(name) or parts(kind).get(name)


@functools.cache
def _ours(kind: Kind) -> Mapping[str, Part]:
    package = f"evenhand {__version__}"
    tables = (_of(wing, package, kind, ours=True) for wing in our_wings())
    return dict(itertools.chain.from_iterable(tables))


@functools.lru_cache(maxsize=32)
def _parts(kind: Kind, path: tuple[str, ...]) -> Mapping[str, Part]:
    """Looked up once for a search path: a package that is installed meanwhile is seen by the next process."""
    del path
    parts = dict(_ours(kind))
    for package, wing in installed_wings():
        for name, one in _of(wing, package, kind, ours=False):
            parts.setdefault(name, one)
    return parts


def _of(wing: Wing, package: str, kind: Kind, *, ours: bool) -> Iterator[tuple[str, Part]]:
    entries: Mapping[str, str | Command | Exporter | Importer] = getattr(wing, kind)
    for name, entry in entries.items():
        place = entry if isinstance(entry, str) else entry.place
        yield name, Part(wing.name, package, place, ours)
