"""What an eval was last run on: its rows, its prompt, its model and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import field

from evenhand.core.case import Case, case_id
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.doors.importers.naming import one_line
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.openai_evals.definition import (
    Definition,
    item_of,
    line_of,
    problem_of,
)
from evenhand.wings.interchange.openai_evals.export import Export
from evenhand.wings.interchange.openai_evals.runs import asked_id
from evenhand.wings.interchange.openai_evals.trials import compared_by

_SETTINGS = (
    "temperature",
    "top_p",
    "seed",
    "max_completion_tokens",
    "reasoning_effort",
    "response_format",
    "text",
    "tools",
)


class Source(Record, frozen=True, kw_only=True):
    """What an eval set is made of, beside its graders.

    Attributes:
        model: The id of the model to ask; empty where outputs are in the rows.
        reference: The field of the item that holds the messages, where they are not a template.
        run: The id of the run that all this is from; empty for none.
    """

    cases: Sequence[Case]
    model: str = ""
    messages: Messages = ()
    reference: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    run: str = ""


def source_of(definition: Definition, export: Export) -> Source | None:
    """What the eval was last run on; None, with a note, where that cannot be told.

    A run that asked a model counts before one that did not, and the newest of those.
    """
    notes = export.notes
    runs = [one for one in export.runs.values() if one.value.get("eval_id") == definition.id]
    runs.sort(key=_age)
    chosen = runs[0] if runs else None
    data = chosen.part("data_source") if chosen else None
    cases = _cases(definition, data, export)
    if not cases:
        text = "no rows: neither a run with its data, nor output items, nor a data file is there"
        notes.left_out(definition.part.where, text)
        return None
    if chosen is None or data is None:
        return Source(cases=cases)
    if len(runs) > 1:
        text = (
            f"the eval has {len(runs)} runs: prompt, model and rows are those of {_named(chosen)}"
        )
        notes.changed(definition.part.where, text)
    if data.text("type") == "jsonl":
        return Source(cases=cases, run=chosen.text("id"))
    return _asking(chosen, data, cases, notes)


def _asking(run: Part, data: Part, cases: Sequence[Case], notes: Notes) -> Source | None:
    name = data.text("model") or run.text("model")
    template = data.part("input_messages")
    if not name or template is None:
        notes.left_out(data.where, f"{_named(run)} does not say what it asked of which model")
        return None
    model = asked_id(data, one_line(name))
    settings = _settings(data.part("sampling_params"), responses=data.text("type") == "responses")
    if reference := template.text("item_reference"):
        if not reference.startswith("item.") or "." in reference[5:]:
            notes.left_out(template.where, f"{shown(reference)} is not a field of the item")
            return None
        return Source(
            cases=cases,
            model=model,
            reference=reference[5:],
            settings=settings,
            run=run.text("id"),
        )
    messages, problem = messages_in(template, "template")
    if problem:
        notes.left_out(template.where, f"the prompt cannot be written as text: {problem}")
        return None
    notes.translated(template.where, f"the prompt, {count(len(messages), 'message')} to {model}")
    return Source(
        cases=cases,
        model=model,
        messages=messages,
        settings=settings,
        run=run.text("id"),
    )


def _settings(params: Part | None, *, responses: bool) -> dict[str, object]:
    """The sampling parameters, under the names that our providers have for them."""
    settings: dict[str, object] = {"omitDefaults": True}
    if params is None:
        return settings
    for key, value in params.without().items():
        if key not in _SETTINGS:
            params.notes.left_out(f"{params.where}.{key}", "is not a setting that is known here")
        elif key == "max_completion_tokens" and responses:
            settings["max_output_tokens"] = value
        else:
            settings[key] = value
    return settings


def _cases(definition: Definition, data: Part | None, export: Export) -> list[Case]:
    """The rows of the run, of its data file, or of the output items; each once."""
    rows, where = _rows(data, export)
    if not rows:
        runs = {
            run
            for run, by_id in export.items.items()
            for item in by_id.values()
            if item.value.get("eval_id") == definition.id
        }
        items = [one for run in sorted(runs) for one in export.items[run].values()]
        rows = [as_mapping(one.value.get("datasource_item")) for one in items]
        where = items[0].where if items else ""
        if rows:
            export.notes.changed(
                where, "the rows are those of the output items: no data file is there"
            )
    expected = compared_by(definition).expected
    cases: dict[str, Case] = {}
    for row in rows:
        item = item_of(row)
        sample = row.get("sample")
        metadata = {"sample": sample} if isinstance(sample, dict) and item is not row else {}
        if item:
            one = Case(
                case_id(item),
                item,
                expected=item.get(expected),
                description=line_of(item),
                metadata=metadata,
            )
            cases.setdefault(one.id, one)
    if twice := sum(1 for row in rows if item_of(row)) - len(cases):
        export.notes.changed(where, f"rows that say the same as another are left out: {twice:,}")
    if cases:
        export.notes.translated(where, f"the dataset, {count(len(cases), 'row')}")
    return list(cases.values())


def _rows(data: Part | None, export: Export) -> tuple[list[Mapping[str, object]], str]:
    source = data.part("source") if data else None
    if source is None:
        return [], ""
    if source.value.get("content"):
        return [one.value for one in source.parts("content")], f"{source.where}.content"
    rows = export.rows.get(source.text("id"), [])
    return [one.value for one in rows], rows[0].where if rows else ""


def _named(run: Part) -> str:
    return f"run {shown(run.text('name') or run.text('id'))}"


def _age(run: Part) -> tuple[bool, float, str]:
    data = run.value.get("data_source")
    asks = isinstance(data, dict) and "input_messages" in data
    created = run.value.get("created_at")
    return (not asks, -float(created) if isinstance(created, int) else 0.0, run.where)


Messages = Sequence[tuple[str, str]]
_TEXTS = ("input_text", "output_text", "text")


def messages_in(part: Part, key: str) -> tuple[Messages, str]:
    """The messages under a key, and why they cannot be written as text; empty for no reason."""
    messages: list[tuple[str, str]] = []
    for one in part.parts(key):
        role, (text, problem) = one.text("role") or "user", _text(one.value.get("content"))
        problem = problem or problem_of(text)
        if problem:
            return [], f"{one.where}: {problem}"
        messages.append((role, text))
    return messages, "" if messages else f"{part.where}.{key}: there are no messages"


def _text(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    blocks = content if is_array(content) else [content]
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, str):
            texts.append(block)
            continue
        fields = as_mapping(block)
        text = fields.get("text")
        if fields.get("type") not in _TEXTS or not isinstance(text, str):
            return "", f"its content has {shown(fields.get('type') or block)}, which is not text"
        texts.append(text)
    return "\n".join(texts), ""
