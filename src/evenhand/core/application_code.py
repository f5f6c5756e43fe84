"""What has changed of an application's code between two runs: labels of one say nothing of what other code answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ApplicationCode = Mapping[str, str]
"""Short digests: of each module by its file, of each eval and judge by its name. Empty where nobody knows the code."""
EVAL = "eval "
"""Comes before an eval's name."""
JUDGE = "judge "
"""Comes before the id of a judge that is a program or a function: its files, with what they import beside them."""
_NAMED = 3
_THEN = ">"


def changed_code(
    before: ApplicationCode, now: ApplicationCode, evals: Iterable[str]
) -> tuple[str, ...]:
    """The parts of the code that are otherwise now: a few by name, and how many more.

    What only one of them has says nothing: it may have been imported for other evals.

    Args:
        before: The code that labels are of.
        evals: The names of the evals that count: the code of others says nothing of these.

    >>> changed_code({"bot.py": "1", "eval asks": "1"}, {"bot.py": "2", "eval asks": "2"}, ["tells"])
    ('bot.py',)
    """
    own = {f"{EVAL}{name}" for name in evals}
    names = [
        name
        for name in sorted(before.keys() & now.keys())
        if before[name] != now[name] and (name in own or not name.startswith((EVAL, JUDGE)))
    ]
    if len(names) <= _NAMED + 1:
        return tuple(names)
    return (*names[:_NAMED], f"{len(names) - _NAMED:,} more files")


def changed_modules(before: ApplicationCode, now: ApplicationCode) -> tuple[str, ...]:
    """The modules in Python that are otherwise now, as `changed_code` names them: one run has results of one version.

    >>> changed_modules({"bot.py": "1", "log.txt": "1"}, {"bot.py": "2", "log.txt": "2"})
    ('bot.py',)
    """
    return changed_code(
        {name: part for name, part in before.items() if name.endswith(".py")}, now, ()
    )


def joined_code(first: ApplicationCode, second: ApplicationCode) -> ApplicationCode:
    """The code of what was done in two parts: what differs between them is of neither version.

    >>> joined_code({"bot.py": "1", "shop.py": "1"}, {"bot.py": "2", "judge own.py": "1"})
    {'bot.py': '1>2', 'judge own.py': '1', 'shop.py': '1'}
    """
    both = {
        name: f"{first[name]}{_THEN}{part}" if first.get(name, part) != part else part
        for name, part in second.items()
    }
    return {**both, **{name: part for name, part in first.items() if name not in both}}


def is_of_two(part: str) -> bool:
    """Whether a part of the code, as `joined_code` has it, was of two versions."""
    return _THEN in part


def judges_code(code: ApplicationCode, judge: str) -> str:
    """A digest of a judge's own code, by the id that it was asked by; empty where it has none, or nobody knows it."""
    return code.get(f"{JUDGE}{judge}", "")
