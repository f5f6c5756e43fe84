"""The environment that a config is read in: the process's, `.env` files, and what the config itself declares."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.secrets import redacted
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.documents.tree import read_text

_TAG = r"""\{\{\s*env(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])\s*\}\}"""
_EXPRESSION = r"\{\{(?:[^}]|\}(?!\}))*\}\}"
_QUOTED = r"""'[^']*'|"[^"]*\""""
_WORD = r"[A-Za-z_]\w*"
_ANY_TAG = r"(?s)\{[{%].*?[}%]\}"
_NAMED = r"""\benv(?:\.(\w+)|\[\s*['"](\w+)['"]\s*\])"""
_LINE = (
    r"""(?m)^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*(?:=[ \t]*|:[ \t]+)"""
    r"""('(?:\\'|[^'])*'|"(?:\\"|[^"])*"|`(?:\\`|[^`])*`|[^#\r\n]*)[ \t]*(?:\#[^\r\n]*)?$"""
)

_HOLDS_TESTS = frozenset({"tests", "scenarios", "defaultTest"})

WITHOUT_EFFECT = frozenset(
    {
        "PROMPTFOO_DISABLE_AJV_STRICT_MODE",
        "PROMPTFOO_DISABLE_JSON_AUTOESCAPE",
        "PROMPTFOO_DISABLE_OBJECT_STRINGIFY",
        "PROMPTFOO_DISABLE_TEMPLATE_ENV_VARS",
        "PROMPTFOO_DISABLE_TEMPLATING",
        "PROMPTFOO_REQUIRE_JSON_PROMPTS",
        "PROMPTFOO_SHORT_CIRCUIT_TEST_FAILURES",
    }
)
"""promptfoo's switches that would change prompts or verdicts, and have no effect here."""


def switched_on(env: Mapping[str, str], name: str, *, otherwise: bool = False) -> bool:
    """Whether a switch of promptfoo's is on: `PROMPTFOO_CSV_STRICT=false` is off, and so is what says nothing.

    Args:
        otherwise: What holds where it isn't set.
    """
    value = env.get(name)
    return value.lower() in ("1", "true", "yes", "yup", "yeppers") if value else otherwise


def env_file(path: Path, findings: Findings) -> dict[str, str]:
    r"""The variables that a `.env` file sets: `NAME=value` line by line, `#` for comments, quotes where needed.

    Only inside double quotes is `\n` a line break. Nothing in a value is looked up elsewhere.
    """
    text = read_text(path, findings)
    variables: dict[str, str] = {}
    for name, written in re.findall(_LINE, (text or "").replace("\r\n", "\n")):
        value = written.strip()
        quote = value[:1]
        if len(value) > 1 and quote in "'\"`" and value.endswith(quote):
            value = value[1:-1]
            if quote == '"':
                value = value.replace("\\n", "\n").replace("\\r", "\r")
        if "\0" in value:
            findings.problem(Place(path), f"the value of {name} has a NUL in it")
            continue
        variables[name] = value
    return variables


def read_env_files(names: Sequence[str], base: Path, findings: Findings) -> dict[str, str]:
    """The variables that these files set, later ones over earlier ones. Their values are told to nobody."""
    variables: dict[str, str] = {}
    for name in names:
        variables |= env_file(base / os.path.expanduser(name), findings)  # noqa: PTH111 (a name, not a path yet)
    return variables


def process_environment(names: Sequence[str], findings: Findings) -> Mapping[str, str]:
    """The process's environment, with the `.env` file of the folder one stands in under it and these files over it."""
    here = Path.cwd()
    beside = env_file(here / ".env", findings) if (here / ".env").is_file() else {}
    set_in_process({name: beside[name] for name in beside.keys() - os.environ.keys()})
    set_in_process(read_env_files(names, here, findings))
    return os.environ


