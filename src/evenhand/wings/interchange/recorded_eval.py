"""Eval sets that ask a model what a log says was asked, and offline give it what the log says was answered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from evenhand.core.case import Case
from evenhand.core.record import Record
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import one_line, slug, unlike
from evenhand.doors.promptfoo.porting.literal import flat, laid, led, literal
from evenhand.languages.documents.foreign import Note, Notes, shown
from evenhand.providers.catalog import SCHEMES

APPLICATION, ASKING = "application", "asking"
INSTEAD = "openai:gpt-5-mini"
_VENDORS = frozenset(form.partition(":")[0] for form in SCHEMES)
_ELSEWHERE = {"together": "togetherai", "azureai": "azure"}
_CALLED = '''"""The application that was evaluated."""

from evenhand import Case


def answer(case: Case) -> str:
    """What your application answers to a case."""
    raise NotImplementedError("call your application here")
'''


class Check(Record, frozen=True):
    """An expectation, written out.

    Attributes:
        lines: What stands in the eval, without indentation.
        imports: The names that it takes, by module.
    """

    lines: Sequence[str]
    imports: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])


class RecordedEval(Record, frozen=True, kw_only=True):
    """An eval of another tool.

    Attributes:
        about: What it was, for the first line of the file.
        cases: With `messages` among their variables, if a model is asked.
        asks: A model is asked; otherwise an application.
        model: The model's id; empty if none is asked.
        repeats: How often each case is asked.
        replies: What was answered: the texts of a conversation, and the reply.
    """

    title: str
    about: str
    cases: Sequence[Case]
    checks: Sequence[Check]
    asks: bool
    model: str = ""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    repeats: int = 1
    replies: Sequence[tuple[Sequence[str], str]] = ()


def eval_file(one: RecordedEval, name: str) -> str:
    """The text of the file."""
    names: dict[str, set[str]] = {
        "evenhand": {"Case", "Dataset", "EvalSet", "Expect"} | ({"Model"} if one.asks else set()),
        ASKING if one.asks else APPLICATION: {"asked" if one.asks else "answer"},
    }
    for check in one.checks:
        for module, taken in check.imports.items():
            names.setdefault(module, set()).update(taken)
    ours = [module for module in sorted(names) if module.startswith("evenhand")]
    groups = [ours, sorted(names.keys() - set(ours))]
    imports = "\n\n".join(
        "\n".join(f"from {m} import {', '.join(sorted(names[m]))}" for m in group)
        for group in groups
    )
    model = f", model={flat(literal(one.model))}" if one.model else ""
    repeats = f", repeats={one.repeats}" if one.repeats > 1 else ""
    data = flat(literal(f"{name}.jsonl"))
    settings = f"\n{laid(led('SETTINGS = ', literal(dict(one.settings))))}\n" if one.asks else ""
    if one.asks:
        head = "async def answers(case: Case, model: Model, expect: Expect) -> str:"
        start = [
            'reply = await model.generate(asked(case.vars["messages"], SETTINGS))',
            "output = reply.text",
        ]
    else:
        head, start = "def answers(case: Case, expect: Expect) -> str:", ["output = answer(case)"]
    lines = [line for check in one.checks for line in check.lines] or [
        'expect(bool(output), "answers")'
    ]
    code = "".join(f"    {line}\n" for line in [*start, *lines, "return output"])
    return (
        f"{laid(literal(one.about))}\n\n{imports}\n\n"
        f"evals = EvalSet({flat(literal(one_line(one.title)))}, data=Dataset.read({data}){model}{repeats})\n"
        f"{settings}\n\n@evals.eval\n{head}\n{code}"
    )


def support(evals: Sequence[RecordedEval]) -> dict[str, str]:
    """The modules beside the eval sets that they import."""
    modules: dict[str, str] = {}
    if any(one.asks for one in evals):
        text = (Path(__file__).parent / f"{ASKING}.py.txt").read_text("utf-8")
        modules[f"{ASKING}.py"] = text
    if not all(one.asks for one in evals):
        modules[f"{APPLICATION}.py"] = _CALLED
    return modules


def script(evals: Sequence[RecordedEval]) -> list[Mapping[str, object]]:
    """The rules of an `offline.jsonl`: the longest conversations first, as one may hold another."""
    replies = [reply for one in evals for reply in one.replies]
    replies.sort(key=lambda reply: -sum(map(len, reply[0])))
    return [
        {"match": [re.escape(text) for text in texts if text.strip()], "reply": answer}
        for texts, answer in replies
    ]


def todo(evals: Sequence[RecordedEval], folder: Path) -> str:
    """What somebody has to do before they run; empty for nothing."""
    if all(one.asks for one in evals):
        return ""
    return f"call your application in {folder / f'{APPLICATION}.py'}"


def asked_model(name: str, where: str, notes: Notes) -> str:
    """The id of the model that an eval set asks: `INSTEAD`, with a note, for one that is not asked here."""
    model = model_id(name)
    if not model:
        text = f"{shown(name or 'unknown')} is not a model that is asked here: the eval set names {INSTEAD}; change it"
        notes.changed(where, text)
    return model or INSTEAD


def model_id(name: str) -> str:
    """A model as `vendor/model` names it, as an id here; empty for a vendor that is none of ours.

    >>> model_id("openai/gpt-5-mini"), model_id("mockllm/model")
    ('openai:gpt-5-mini', '')
    """
    vendor, _, rest = name.partition("/")
    known = _ELSEWHERE.get(vendor, vendor)
    return f"{known}:{rest}" if rest and known in _VENDORS else ""


def write_evals(
    evals: Mapping[str, RecordedEval],
    folder: Path,
    tool: str,
    *,
    scorers: Path,
    notes: Sequence[Note],
) -> MovedIn:
    """Writes an eval set for each eval.

    Args:
        evals: By the names of their tasks.
        folder: Where to write; it is made where it is not there.
        tool: As `--from` names it.
        scorers: A module, NAME.py.txt, with what the tool scores by. It is written beside them if one imports NAME.
        notes: What was translated, and what was not.

    Raises:
        UsageError: One of the files already exists, or cannot be written.
    """
    texts: dict[str, str] = {}
    names: set[str] = set()
    for task, one in evals.items():
        name = unlike(names, slug(task, "task")).replace(" ", "_")
        texts[f"evals/{name}_evals.py"] = eval_file(one, name)
        texts[f"evals/{name}.jsonl"] = lines([row_of(case) for case in one.cases])
    sets = [folder / name for name in texts if name.endswith(".py")]
    every = list(evals.values())
    texts |= support(every)
    module = scorers.name.removesuffix(".py.txt")
    if any(module in check.imports for one in every for check in one.checks):
        texts[f"{module}.py"] = scorers.read_text("utf-8")
    rules = script(every)
    if rules:
        texts["offline.jsonl"] = lines(rules)
    files = written({folder / name: text for name, text in texts.items()}, folder, tool)
    return MovedIn(files, sets, bool(rules), notes, todo(every, folder))
