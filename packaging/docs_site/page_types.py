"""The TypeScript types of what the viewer's page is sent, made from the records that are sent.

`python packaging/docs_site/page_types.py` writes `page/src/data/shapes.generated.ts`. What the page adds to a shape
itself, as the functions that fetch more of it, stands in `page/src/data/source.ts`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct, UnsetType

from evenhand.analysis.history.run_changes import RunChange
from evenhand.analysis.trust.beside_people import JudgedVerdict
from evenhand.core.run import RunStatus, Totals, TrialError, VerdictWord
from evenhand.core.score import State
from evenhand.render.trial_document import RunStep
from evenhand.store.counted import ModelUsage
from evenhand.store.labels.draw import PairAnswer
from evenhand.store.labels.label import Label
from evenhand.wings.viewer import (
    blind_verdicts,
    cell,
    head,
    history,
    over_runs,
    saved,
    search_all_runs,
    shapes,
)

FILE = Path(__file__).resolve().parents[2] / "page" / "src" / "data" / "shapes.generated.ts"
_HEAD = "/** What the page is sent. `just formats` makes this file from records in src/evenhand: do not edit it. */\n"
WORDS: Mapping[str, Any] = {
    "State": State,
    "Verdict": VerdictWord,
    "RunStatus": RunStatus,
    "PairAnswer": PairAnswer,
}
"""Words that have a name on the page."""
RECORDS: Mapping[str, type[Struct]] = {
    "Interval": shapes.Interval,
    "MeanShape": shapes.MeanShape,
    "RateInterval": shapes.RateShape,
    "Totals": Totals,
    "RunSummary": shapes.RunSummary,
    "RunChange": RunChange,
    "Variant": shapes.ColumnShape,
    "Usage": ModelUsage,
    "JudgedRate": shapes.JudgedShape,
    "Place": shapes.PlaceShape,
    "Standings": shapes.StandingsShape,
    "Review": shapes.ReviewShape,
    "Head": shapes.Head,
    "Notes": shapes.Notes,
    "Row": shapes.CaseRow,
    "Block": shapes.Block,
    "Preview": shapes.Preview,
    "Outcome": cell.CellOutcome,
    "SentCall": shapes.Call,
    "Step": cell.DrawnStep,
    "WholeStep": RunStep,
    "StepSum": cell.StepSum,
    "SentSteps": cell.StepPage,
    "TrialError": TrialError,
    "JudgedCalls": cell.JudgedCalls,
    "SentCell": cell.Cell,
    "Label": Label,
    "JudgedVerdict": JudgedVerdict,
    "SentLabels": head.LabelsShape,
    "ComparedWords": shapes.ComparedWords,
    "Compared": shapes.ComparedRow,
    "Question": shapes.Question,
    "EditedPrompt": shapes.EditedPrompt,
    "Comparison": shapes.ComparisonShape,
    "RequirementWords": shapes.RequirementWords,
    "Requirement": shapes.RequirementRow,
    "ColumnRate": shapes.ColumnRate,
    "TagRates": shapes.TagRows,
    "LabelRow": shapes.LabelRow,
    "Confusion": shapes.ConfusionMatrix,
    "Summary": shapes.SummaryShape,
    "MeasuredColumn": history.MeasuredColumn,
    "CanaryPoint": history.CanaryPoint,
    "DrawnItem": blind_verdicts.DrawnShape,
    "Draw": blind_verdicts.DrawShape,
    "ReviewedItem": blind_verdicts.ReviewedShape,
    "ReviewDraw": blind_verdicts.ReviewDrawShape,
    "DrawnPair": blind_verdicts.DrawnPairShape,
    "PairDraw": blind_verdicts.PairDrawShape,
    "Hit": search_all_runs.Hit,
    "SearchPiece": search_all_runs.SearchPiece,
    "SavedView": saved.SavedView,
    "CaseLine": over_runs.CaseLine,
    "CasePage": over_runs.CasePage,
    "PromptVersion": over_runs.PromptVersion,
    "PromptHistory": over_runs.PromptHistory,
    "PromptPage": over_runs.PromptPage,
    "AskModel": shapes.AskModel,
    "AskOffer": shapes.AskShape,
    "EstimatedCalls": shapes.EstimatedCalls,
    "AskEstimate": shapes.AskEstimate,
}
"""What each record is called on the page."""
_NAMES = {record: name for name, record in RECORDS.items()}
_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
    object: "unknown",
}


def type_of(shape: Any) -> str:
    """A type of Python's in TypeScript."""
    origin, args = typing.get_origin(shape), typing.get_args(shape)
    if origin is Annotated:
        return type_of(args[0])
    if shape in _PLAIN:
        return _PLAIN[shape]
    if shape in _NAMES:
        return _NAMES[shape]
    if origin is Literal:
        known = [name for name, words in WORDS.items() if words == shape]
        return known[0] if known else _words(shape)
    if origin in (typing.Union, types.UnionType):
        parts = [type_of(one) for one in args if one is not UnsetType]
        # Python tells 1 from 1.0, TypeScript doesn't; null comes last.
        return " | ".join(sorted(dict.fromkeys(parts), key=lambda part: part == "null"))
    if origin is tuple and ... not in args:
        return f"readonly [{', '.join(map(type_of, args))}]"
    if origin in (list, tuple, Sequence):
        item = type_of(args[0])
        return f"readonly ({item})[]" if " " in item else f"readonly {item}[]"
    if origin in (dict, Mapping):
        return f"Readonly<Record<{type_of(args[0])}, {type_of(args[1])}>>"
    raise TypeError(f"{shape} has no form in TypeScript: send another, or add it here")


def _words(shape: Any) -> str:
    return " | ".join(f'"{word}"' for word in typing.get_args(shape))


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {text} */\n" if text else ""


def _field(field: msgspec.structs.FieldInfo) -> str:
    shape, text = field.type, ""
    if typing.get_origin(shape) is Annotated:
        shape, *_, meta = typing.get_args(shape)
        about = meta.extra or {}
        null = about.get("null", "never")
        null = "" if null.startswith("never") else f"null: {null}"
        parts = (meta.description, about.get("unit"), null)
        text = "; ".join(part for part in parts if part)
    absent = "?" if UnsetType in typing.get_args(shape) else ""
    return f"{_comment(text, '  ')}  readonly {field.encode_name}{absent}: {type_of(shape)};\n"


def interface(name: str, record: type[Struct]) -> str:
    """A record as an interface of the page."""
    base = next((_NAMES[one] for one in record.__mro__[1:] if one in _NAMES), "")
    own = msgspec.structs.fields(record)[len(RECORDS[base].__struct_fields__) if base else 0 :]
    text = (record.__doc__ or "").partition("\n\n    Attributes:")[0]
    head = f"export interface {name}{f' extends {base}' if base else ''} {{\n"
    return f"{_comment(' '.join(text.split()))}{head}{''.join(map(_field, own))}}}\n"


def text() -> str:
    """The whole file."""
    words = [f"export type {name} = {_words(shape)};\n" for name, shape in WORDS.items()]
    records = [interface(name, record) for name, record in RECORDS.items()]
    return "\n".join([_HEAD, "".join(words), *records])


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
