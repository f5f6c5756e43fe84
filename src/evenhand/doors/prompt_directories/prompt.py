"""One prompt's folder, read: its metadata, template and aliases. All that is wrong is noted, with file and line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import field

from evenhand.core.json_schema import ANY, TEXT, TEXTS, Part, either
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_number
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.table import Form, TableKey, TableReader, flag, own, schema_of
from evenhand.doors.prompt_directories.hooks import LIMIT_S
from evenhand.doors.prompt_directories.library import (
    ALIASES,
    EXAMPLES,
    GUARD,
    INPUTS,
    META,
    TEMPLATE,
    VERIFY,
    Library,
    is_id,
    leads_out,
)
from evenhand.languages.documents.findings import At, Findings, Place
from evenhand.languages.documents.tree import Document, read_document, read_text
from evenhand.languages.templates.plain import as_text

Status = Literal["draft", "tested", "ready"]
STATUSES: tuple[Status, ...] = ("draft", "tested", "ready")
REQUIRED = ("id", "title", "summary", "status", "version", "created", "updated")
LEADS_OUT = "is a link that leads out of its folder"
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_TAGS = own(either(TEXT, TEXTS))
_DAY = own({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d([T ].*)?$"})
_VERSION = own(either(TEXT, {"type": "number"}))
_HOOKS = own({"type": "object", "properties": {"timeout_s": {"type": "number"}}})
_INPUT: Part = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The variable's name."},
        "required": {"type": "boolean", "description": "Whether it needs a value."},
        "default": {"description": "Its value where nobody gives one."},
    },
    "required": ["name"],
}
_INPUTS = own({"type": "array", "items": either(TEXT, _INPUT)})
_YES_OR_NO = replace(flag("It wants true or false."), never_empty=True)


def _no_text(name: str, value: object) -> str:
    return f"{name} is {value!r}, not a text" if isinstance(value, (list, Mapping)) else ""


_WORDS = Form(schema=TEXT, problem=_no_text, value=str)


def _from_0(schema: Part, *kinds: type) -> Form:
    def problem(name: str, value: Any) -> str:
        # By type: `isinstance` takes true and false for numbers.
        return "" if type(value) in kinds and value >= 0 else f"{name} is {value!r}"

    hint = "It wants a number from 0 on."
    return Form(schema=schema, problem=problem, hint=hint, never_empty=True)


_COUNT = _from_0({"type": "integer", "minimum": 0}, int)
_RATE = _from_0({"type": "number", "minimum": 0, "maximum": 1}, int, float)


class Input(Record, frozen=True):
    """A variable that a prompt declares. Without a value and a default, a required one is missing."""

    name: str
    required: bool = True
    default: Any = None
    line: int = 0


class Promotion(Record, frozen=True, kw_only=True):
    """What a prompt asks for before it is promoted, over the ordinary.

    Attributes:
        min_uses: Successful sends; None for 3 from draft to tested, and 10 from tested to ready.
        max_reruns: How many full evals of the same content that were not green may come before the green one; None for
            any number, which is told.
    """

    min_uses: Annotated[
        int | None, TableKey("Uses that it takes, instead of 3 and 10.", _COUNT)
    ] = None
    require_eval: Annotated[bool, TableKey("Whether it takes an eval.", _YES_OR_NO)] = True
    require_verified: Annotated[bool, TableKey("Whether uses must be verified.", _YES_OR_NO)] = True
    require_runs: Annotated[bool, TableKey("Whether runs must be on this machine.", _YES_OR_NO)] = (
        True
    )
    min_n: Annotated[int, TableKey("Trials that the eval must have.", _COUNT)] = 0
    at_least: Annotated[
        float, TableKey("What the lower end of the eval's 95 % interval must reach.", _RATE)
    ] = 0.0
    max_reruns: Annotated[
        int | None, TableKey("Full runs of the same content that may have failed before.", _COUNT)
    ] = None
    addresses: Annotated[
        tuple[str, ...], TableKey("Servers that count beside the vendor's own.", own(TEXTS))
    ] = ()


class Meta(Record, frozen=True, kw_only=True):
    """What meta.yml says. A field that is missing, or of the wrong kind, is empty here and a problem there."""

    id: Annotated[str, TableKey("The name of its folder.", own(TEXT))] = ""
    title: Annotated[str, TableKey("Its title.", _WORDS)] = ""
    summary: Annotated[str, TableKey("What it does, in a line.", _WORDS)] = ""
    status: Annotated[
        Status, TableKey("How far it is; `promote` changes it.", own({"enum": list(STATUSES)}))
    ] = "draft"
    version: Annotated[str, TableKey("Its version.", _VERSION)] = ""
    created: Annotated[str, TableKey("The day when it was written: 2026-11-23.", _DAY)] = ""
    updated: Annotated[str, TableKey("The day of its last change.", _DAY)] = ""
    tags: Annotated[tuple[str, ...], TableKey("To find it by.", _TAGS)] = ()
    model: Annotated[str, TableKey("The model that it is sent to.", _WORDS)] = ""
    inputs: Annotated[tuple[Input, ...], TableKey("Its variables.", _INPUTS)] = ()
    description: Annotated[str, TableKey("What it is for, and when to use it.", _WORDS)] = ""
    triggers: Annotated[tuple[str, ...], TableKey("What people say who want it.", _TAGS)] = ()
    not_for: Annotated[tuple[str, ...], TableKey("What it is not for.", _TAGS)] = ()
    notes: Annotated[str, TableKey("For you.", own(ANY))] = ""
    promotion: Annotated[
        Promotion, TableKey("The requirements for a promotion.", own(schema_of(Promotion)))
    ] = field(default_factory=Promotion)
    hook_limit_s: Annotated[
        float, TableKey("timeout_s: the seconds that a hook may take.", _HOOKS, "hooks")
    ] = LIMIT_S


class PromptFolder(Record, frozen=True, kw_only=True):
    """One prompt.

    Attributes:
        template: What prompt.xml says; empty where there is none.
        document: Meta.yml with the places of its parts; None where it cannot be read.
    """

    library: Library
    id: str
    path: Path
    meta: Meta
    template: str
    document: Document | None

    @property
    def defaults(self) -> dict[str, object]:
        """The values of inputs that may be left out."""
        return {
            i.name: i.default for i in self.meta.inputs if i.default is not None or not i.required
        }

    def at(self, *path: str | int) -> Place:
        """Where a part of meta.yml is written."""
        return self.document.at(*path) if self.document else Place(self.path / META)

    def aliases(self, findings: Findings) -> list[tuple[str, int]]:
        """The prompt's shell verbs, each with its line."""
        path = self.path / ALIASES
        ours = path.is_file() and not leads_out(path, self.path)
        text = read_text(path, findings) if ours else None
        lines = enumerate((text or "").splitlines(), 1)
        return [(line.strip(), n) for n, line in lines if line.strip() and line.strip()[0] != "#"]

    def examples(self) -> list[str]:
        """The names of its examples."""
        return sorted(path.parent.name for path in self.path.glob(f"{EXAMPLES}/*/{INPUTS}"))

    def example(self, name: str, findings: Findings) -> dict[str, object]:
        """The inputs of an example."""
        path = self.path / EXAMPLES / name / INPUTS
        if not is_id(name) or not path.is_file():
            near = did_you_mean(name, self.examples())
            findings.problem(Place(path), f"there is no example '{name}'", near)
            return {}
        return read_inputs(path, findings) if _inside(path, self.path, findings) else {}


