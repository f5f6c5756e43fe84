"""Filling in the templates of a provider's settings: what a front door has for it, or else plain names only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.core.json_shapes import is_mapping

Fill = Callable[[str, Mapping[str, Any]], str]
"""Fills a template in with these variables. May raise a TemplateError."""

_TAG = re.compile(r"\{\{\s*([\w.]+)\s*(?:\|\s*(dump|tojson)\s*)?\}\}")


def plainly_filled(template: str, variables: Mapping[str, Any]) -> str:
    """A template with `{{ name }}`, `{{ name.part }}` and `{{ name | dump }}` filled in; what is not there is empty."""
    if "{{" not in template:
        return template

    def value(match: re.Match[str]) -> str:
        item: object = variables
        for part in match[1].split("."):
            rows = item if is_mapping(item) else {}
            item = rows.get(part)
        if match[2] or isinstance(item, (Mapping, list)):
            return json.dumps(item, ensure_ascii=False)
        return "" if item is None else str(item)

    return _TAG.sub(value, template)
