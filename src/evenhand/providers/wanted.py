"""A provider that is asked for: its id, taken apart, and what comes with it; and how its templates are filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.record import Record

Fill = Callable[[str, Mapping[str, Any]], str]
"""Fills a template in with these variables. May raise a TemplateError."""

_TAG = r"\{\{\s*([\w.]+)\s*(?:\|\s*(dump|tojson)\s*)?\}\}"


def plainly_filled(template: str, variables: Mapping[str, Any]) -> str:
    """A template with `{{ name }}`, `{{ name.part }}` and `{{ name | dump }}` filled in; what is not there is empty."""
    if "{{" not in template:
        return template

    def value(match: re.Match[str]) -> str:
        item: object = variables
        for part in match[1].split("."):
            rows = as_mapping(item)
            item = rows.get(part)
        if match[2] or isinstance(item, (Mapping, list)):
            return json.dumps(item, ensure_ascii=False)
        return "" if item is None else str(item)

    return re.sub(_TAG, value, template)


class Wanted(Record, frozen=True):
    """What somebody wrote who wants a provider.

    Attributes:
        id: All of the id, e.g. `openai:chat:gpt-5-mini`, without secrets.
        kind: Its first word, `openai`.
        rest: What follows that, `chat:gpt-5-mini`.
        env: The environment: keys and addresses.
        base: The folder that relative paths start from.
        fill: Fills in the templates of its settings.
    """

    id: str
    kind: str
    rest: str
    label: str
    config: Mapping[str, Any]
    env: Mapping[str, str]
    base: Path
    fill: Fill

    def setting(self, name: str, *variables: str) -> str:
        """A setting of the config, else the first of these environment variables that is set; empty for none."""
        value = self.config.get(name)
        if value:
            return str(value)
        return next((self.env[v] for v in variables if self.env.get(v)), "")

    def refused(self, why: str, hint: str = "") -> UsageError:
        """What to say of it where it cannot be had."""
        return UsageError(f"provider '{self.id}' {why}", hint=hint)
