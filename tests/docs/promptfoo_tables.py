"""The tables of the pages on promptfoo, made of the code: `just formats` writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

from evenhand.cli.verbs import evenhand
from evenhand.doors.assertions.deviations import DEVIATIONS
from evenhand.doors.assertions.kinds import FAMILIES, INSTEAD, kind_of
from evenhand.doors.promptfoo import config, prompt_files, sources
from evenhand.render.export import formats

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (DOCS / "coming-from-promptfoo.md", DOCS / "promptfoo-differences.md")
_BLOCK = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)

FLAGS = """
-c --config -p --prompts -r --providers -t --tests -v --vars -a --assertions --model-outputs --prompt-prefix
--prompt-suffix --var --tag -j --max-concurrency --repeat --delay --no-cache --remote -n --filter-first-n
--filter-pattern --filter-range --filter-prompts --filter-providers --filter-targets --filter-sample
--filter-sample-seed --filter-failing --filter-failing-only --filter-errors-only --filter-metadata -o --output --table
--no-table --table-cell-max-length --share --no-share --resume --retry-errors --no-write --grader --suggest-prompts -w
--watch -x --extension --description --no-progress-bar --env-file
""".split()
"""The options of `promptfoo eval`, 0.123."""

COMMANDS: Mapping[str, str] = {
    "eval": "run",
    "eval --resume": "resume",
    "retry": "resume --errors",
    "show": "show",
    "list evals": "runs list",
    "export eval": "export",
    "import": "import",
    "delete eval": "runs delete",
    "view": "view",
    "validate": "check",
    "init": "init",
    "cache clear": "cache clear",
    "debug": "doctor",
}
"""The commands of promptfoo's that have a counterpart."""


def assertions() -> Iterator[str]:
    """A row for each type that runs."""
    yield "| type | passes when | value |"
    yield "| --- | --- | --- |"
    for name in _types():
        kind = kind_of(name)
        yield f"| `{name}` | {_cell(kind.about)} | {_cell(kind.takes)} |"


def negations() -> Iterator[str]:
    """What `not-` does to the types that it doesn't turn round."""
    kinds = {name: kind_of(name).negation for name in _types()}
    assert set(kinds.values()) <= {"opposite", "own", "ignored", "refused"}
    ignored, refused = (
        _list([name for name, kind in kinds.items() if kind == one], in_order=True)
        for one in ("ignored", "refused")
    )
    yield f"As in promptfoo, `not-` has no effect on {ignored}, and is an error with {refused}."


def refused() -> Iterator[str]:
    """A row for each type that does not."""
    yield "| type | instead |"
    yield "| --- | --- |"
    for name, instead in INSTEAD.items():
        yield f"| `{name}` | {_cell(instead)} |"


def keys() -> Iterator[str]:
    """A row for each key of a config."""
    yield "| key | |"
    yield "| --- | --- |"
    for key in sorted(config.KEYS.keys() - {"promptCompat"}):
        yield f"| `{key}` | {config._NO_EFFECT.get(key, 'works')} |"


def files() -> Iterator[str]:
    """What prompts and tests are read from, and what results are written to."""
    yield "| | endings |"
    yield "| --- | --- |"
    prompts = prompt_files.ENDINGS | prompt_files._PROGRAMS
    yield f"| prompts | {_list(prompts)} |"
    yield f"| tables of tests | {_list(sources.TABLES)} |"
    yield f"| formats of results | {_list(formats())} |"


def commands() -> Iterator[str]:
    """A row for each command that has a counterpart."""
    yield "| promptfoo | Evenhand |"
    yield "| --- | --- |"
    for theirs, ours in COMMANDS.items():
        yield f"| `promptfoo {theirs}` | `evenhand {ours}` |"


def options() -> Iterator[str]:
    """Which options of `promptfoo eval` are options of `evenhand run`."""
    context = click.Context(evenhand)
    command = evenhand.get_command(context, "run")
    assert command is not None
    known = {
        text
        for p in command.params
        if isinstance(p, click.Option)
        for text in (*p.opts, *p.secondary_opts)
    }
    same = [flag for flag in FLAGS if flag in known and flag != "-v"]
    yield "| options of `promptfoo eval` | |"
    yield "| --- | --- |"
    yield f"| {_list(same, in_order=True)} | the same |"
    others = [flag for flag in FLAGS if flag not in same]
    yield f"| {_list(others, in_order=True)} | not there |"


def deviations() -> Iterator[str]:
    """A row for each deviation."""
    yield "| subject | |"
    yield "| --- | --- |"
    for subject, sentence in DEVIATIONS.items():
        yield f"| {_cell(subject)} | {_cell(sentence)} |"


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    table.__name__: table
    for table in (assertions, negations, refused, keys, files, commands, options, deviations)
}


def with_tables(text: str) -> str:
    """The page with each table made anew."""

    def made(match: re.Match[str]) -> str:
        rows = "\n".join(TABLES[match[1]]())
        return f"<!-- table: {match[1]} -->\n{rows}\n<!-- end -->"

    return _BLOCK.sub(made, text)


def _types() -> Iterator[str]:
    """The types that run, in the order of their families."""
    for names in FAMILIES.values():
        yield from names.split()


def _list(words: object, *, in_order: bool = False) -> str:
    found = [str(word) for word in words]  # type: ignore[attr-defined]
    return ", ".join(f"`{word}`" for word in (found if in_order else sorted(found)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
