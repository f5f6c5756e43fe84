"""One comment of ours on a pull request, whoever writes it, and however often.

How it works: a comment of ours begins with a mark, an HTML comment that nobody sees. It names a key, so that two gates
of one repository have a comment each, and the run that wrote it: a run that is older than the one whose text is there
leaves it. Two jobs that find no comment at the same moment both write one. Each looks again after it has written; who
then finds two puts the newest text into the first, and deletes the others. What all of them do comes to the same.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

from evenhand.core.encoding import digest
from evenhand.core.errors import ConnectionFailed, Overloaded, ProviderError, TimedOut
from evenhand.core.record import Record
from evenhand.providers.rest import Waited, is_gone

LOOKS = 30
FAILURES = 5
SETTLE_S = 1.0
MOST_CREATED = 3
"""A host that shows none of so many new comments would get one more at each look."""
_MARK = re.compile(r"<!-- evenhand:gate ([0-9a-f]{16}) ([0-9]{1,18})\.([0-9]{1,18}) -->")

Moment = tuple[int, int]
"""The number of a run of the CI, which grows, and of its attempt; (0, 0) where that is not known."""


class Comment(Record, frozen=True):
    """A comment as it is.

    Attributes:
        id: Its number; later ones are greater.
    """

    id: int
    body: str
    url: str = ""

    def at(self, key: str) -> Moment | None:
        """By which run it was written; None where it is no comment with this key."""
        mark = _MARK.match(self.body)
        if mark is None or mark[1] != digest(key)[:16]:
            return None
        return int(mark[2]), int(mark[3])


class Thread(Protocol):
    """The comments on one pull request."""

    async def ours(self) -> Sequence[Comment]:
        """The comments that this token's owner wrote."""
        ...

    async def read(self, number: int) -> Comment:
        """One comment, as it is now."""
        ...

    async def create(self, body: str) -> Comment:
        """Writes one."""
        ...

    async def update(self, number: int, body: str) -> Comment:
        """Gives one another text."""
        ...

    async def delete(self, number: int) -> None:
        """Deletes one."""
        ...


class Kept(Record, frozen=True):
    """What became of a comment."""

    done: Literal["created", "updated", "left"]
    url: str


def marked(key: str, at: Moment, text: str) -> str:
    """The text of a comment of ours.

    Args:
        key: What tells this gate from others.
        at: The run that writes it.
    """
    return f"<!-- evenhand:gate {digest(key)[:16]} {at[0]}.{at[1]} -->\n{text}"


async def keep_one(
    thread: Thread,
    key: str,
    at: Moment,
    text: str,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Kept:
    """Sees to it that there is one comment with this key, and that it has this text, or that of a later run.

    Args:
        key: What tells this gate from others.
        at: The run that writes it.
        text: What it should say.
        sleep: Waits so many seconds.

    Raises:
        ProviderError: It could not be written, or others write it all the time.
    """
    done: Literal["created", "updated", "left"] = "left"
    failures = 0
    created: Comment | None = None
    creations = 0
    for _ in range(LOOKS):
        ours = [one for one in await _listed(thread, created) if one.at(key) is not None]
        # All jobs gather into the oldest, so that two which write at once agree on it.
        ours.sort(key=lambda one: one.id)
        if at == (0, 0) and ours:  # nobody knows which is newer: this one is said now
            at = max(one.at(key) or at for one in ours)
        body = marked(key, at, text)
        if len(ours) == 1 and _stands(ours[0], key, at, body, wrote=done != "left"):
            return Kept(done, ours[0].url)
        if not ours and creations == MOST_CREATED:
            raise ProviderError(
                f"{creations} comments were created, and the host shows none of them",
                hint="Look at the pull request, and whether the token may read its comments.",
            )
        try:
            if not ours:
                creations += 1
                created = await thread.create(body)
                done = "created"
            else:
                wrote = await _gathered(thread, ours, key, at, body)
                done = "updated" if wrote and done == "left" else done
        except Waited:
            continue
        except (ConnectionFailed, Overloaded, TimedOut):
            failures += 1  # it may have been written all the same: look
            if failures > FAILURES:
                raise
        except ProviderError as error:
            if not is_gone(error) or not ours:
                raise
            continue  # another job was quicker
        await sleep(SETTLE_S)
    raise ProviderError("the comment is written by others all the time", hint="Run it again.")


async def _listed(thread: Thread, created: Comment | None) -> Sequence[Comment]:
    """Our comments, with the one that this run created: a host's list may be older than it."""
    ours = await thread.ours()
    if created is None or any(one.id == created.id for one in ours):
        return ours
    try:
        return [*ours, await thread.read(created.id)]
    except ProviderError as error:
        if not is_gone(error):
            raise
        return ours  # another job put its text into an older comment


def _stands(one: Comment, key: str, at: Moment, body: str, *, wrote: bool) -> bool:
    """Whether a comment says what it should: this text, or that of a later run.

    Of one that this run has written only the mark is looked at: hosts change white space.
    """
    there = one.at(key) or (0, 0)
    return there > at or (there == at and (wrote or one.body == body))


async def _gathered(
    thread: Thread, ours: Sequence[Comment], key: str, at: Moment, body: str
) -> bool:
    """Puts the newest text into the first of these comments, and deletes the others; whether it was this text."""
    first, *others = ours
    newest = max(ours, key=lambda one: one.at(key) or (0, 0))
    there = newest.at(key) or (0, 0)
    mine = there <= at
    moment, newer = (at, body) if mine else (there, newest.body)
    now = await thread.read(first.id)  # the list may be older
    write = (now.at(key) or (0, 0)) <= moment and now.body != newer
    if write:
        await thread.update(first.id, newer)
    for other in others:
        try:
            await thread.delete(other.id)
        except ProviderError as error:
            if not is_gone(error):
                raise
    return mine and write


def whole_number(text: str) -> int:
    """A number that a CI says in an environment variable; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else 0
