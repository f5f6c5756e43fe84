"""Who plays the user, as digests: a conversation with another user is another test under the same case."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, cast

from evenhand.core.definition import USER, brief, code_digest
from evenhand.doors.conversations.simulated import SimulatedUser
from evenhand.doors.conversations.talk import Talk
from evenhand.doors.conversations.users import FunctionUser, ScriptedUser, StatefulUser, User


def digests_of_user(user: User, start: Talk, max_turns: int, judge: object) -> Mapping[str, str]:
    """What the trial's content says of its user, by part.

    Code has a part of its own for each version of Python, whose digests say nothing of each other. The values of facts
    aren't looked at: they may be the numbers of what a fixture made for this trial alone.

    Args:
        start: What was said before.
        max_turns: How many answers the agent has.
        judge: Who plays it where no model is named.
    """
    terms = [max_turns, *_terms(user, start)]
    functions: list[object] = []
    if isinstance(user, SimulatedUser):
        terms.append(_name(user.model or judge))
        functions = [user.model]
    elif isinstance(user, StatefulUser):
        functions = [user.first]
    elif isinstance(user, FunctionUser):
        functions = [user.function]
    digests = {USER: brief(terms)}
    codes = sorted({code for one in functions for code in _codes(one, set())})
    if codes:
        digests[f"{USER} {codes[0].partition(':')[0]}"] = brief(codes)
    return digests


def digest_of_talk(user: User, start: Talk) -> str:
    """What a conversation goes by, whoever plays the user and however long it lasts, without the user's code."""
    return brief(_terms(user, start))


def _terms(user: User, start: Talk) -> list[object]:
    """What its user is told to say, and what was said before."""
    terms: list[object] = [type(user).__name__]
    terms += [[message.role, message.content] for message in start.messages]
    if isinstance(user, ScriptedUser):
        terms += user.lines
    elif isinstance(user, SimulatedUser):
        contract = user.contract
        terms += [contract.goal, sorted(contract.facts), list(contract.never_says)]
        terms += [contract.language, user.persona]
    return terms


def _name(model: object) -> str:
    """The model's name, without the address of its server; empty for a function."""
    name = model if isinstance(model, str) else str(getattr(model, "id", ""))
    return name.partition("@")[0]


def _codes(function: object, before: set[int]) -> Iterator[str]:
    """Digests of the code of a function, and of those that it was given by the function around it: its next states."""
    if not callable(function) or hasattr(function, "request") or id(function) in before:
        return
    before.add(id(function))
    code = code_digest(cast("Callable[..., Any]", function), everywhere=True)
    if code:
        yield code
    for cell in (function.__closure__ or ()) if isinstance(function, FunctionType) else ():
        try:
            inner = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if isinstance(inner, FunctionType):
            yield from _codes(inner, before)