def read_prompt(library: Library, id: str, findings: Findings) -> PromptFolder:
    """One prompt's folder. What is wrong with it goes to the findings; what is left can still be looked at."""
    path = library.prompts / id
    place = Place(path)
    if not is_id(id):
        findings.problem(
            place,
            f"{id!r} cannot be an id",
            "Use letters, digits, '.', '_' and '-', a letter first.",
        )
    if not _inside(path, library.prompts, findings):
        return PromptFolder(
            library=library, id=id, path=path, meta=Meta(), template="", document=None
        )
    for name in (GUARD, VERIFY, ALIASES, EXAMPLES):
        _inside(path / name, path, findings)
    document = None
    if _readable(path / META, path, findings, "prompt not found: it has no meta.yml"):
        document = read_document(path / META, findings)
    template = ""
    if _readable(path / TEMPLATE, path, findings, "missing prompt.xml"):
        template = read_text(path / TEMPLATE, findings) or ""
        if not template.strip():
            findings.problem(Place(path / TEMPLATE), "is empty", "Write the prompt into it.")
    meta = _meta(id, document, findings) if document else Meta()
    return PromptFolder(
        library=library, id=id, path=path, meta=meta, template=template, document=document
    )


def read_inputs(path: Path, findings: Findings) -> dict[str, object]:
    """The values in an inputs.yml, one that may be read."""
    document = read_document(path, findings)
    if document is None or document.value is None:
        return {}
    if not is_mapping(document.value):
        findings.problem(
            document.at(),
            f"inputs are {document.value!r}, not names with values",
            "Write name: value.",
        )
        return {}
    return dict(document.value)


