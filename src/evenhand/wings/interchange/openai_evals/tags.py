"""The templates of OpenAI's Evals: which of their tags are filled in here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from evenhand.languages.documents.foreign import shown
from evenhand.languages.templates.plain import richer_tag

_TAG = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(
    r"item(?:\.[A-Za-z_][\w-]*)+|sample\.output_text|sample\.output_json(?:\.[A-Za-z_][\w-]*)*"
)
_SAMPLE = re.compile(r"\{\{\s*sample\.[\w.-]+\s*\}\}")
_LONE_OUTPUT = re.compile(r"\s*\{\{\s*sample\.output_text\s*\}\}\s*")


def problem_of(template: str) -> str:
    """Why a template cannot be filled in here; empty for one that can."""
    for match in _TAG.finditer(template):
        if not _NAME.fullmatch(match[1].strip()):
            return f"{shown(match[0])} is neither a field of the item nor the sample's output"
    richer = richer_tag(template)
    return f"{shown(template)} has a tag that is more than a name" if richer else ""


def is_output(template: str) -> bool:
    """Whether a template is the model's answer and nothing else."""
    return _LONE_OUTPUT.fullmatch(template) is not None


def pieces(template: str) -> list[str]:
    """What stands around the sample's output in a template."""
    return _SAMPLE.split(template)


def parts_of_output(template: str) -> list[str]:
    """The tags of the sample's output in a template, one by one."""
    return _SAMPLE.findall(template)


def sample_of(output: str) -> Mapping[str, object]:
    """What tags of the sample stand for. Its `output_json` is None where the output is not JSON."""
    try:
        parsed: object = json.loads(output)
    except (ValueError, RecursionError):
        parsed = None
    return {"output_text": output, "output_json": parsed}
