"""What installed packages add, for the commands that list it: ours goes before theirs, and that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from evenhand.cli.streams import say_wrapped
from evenhand.core.errors import UsageError
from evenhand.core.plugins import ASSERTIONS, GROUPS, IMPORTERS, SCORERS, WINGS, Plugin, plugins


def added(group: str) -> Iterator[tuple[Plugin, str]]:
    """Each thing that packages add to a group, and why it is not used; empty where it is."""
    ours = _ours(group)
    for name, several in plugins(group).items():
        for one in several:
            if ours(name):
                yield one, "Evenhand has one of this name, which is used"
            elif len(several) > 1:
                others = ", ".join(other.package for other in several if other is not one)
                yield one, f"the name is also in {others}: uninstall all but one"
            else:
                yield one, ""


def list_added(group: str, heading: str) -> None:
    """Prints what packages add to a group, each with its package; nothing where there is nothing."""
    listed = list(added(group))
    if not listed:
        return
    click.echo(f"\n{heading}\n")
    width = max(len(one.name) for one, _ in listed)
    for one, unused in listed:
        why = f"; not used: {unused}" if unused else ""
        line = f"  {one.name:<{width}}  {one.package} {one.version}, {one.place}{why}"
        say_wrapped(line, " " * (width + 4))


def checked() -> Iterator[tuple[Plugin, str, str]]:
    """Everything that packages add, imported: what is wrong with it and what to do; empty where nothing is."""
    for group in GROUPS:
        for one, unused in added(group):
            if unused:
                yield one, f"{one} is not used", f"{unused[:1].upper()}{unused[1:]}."
                continue
            try:
                _usable(one)
            except UsageError as error:
                yield one, error.message, error.hint
            else:
                yield one, "", ""


def _usable(one: Plugin) -> None:
    """Raises what a run would that uses it."""
    if one.group == SCORERS:
        from evenhand.scorers.metric import metric

        metric(one.name)
    elif one.group == ASSERTIONS:
        from evenhand.doors.assertions.kinds import kind_of

        kind_of(one.name)
    elif one.group == IMPORTERS:
        from evenhand.doors.importers.packaged import importer_of

        importer_of(one)
    elif one.group == WINGS:
        _whole(one)
    else:
        one.load()


def _whole(one: Plugin) -> None:
    """Raises what is wrong with a wing: that it or a part cannot be loaded, or that some parts are never used."""
    from evenhand.cli.verbs import COMMANDS, MOVED
    from evenhand.core.wing import load_parts, shadowed, wing_of

    wing = wing_of(one)
    hidden = [f"{kind} {name!r}" for kind, name in shadowed(wing)]
    hidden += [f"commands {name!r}" for name in wing.commands if name in COMMANDS or name in MOVED]
    if hidden:
        raise one.broken(
            f"brings what Evenhand has itself, and uses: {', '.join(hidden)}",
            hint="Give them other names.",
        )
    load_parts(wing, f"{one.package} {one.version}")


def _ours(group: str) -> Callable[[str], bool]:
    if group == SCORERS:
        from evenhand.scorers.metric import own_metric

        return lambda name: own_metric(name) is not None
    if group == ASSERTIONS:
        from evenhand.doors.assertions.kinds import SUPPORTED

        return SUPPORTED.__contains__
    if group == IMPORTERS:
        from evenhand.core.wing import our_parts

        return our_parts("importers").__contains__
    if group == WINGS:
        from evenhand.core.wing import OURS

        return OURS.__contains__
    from evenhand.providers.catalog import is_ours

    return is_ours