def set_in_process(variables: Mapping[str, str]) -> None:
    """Sets variables also for code of the user's that runs in this process, which looks there."""
    os.environ.update(variables)


def declared(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """The variables that a config declares under `env`, as text."""
    table = value.get("env")
    if not isinstance(table, Mapping):
        return {}
    filled: Mapping[str, object] = env_filled(table, env)
    return {
        key: item
        if isinstance(item, str)
        else ("true" if item else "false")
        if isinstance(item, bool)
        else str(item)
        for key, item in filled.items()
        if item is not None
    }


def env_filled(
    value: object, env: Mapping[str, str], variables: Mapping[str, str] | None = None
) -> Any:
    """The value with `{{ env.NAME }}` filled in wherever NAME is set, and `{{ env.NAME | default("x") }}` always.

    Args:
        variables: What may be filled in below a key `vars`; None for the same as everywhere.
    """
    if isinstance(value, str):
        if "env" not in value or "{{" not in value:
            return value
        return re.sub(_EXPRESSION, lambda tag: _filled(tag[0], env), value)
    if is_object(value):
        inside = env if variables is None else variables
        return {
            k: env_filled(v, inside if k == "vars" else env, variables) for k, v in value.items()
        }
    if is_array(value):
        return [env_filled(v, env, variables) for v in value]
    return value


def config_filled(value: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """A config with its environment filled in: in the variables of tests, only what is not secret."""
    open_to_tests = not_secret(env)
    return {
        key: env_filled(part, env, open_to_tests if key in _HOLDS_TESTS else None)
        for key, part in value.items()
    }


def _filled(tag: str, env: Mapping[str, str]) -> str:
    """A tag that is made of variables of the environment, filled in; any other, and one without its variable, as it is.

    With a filter a variable may be absent, unless it looks like a secret: it may be there, and not be for this place.
    """
    plain = re.fullmatch(_TAG, tag)
    if plain:
        return env.get(plain[1] or plain[2], tag)
    # Quoted text is a value, whatever words it holds.
    first = re.search(_WORD, re.sub(_QUOTED, "", tag))
    names = [dotted or quoted for dotted, quoted in re.findall(_NAMED, tag)]
    absent = [name for name in names if name not in env]
    if not names or first is None or first[0] != "env":
        return tag
    if absent and (
        "|" not in tag or any(redacted({name: name}) != {name: name} for name in absent)
    ):
        return tag
    from evenhand.core.errors import TemplateError  # noqa: PLC0415 (imported on use)
    from evenhand.languages.templates.rendering import Templates  # noqa: PLC0415 (imported on use)

    try:
        return Templates().render(tag, {"env": {name: env[name] for name in names if name in env}})
    except TemplateError:
        return tag


def unset(text: str) -> list[str]:
    """The variables that tags of a text name and that are not set: those tags are there once it is filled in."""
    if "env" not in text:
        return []
    tags = [tag for tag in re.findall(_EXPRESSION, text) if re.match(r"\{\{\s*env\b", tag)]
    return [dotted or quoted for tag in tags for dotted, quoted in re.findall(_NAMED, tag)]


def how_to_set(name: str) -> str:
    """The remedy for a variable of the environment that is not set."""
    return f"Set {name}, in the environment or in a .env file."


def not_secret(env: Mapping[str, str]) -> Mapping[str, str]:
    """The environment as far as tests may name it: what they hold is sent to models, and stored."""
    return {k: v for k, v in env.items() if redacted({k: v}) == {k: v}}


def secret_named(text: str, env: Mapping[str, str]) -> str:
    """The first variable that a tag of this text names and that looks like a secret; empty for none."""
    if "env" not in text or "{" not in text:
        return ""
    for tag in re.findall(_ANY_TAG, text):
        for dotted, quoted in re.findall(_NAMED, tag):
            name = dotted or quoted
            variable = {name: env.get(name) or name}
            if redacted(variable) != variable:
                return name
    return ""
