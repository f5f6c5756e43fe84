"""The folder of a program that is the agent of a conversation: the same one at every turn.

How this works: the folder is made at the first turn and removed after the last. A turn whose answer was recorded
earlier runs nothing, so what the program left then isn't there. If a later turn has to run, the folder is made anew and
the recorded files are put back. The program's own session belongs to the old folder: it is told the whole conversation
instead. The same happens after an attempt that failed halfway.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from evenhand.core.errors import InfrastructureError
from evenhand.core.message import Reply
from evenhand.providers.command_agents.folder import Left, fresh_folder
from evenhand.providers.command_agents.transcript import fields, items

_SHOWN = 3


class TurnFolder:
    """A program's folder and session through one conversation.

    Args:
        name: The program, for messages.
        template: What the folder is a copy of at first; None for an empty one.

    Attributes:
        session: The program's session that the next turn goes on with; empty where it begins a new one.
    """

    def __init__(self, name: str, template: Path | None) -> None:
        self._name = name
        self._template = template
        self._stack = ExitStack()
        self._own: Path | None = None
        self._left = Left()
        self._ran = False
        self.session = ""

    def begin(self) -> Path:
        """The folder as the last turn left it, for the next one.

        Raises:
            InfrastructureError: The last turn was recorded, and not all of what it left.
            OSError: The folder cannot be made.
        """
        own, self._own = self._own, None  # until this turn has answered, nobody knows what is in it
        if own is not None:
            return own
        self.session = ""
        self._stack.close()
        if self._left.omitted:
            names = ", ".join([*self._left.omitted][:_SHOWN])
            raise InfrastructureError(
                f"{self._name}: an earlier turn was recorded, but not all files that it left: {names}",
                hint="Have the conversation anew, without the recorded answers.",
            )
        made = self._stack.enter_context(fresh_folder(self._template))
        put_back(made, self._left)
        return made

    def ran(self, own: Path) -> None:
        """Notes that the program has answered in this folder."""
        self._own, self._ran = own, True

    def answered(self, reply: Reply) -> None:
        """Takes over what an answer left, whether the program ran for it now or earlier."""
        about = fields(reply.metadata)
        if not self._ran or reply.origin != "provider":
            self._own = None
        self._ran = False
        self._left = Left(
            {name: str(text) for name, text in fields(about.get("files")).items()},
            [str(name) for name in items(about.get("deleted"))],
            {name: str(why) for name, why in fields(about.get("omitted")).items()},
        )
        self.session = str(about.get("session") or "") if self._own is not None else ""

    def close(self) -> None:
        """Removes the folder."""
        self._stack.close()


def put_back(folder: Path, left: Left) -> None:
    """Makes a copy of the template into what a program left of it. Names that lead out of the folder are refused.

    Raises:
        OSError: A file cannot be written or removed.
        InfrastructureError: A name leads out of the folder.
    """
    for name in left.deleted:
        _inside(folder, name).unlink(missing_ok=True)
    for name, text in left.files.items():
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))


def _inside(folder: Path, name: str) -> Path:
    """Where a file of this name is; the links on the way to it are followed, and it is not."""
    path = folder / name
    parent = Path(os.path.realpath(path.parent))
    if ".." in Path(name).parts or not parent.is_relative_to(folder):
        raise InfrastructureError(f"the recorded file {name!r:.200} is outside of its folder")
    return path
