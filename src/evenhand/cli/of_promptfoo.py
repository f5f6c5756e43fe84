"""Commands and options of promptfoo's that are called otherwise here, or aren't there: what to do instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CALLED: Mapping[str, str] = {
    "eval": "run",
    "evaluate": "run",
    "validate": "check",
    "list": "show --list",
    "debug": "doctor",
    "help": "--help",
    "share": "push",
    "optimize": "run, with the prompts to compare; then evenhand compare",
    "logs": "show --verbose",
}
"""Commands with a counterpart: what it is called here."""

MISSING: Mapping[str, str] = {
    "redteam": "Red teaming isn't run here; the evaluation of a red-team config is: evenhand run.",
    "generate": "Cases are made by `evenhand dataset generate`, assertions by hand.",
    "auth": "There is no account to log in to: runs stay on this machine.",
    "config": "There is no account to set up; project-wide settings stand in pyproject.toml.",
    "feedback": "Nothing is sent to anybody.",
    "code-scans": "Code isn't scanned here.",
    "scan-model": "Models' files aren't scanned here.",
}
"""Commands without one."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "--share": "Nothing is uploaded; `evenhand push` copies runs to a folder, a bucket or a database.",
        "--remote": "Nothing is asked but the models that the config names.",
        "--suggest-prompts": "Write the prompts to compare into the config.",
        "--table-cell-max-length": "The table has the width of the terminal; --no-table leaves it out.",
        "--watch": "`evenhand watch` runs again what a saved file changed.",
        "-w": "`evenhand watch` runs again what a saved file changed.",
    },
    "view": {
        "-p": "It is called --port.",
        "-y": "The browser is opened without a question.",
        "--yes": "The browser is opened without a question.",
        "-n": "--no-browser leaves the browser alone.",
        "--no": "--no-browser leaves the browser alone.",
        "--filter-description": "The list of runs in the viewer has a search.",
        "--env-file": "The viewer asks no model.",
    },
    "export": {
        "-o": "It is called --to.",
        "--output": "It is called --to.",
        "--include-media": "Outputs are exported whole.",
    },
    "init": {"--no-interactive": "Nothing is asked.", "--example": "`evenhand init` has one."},
    "import": {
        "--new-id": "The same results are imported once.",
        "--force": "The same results are imported once; `evenhand delete` deletes a run.",
    },
    "retry": {
        "-c": "A run knows the config that it was made of.",
        "--config": "A run knows the config that it was made of.",
        "--share": "Nothing is uploaded; `evenhand push` copies runs.",
        "--no-share": "Nothing is uploaded.",
        "--delay": "A run knows its delay.",
    },
}
"""By our command: options of promptfoo's counterpart that it doesn't have."""

_OF_RUNS = frozenset({"show", "export", "delete"})


def command_hint(name: str) -> str:
    """What to use in place of one of promptfoo's commands; empty for a word that is none."""
    if name in CALLED:
        return f"promptfoo's '{name}' is evenhand {CALLED[name]}."
    return MISSING.get(name, "")


def words_hint(words: Sequence[str]) -> str:
    """What to write in place of `export eval ID`; empty for other command lines."""
    if len(words) < 3 or words[0] not in _OF_RUNS or words[1] != "eval":
        return ""
    name = words[2]
    if name.startswith("-") or name.isdigit():
        return ""
    return f"promptfoo's '{words[0]} eval {name}' is evenhand {words[0]} {name}."


def option_hint(command: str, option: str) -> str:
    """What to do in place of one of promptfoo's options; empty for one that isn't."""
    return OPTIONS.get(command, {}).get(option, "")
