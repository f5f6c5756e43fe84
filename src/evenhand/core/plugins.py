"""What installed packages add: scorers, assertion types, providers, importers and wings, found by their entry points.

How this works: a package names what it has under one of the groups below, as `importlib.metadata` reads them. They are
looked up only for a name that is none of ours, and imported only when that name is used: who uses none pays nothing,
and a package that cannot be imported breaks only the runs that ask for it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping

from evenhand.core.errors import EvenhandError, UsageError, first_line
from evenhand.core.record import Record

SCORERS = "evenhand.scorers"
ASSERTIONS = "evenhand.assertions"
PROVIDERS = "evenhand.providers"
IMPORTERS = "evenhand.importers"
WINGS = "evenhand.wings"
GROUPS: Mapping[str, str] = {
    SCORERS: "scorer",
    ASSERTIONS: "assertion type",
    PROVIDERS: "provider",
    IMPORTERS: "importer",
    WINGS: "wing",
}
"""The groups, and what one of them is called."""


class Plugin(Record, frozen=True):
    """One thing that a package adds.

    Attributes:
        name: The word that users write.
        place: Where it is, `module:attribute`.
    """

    group: str
    name: str
    package: str
    version: str
    place: str

    def load(self) -> object:
        """What the entry point names, imported.

        Raises:
            UsageError: It cannot be imported.
        """
        from importlib.metadata import EntryPoint  # noqa: PLC0415 (costs time, and few need it)

        try:
            return EntryPoint(self.name, self.place, self.group).load()
        # A package's module can raise anything while it is imported, or end the process.
        except (Exception, SystemExit) as error:
            raise self.broken("cannot be loaded", error) from error

    def broken(
        self, what: str, error: BaseException | None = None, *, hint: str = ""
    ) -> UsageError:
        """What to say of it where it cannot be used.

        Args:
            hint: What one of its kind has to be.
        """
        if isinstance(error, EvenhandError):
            return UsageError(f"{self}: {error.message}", hint=error.hint)
        why = "" if error is None else f": {first_line(error)}"
        return UsageError(
            f"{self} {what}{why}",
            hint=f"{hint} Mend, upgrade or uninstall the package: pip uninstall {self.package}".lstrip(),
        )

    def __str__(self) -> str:
        return f"{GROUPS[self.group]} '{self.name}' of the package {self.package} {self.version}"


def plugins(group: str) -> Mapping[str, tuple[Plugin, ...]]:
    """What installed packages add to a group, by name: one for each package that has the name."""
    return _installed(group, tuple(sys.path))


def plugin(group: str, name: str) -> Plugin | None:
    """The one of this name; None for none.

    Raises:
        UsageError: Several packages have it.
    """
    candidates = plugins(group).get(name, ())
    if len(candidates) > 1:
        packages = " and ".join(one.package for one in candidates)
        raise UsageError(
            f"{GROUPS[group]} '{name}' is in several packages: {packages}",
            hint="Uninstall all but one of them.",
        )
    return candidates[0] if candidates else None


@functools.lru_cache(maxsize=16)
def _installed(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[Plugin, ...]]:
    """Looked up once for a search path: a package that is installed meanwhile is seen by the next process."""
    from importlib.metadata import entry_points  # noqa: PLC0415 (costs time, and few need it)

    del path
    by_name: dict[str, dict[str, Plugin]] = {}
    for point in entry_points(group=group):
        package, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
        one = Plugin(group, point.name, package, version, point.value)
        # Of a package that is on the path twice, the first is the one that would be imported.
        by_name.setdefault(point.name, {}).setdefault(package, one)
    return {name: tuple(one[p] for p in sorted(one)) for name, one in sorted(by_name.items())}