def _readable(path: Path, folder: Path, findings: Findings, missing: str) -> bool:
    if not path.is_file():
        findings.problem(Place(path), missing)
        return False
    return _inside(path, folder, findings)


def _inside(path: Path, folder: Path, findings: Findings) -> bool:
    """Whether a path is in this folder, its links followed; a problem where it is not."""
    # Most files lie right in the folder and are no links: for these, no path has to be resolved.
    may_lead_out = path.parent != folder or path.is_symlink()
    if may_lead_out and leads_out(path, folder):
        findings.problem(Place(path), LEADS_OUT, "Copy it here.")
        return False
    return True


_PLAIN_TEXTS = ("id", "version", "created", "updated", "notes")
_LISTS_OF_TEXTS = ("tags", "triggers", "not_for")


def _meta(id: str, document: Document, findings: Findings) -> Meta:
    if not is_mapping(document.value):
        findings.problem(
            document.at(), "is not a list of names with values", "Write id: …, title: …"
        )
        return Meta()
    fields = document.value
    for name in REQUIRED:
        if fields.get(name) is None or not str(fields[name]).strip():
            findings.problem(document.at(name), f"'{name}' is missing", f"Write {name}: …")
    status = str(fields.get("status") or "draft")
    if status not in STATUSES:
        hint = did_you_mean(status, STATUSES) or f"It is one of {', '.join(STATUSES)}."
        findings.problem(document.at("status"), f"status is {status!r}", hint)
    if fields.get("id") is not None and str(fields["id"]) != id:
        what = f"id is {str(fields['id'])!r}, and the folder is called {id!r}"
        findings.problem(document.at("id"), what, "Rename one of them.")
    for name in ("created", "updated"):
        if fields.get(name) is not None and not _DATE.fullmatch(str(fields[name])):
            findings.hint(
                document.at(name), f"{name} is {fields[name]!r}, not a date", "Write 2025-12-31."
            )

    texts: dict[str, Any] = {name: str(fields.get(name) or "") for name in _PLAIN_TEXTS}
    texts |= {name: _texts(fields, name, document, findings) for name in _LISTS_OF_TEXTS}
    return _tables(document.at, findings).read(
        Meta,
        fields,
        status=status if status in STATUSES else "draft",
        inputs=_inputs(fields, document, findings),
        **texts,
        promotion=_promotion(fields.get("promotion"), document, findings),
        hook_limit_s=_hook_limit_s(fields.get("hooks"), document, findings),
    )


def _tables(at: At, findings: Findings, of: str = " is not used") -> TableReader:
    """Reads tables of meta.yml. `of`: what is said of a key that is not known."""
    return TableReader(
        lambda path, what, hint: findings.problem(at(*path), what, hint),
        lambda path, known: findings.unknown([str(path[0])], known, at(*path), of),
    )


