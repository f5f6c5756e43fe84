"""What an eval of OpenAI's says: its graders, where its rows come from, and which tags of templates are filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from evenhand.core.json_shapes import is_number, is_object
from evenhand.core.record import Record
from evenhand.doors.importers.naming import one_line, unlike
from evenhand.languages.documents.foreign import Part, shown
from evenhand.languages.templates.plain import richer_tag

_SUFFIX = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_REFERENCE = re.compile(r"\{\{\s*item\.([A-Za-z_]\w*)\s*\}\}")


class Criterion(Record, frozen=True):
    """A grader of an eval.

    Attributes:
        name: What people call it: unlike that of any other grader of the eval.
        type: What the file says, such as "string_check".
    """

    name: str
    type: str
    part: Part

    @property
    def threshold(self) -> float | None:
        """The score from which on it passes; None where the type has none, or none is set."""
        return self.part.number("pass_threshold")


class Definition(Record, frozen=True):
    """An eval."""

    id: str
    name: str
    criteria: Sequence[Criterion]
    part: Part

    def criterion(self, result: str) -> Criterion | None:
        """The grader that a result names, by id or name; None for one that the eval does not have."""
        for one in self.criteria:
            if result in (one.part.value.get("id"), one.name, one.part.value.get("name")):
                return one
        plain = plain_name(result)
        return next((one for one in self.criteria if one.name == plain), None)


def definition_of(id_: str, part: Part) -> Definition:
    """The definition in an `eval` object."""
    criteria: list[Criterion] = []
    taken: set[str] = set()
    for number, one in enumerate(part.parts("testing_criteria"), 1):
        type_ = one.text("type")
        name = unlike(taken, plain_name(one.text("name")) or f"{type_ or 'grader'} {number}")
        criteria.append(Criterion(name, type_, one))
    return Definition(id_, one_line(part.text("name")) or id_, criteria, part)


def plain_name(name: str) -> str:
    """A grader's name without the UUID that OpenAI appends in results, on one line.

    >>> plain_name("String check-a2486074-d803-4445-b431-ad2262e85d47")
    'String check'
    """
    return _SUFFIX.sub("", one_line(name))


def item_of(value: Mapping[str, object]) -> Mapping[str, object]:
    """The row of a data source, without the `item` that some files wrap it in."""
    inner = value.get("item")
    if is_object(inner) and value.keys() <= {"item", "sample"}:
        return inner
    return value


def line_of(item: Mapping[str, object]) -> str:
    """A line that tells a row from others: its first short text or number."""
    for value in item.values():
        if isinstance(value, str) and value.strip():
            text = one_line(value)
            return text if len(text) <= 60 else f"{text[:59]}…"
        if is_number(value):
            return str(value)[:60]
    return ""


def field_named(templates: Iterable[str]) -> str:
    """The one field of the item that these templates are, each a lone `{{ item.x }}`; empty for none or several."""
    names = {match[1] for one in templates if (match := _REFERENCE.fullmatch(one.strip()))}
    return names.pop() if len(names) == 1 else ""


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
