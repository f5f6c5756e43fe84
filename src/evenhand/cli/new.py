"""`evenhand new`: a commented file to start from, that runs as it is.

The files are in `starters/`, with the words in @…@ filled in. Nothing that is there is overwritten.
"""

from __future__ import annotations

import keyword
import re
from os.path import relpath
from pathlib import Path
from shlex import quote
from typing import Literal

import click

from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError

Kind = Literal["eval", "judge", "prompt-function"]

STARTERS = Path(__file__).parent / "starters"
_PLACES: dict[str, tuple[str, str]] = {
    "eval": ("evals", "_evals"),
    "judge": ("judges", ""),
    "prompt-function": ("prompts", ""),
}
_TAKEN = frozenset({"evenhand", "message", "graded", "judgement", "custom_judge"})
"""What the starters import: a class or a module of one of these names would stand in its way."""


@click.group(short_help="Create a starter eval set, judge or prompt function.")
def new() -> None:
    """Write a commented file to start from, that runs as it is. Never overwrites one.

    NAME may have folders: `evenhand new eval shop/refunds` writes evals/shop/refunds_evals.py.
    """


@new.command(name="eval", short_help="An eval set: evals/NAME_evals.py.")
@click.argument("name")
def new_eval(name: str) -> int:
    """Write an eval set, evals/NAME_evals.py: two cases, an eval, the ways to expect."""
    path = write("eval", name, _project())
    file = relpath(path)
    click.echo(f"  {file}\n\nnext: evenhand run {quote(file)}")
    return 0


@new.command(name="judge", short_help="A judge of your own: judges/NAME.py.")
@click.argument("name")
def new_judge(name: str) -> int:
    """Write a judge, judges/NAME.py: what it is asked, and what its answer must hold."""
    path = write("judge", name, _project())
    module = ".".join(path.with_suffix("").relative_to(_project()).parts)
    click.echo(
        f"  {relpath(path)}\n\nnext, in an eval: from {module} import {class_name(path.stem)}"
    )
    return 0


@new.command(name="prompt-function", short_help="A prompt function: prompts/NAME.py.")
@click.argument("name")
def new_prompt_function(name: str) -> int:
    """Write a prompt function, prompts/NAME.py, for evals and promptfoo configs alike.

    `evenhand prompt new ID` makes a prompt directory: a template with its cases.
    """
    return _prompt_function(name)


@new.command(name="prompt", hidden=True)
@click.argument("name")
def new_prompt(name: str) -> int:
    """Write a prompt function: the former name of `evenhand new prompt-function`."""
    tell("`evenhand new prompt` is now `evenhand new prompt-function`")
    return _prompt_function(name)


def _prompt_function(name: str) -> int:
    path = write("prompt-function", name, _project())
    file = relpath(path)
    click.echo(f"  {file}\n\nnext: python {quote(file)}")
    return 0


def _project() -> Path:
    """The folder that has `evals`, `judges` and `prompts`, for one who stands in one of them, too."""
    here = Path.cwd()
    places = {place for place, _ in _PLACES.values()}
    return next((f.parent for f in (here, *here.parents) if f.name in places), here)


def write(kind: Kind, name: str, folder: Path) -> Path:
    """Writes a starter into its place below a folder, and returns where it is.

    Args:
        name: What to call it: words, and folders before them.
        folder: Where `evals`, `judges` and `prompts` are, or shall be.

    Raises:
        UsageError: The name cannot be one in Python, the file already exists, or cannot be written.
    """
    place, ending = _PLACES[kind]
    *folders, last = _words(kind, name, ending)
    path = Path(place, *folders, f"{last}{ending}.py")
    filled = {
        "TITLE": last.replace("_", " "),
        "NAME": last,
        "CLASS": class_name(last),
        "PATH": path.as_posix(),
        "MODULE": ".".join([place, *folders, last]),
    }
    text = (STARTERS / f"{kind}.py.txt").read_text("utf-8")
    text = re.sub("@([A-Z]+)@", lambda match: filled[match[1]], text)
    target = folder / path
    from evenhand.store.replacing import created

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with created(target) as file:
            file.write_text(text, "utf-8")
    except OSError as error:
        # mkdir says the same where a file stands in the way of a folder.
        if isinstance(error, FileExistsError) and target.exists():
            raise UsageError(
                f"{relpath(target)} already exists; nothing was written",
                hint=f"Give it another name: evenhand new {kind} {last}_2",
            ) from None
        what = f"{relpath(target)} cannot be written: {error.strerror or error}"
        raise UsageError(what) from error
    return target


def class_name(name: str) -> str:
    """`friendly_tone` as `FriendlyTone`."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _words(kind: Kind, name: str, ending: str) -> list[str]:
    """The folders and the name, as Python can import them."""
    path = (
        name.strip().removesuffix(".py").removesuffix(ending).removeprefix(f"{_PLACES[kind][0]}/")
    )
    words = [re.sub(r"[\s-]+", "_", word.strip()) for word in path.split("/")]
    hint = f"Use letters, digits and _, a letter first: evenhand new {kind} refunds"
    for word in words:
        if not word.isidentifier() or keyword.iskeyword(word) or word.startswith("__"):
            raise UsageError(f"{name!r} cannot be the name of a Python module", hint=hint)
    if not ending and words[-1].lower() in _TAKEN:
        raise UsageError(f"{name!r} is a name that the file itself needs", hint=hint)
    return words