def _hook_limit_s(hooks: object, document: Document, findings: Findings) -> float:
    """The seconds that a hook may take: `hooks: {timeout_s: 60}`."""
    if hooks is None:
        return LIMIT_S
    fields = as_mapping(hooks)
    limit = fields.get("timeout_s")
    if not is_number(limit) or limit <= 0:
        what, hint = f"hooks is {hooks!r}", "Write hooks: {timeout_s: 60}."
        findings.problem(document.at("hooks"), what, hint)
        return LIMIT_S
    return limit


def _texts(
    fields: Mapping[str, Any], name: str, document: Document, findings: Findings, *around: str
) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    if not is_array(value):
        place = document.at(*around, name)
        findings.problem(place, f"{name} is {value!r}, not a list", f"{name}: [one, two]")
        return ()
    texts: list[str] = []
    for i, item in enumerate(value):
        if isinstance(item, str) and item.strip():
            texts.append(item)
        # YAML reads a tag such as 2025 as a number.
        elif name == "tags" and isinstance(item, (int, float)):
            texts.append(str(item))
        else:
            place = document.at(*around, name, i)
            findings.problem(place, f"an item of {name} is {item!r}, not a text")
    return tuple(texts)


def _inputs(meta: Mapping[str, Any], document: Document, findings: Findings) -> tuple[Input, ...]:
    declared = meta.get("inputs")
    if declared is None:
        return ()
    if not is_array(declared):
        hint = "Write - {name: file, required: true} for each."
        findings.problem(document.at("inputs"), f"inputs are {declared!r}, not a list", hint)
        return ()
    inputs: dict[str, Input] = {}
    for i, item in enumerate(declared):
        place = document.at("inputs", i)
        fields = {"name": item} if isinstance(item, str) else item
        if not is_mapping(fields) or not isinstance(fields.get("name"), str):
            findings.problem(
                place,
                f"an input is {item!r}, and has no name",
                "Write - {name: file, required: true}.",
            )
            continue
        required = fields.get("required", "default" not in fields)
        if not isinstance(required, bool):
            findings.problem(place, f"required is {required!r}, neither true nor false")
        name = fields["name"]
        if name in inputs:
            findings.problem(place, f"the input '{name}' is declared twice")
        inputs[name] = Input(name, bool(required), fields.get("default"), place.resolved().line)
    return tuple(inputs.values())


def _promotion(table: object, document: Document, findings: Findings) -> Promotion:
    if table is None:
        return Promotion()
    if not is_mapping(table):
        findings.problem(
            document.at("promotion"), f"promotion is {table!r}", "Write promotion: {min_uses: 5}."
        )
        return Promotion()

    addresses = _texts(table, "addresses", document, findings, "promotion")
    tables = _tables(partial(document.at, "promotion"), findings, " of promotion is not used")
    promotion = tables.read(Promotion, table, addresses=addresses)
    if promotion.at_least <= 1:
        return promotion
    what = f"at_least is {promotion.at_least!r}, and a rate is at most 1"
    findings.problem(document.at("promotion", "at_least"), what)
    return replace(promotion, at_least=0.0)


NOTHING = "none"
SOURCES = "Give it: with --var NAME=VALUE, in the inputs of a case (--case NAME), or from guard.sh."
"""Where a prompt's values come from, as a hint."""


def merged(*layers: Mapping[str, object]) -> dict[str, object]:
    """One mapping of several, the later ones over the earlier."""
    values: dict[str, object] = {}
    for layer in layers:
        values.update(layer)
    return values


def vars_hash(values: Mapping[str, object]) -> str:
    """The first 12 hex digits of the SHA-256 of the sorted lines KEY=VALUE; `none` for no values."""
    if not values:
        return NOTHING
    lines = "".join(f"{name}={as_text(values[name])}\n" for name in sorted(values))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def text_hash(text: str) -> str:
    """The first 12 hex digits of the SHA-256 of a text without white space and case: they make no other use of it."""
    plain = "".join(text.casefold().split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:12]
