"""Cases from documents: questions with their answers and the passages that hold them, written by a model.

`evenhand data generate` asks a model for each document. A pair is kept only if its quotes stand in the document, and
if it asks what no other pair asks. It is a run like any other: journaled, so nothing is paid for twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.core.case import Case, case_id
from evenhand.core.errors import ConfigError, JudgeError, Problem, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_schema import TEXT, TEXTS, strict_object
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.message import Model
from evenhand.core.provider import Provider
from evenhand.core.ranges import PER_DOCUMENT
from evenhand.core.record import Record
from evenhand.doors.eval_sets.caseplan import case_plan, look_for_key, models_for, only_column
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.preparing import (
    Prepared,
    destination,
    earlier_attempt,
    kept_beside,
    scripted,
    settled,
    written,
)
from evenhand.engine.door import Settings
from evenhand.scorers.judge_prompt import judge_prompt, template
from evenhand.scorers.judge_reply import the_object
from evenhand.scorers.judging import ask_judge
from evenhand.scorers.metrics.text import words
from evenhand.scorers.rag.verdicts import found_in, plain

ENDINGS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
LONGEST = 40_000
"""Characters of a document that are asked about at once; a longer one is asked about piece by piece."""
NEAR = 0.8
"""Two questions of one document whose words have this much in common ask the same."""


_PAIR = strict_object(quotes=TEXTS, question=TEXT, answer=TEXT)
_SCHEMA = strict_object(pairs={"type": "array", "items": _PAIR})


class Pair(Record, frozen=True):
    """A question, its answer, and the words of the document that hold it."""

    question: str
    answer: str
    quotes: tuple[str, ...]


def generate(
    documents: Sequence[str | Path] | Mapping[str, str],
    *,
    model: str | Provider,
    per_document: int = 5,
    settings: Settings,
    source: Path | None = None,
    to: Path | None = None,
) -> Prepared:
    """Writes cases about documents, and waits for it.

    Each case has the question as `input`, the answer as `expected`, the quotes as `context`, and in its metadata the
    document, as `relevant` too, and who wrote it.

    Args:
        documents: Files and folders of them, in UTF-8; or texts by name.
        per_document: How many questions of each document, or piece of 40,000 characters of it.
        source: The folder that the run is kept beside; the current folder by default.
        to: The file that the cases are written to; it stays as it is if there are none.

    Raises:
        ConfigError: All that is wrong with the documents, or the model's name.
        UsageError: The number is not from 1 to 50, there are no documents, or the file cannot be written.
        ProviderError: The model cannot be asked at all.
        BudgetStop: The next call could pass `max_cost_usd`; what was written is kept, and found again for nothing.
        StoreError: The run cannot be kept.
    """
    PER_DOCUMENT.check("per_document", per_document)
    texts = documents if isinstance(documents, Mapping) else dict(_read(documents))
    pieces = [piece for name, text in texts.items() for piece in _pieces(name, text)]
    if not pieces:
        raise UsageError(
            "there are no documents", hint=f"Name files that end in {', '.join(ENDINGS)}."
        )
    place = source or Path.cwd()
    models = models_for(place, model=model)
    writer = models.of(model)
    assert writer is not None  # noqa: S101 (it was named)
    look_for_key(models, writer)
    data = Dataset(pieces, "documents")
    plan = case_plan(
        only_column("dataset generate", model=writer.label),
        str(place),
        data,
        _Writing(writer, per_document),
        [
            data.fingerprint,
            str(per_document),
            writer.id,
            template("dataset/pairs").version,
            *scripted(settings),
        ],
        models,
        config={
            "model": writer.id,
            "per_document": per_document,
            "documents": list(texts),
            **destination(to),
        },
    )
    settings = kept_beside(place, settings)
    earlier = earlier_attempt(plan, settings)
    with settled(plan, settings, earlier) as run:
        errors: dict[str, str] = {}
        cases: dict[str, Case] = {}
        asked_before: dict[str, list[frozenset[str]]] = {}
        everywhere: set[frozenset[str]] = set()
        dropped = 0
        for trial in run.trials():
            if trial.outcome == "error":
                errors[trial.case] = trial.error.message if trial.error else trial.reason
                continue
            output = cast("Mapping[str, Any]", trial.output)
            dropped += output["dropped"]
            near = asked_before.setdefault(str(trial.metadata["document"]), [])
            for pair in output["pairs"]:
                bag = frozenset(words(pair["question"]))
                if bag in everywhere or any(_alike(bag, other) for other in near):
                    dropped += 1
                    continue
                everywhere.add(bag)
                near.append(bag)
                case = _case(pair, trial.metadata, output["by"])
                cases[case.id] = case
        prepared = Prepared(
            data=Dataset(cases.values(), "generated"),
            errors=errors,
            asked_about=len(pieces),
            dropped=dropped,
            recovered=earlier.unwritten,
        )
        return written(prepared, run, to)


class _Writing(Record, frozen=True):
    """What happens to a piece of a document: a model asks about it, and its quotes are looked up."""

    model: Provider
    count: int

    async def __call__(self, trial: Trial) -> object:
        document = str(trial.case.input)
        pairs, dropped, by = await _written(trial.model(self.model, "setup"), document, self.count)
        return {
            "pairs": [
                {"question": one.question, "answer": one.answer, "quotes": list(one.quotes)}
                for one in pairs
            ],
            "dropped": dropped,
            "by": by,
        }


async def _written(
    model: Model, document: str, count: int
) -> tuple[list[Pair], int, dict[str, str]]:
    version, prompt = judge_prompt("dataset/pairs", {"document": document, "count": str(count)})
    searched = plain(document)

    def read(reply: str) -> tuple[list[Pair], int]:
        pair_list = the_object(reply, ["pairs"])["pairs"]
        if not is_array(pair_list) or not pair_list:
            raise JudgeError("it has no list of pairs")
        pairs = [pair for one in pair_list if (pair := _pair(one, searched)) is not None]
        if not pairs:
            raise JudgeError(
                "none of its pairs has a question, an answer and words of the document"
            )
        return pairs[:count], len(pair_list) - len(pairs)

    keys = 'with the key "pairs", a list of objects with "quotes", "question" and "answer"'
    reply, (pairs, dropped) = await ask_judge(model, prompt, read, keys, _SCHEMA)
    return pairs, dropped, {"model": reply.model or model.name, "prompt": version}


def _pair(item: object, document: str) -> Pair | None:
    """A pair that can be used: it has all its parts, and its quotes stand in the document."""
    if not is_mapping(item):
        return None
    quotes = item.get("quotes")
    quotes = [quotes] if isinstance(quotes, str) else quotes
    question, answer = item.get("question"), item.get("answer")
    if not isinstance(question, str) or not isinstance(answer, str) or not is_array(quotes):
        return None
    texts = [str(quote).strip() for quote in quotes]
    if not question.strip() or not answer.strip() or not texts:
        return None
    if not all(found_in(text, document) for text in texts):
        return None
    return Pair(question.strip(), answer.strip(), tuple(texts))


def _case(pair: Mapping[str, Any], about: Mapping[str, Any], by: Mapping[str, str]) -> Case:
    document = str(about["document"])
    id_ = case_id([document, pair["question"]])
    metadata = {"document": document, "relevant": [document], "generated_by": dict(by)}
    return Case(
        id_,
        input=pair["question"],
        expected=pair["answer"],
        context=tuple(pair["quotes"]),
        description=id_,
        metadata=metadata,
    )


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    together = len(one | other)
    return not together or len(one & other) / together >= NEAR


def _pieces(name: str, text: str) -> Iterator[Case]:
    """A document as one case, or several where it is long, cut between paragraphs where there are any."""
    start, number = 0, 0
    while start < len(text):
        end = start + LONGEST
        if end < len(text):
            # Never in the first half: each piece is a call, and short pieces would cost many.
            cuts = (text.rfind(mark, start + LONGEST // 2, end) for mark in ("\n\n", "\n", " "))
            end = next((cut for cut in cuts if cut > start), end)
        piece = text[start:end].strip()
        start = end
        if piece:
            number += 1
            label = name if number == 1 else f"{name} ({number})"
            yield Case(label, input=piece, description=label, metadata={"document": name})


def _read(documents: Sequence[str | Path]) -> Iterator[tuple[str, str]]:
    """The texts of files, by the names that they were given by; of folders, of all files in them that are documents."""
    problems: list[Problem] = []
    texts: dict[str, str] = {}
    for source in [documents] if isinstance(documents, (str, Path)) else documents:
        path = Path(source)
        files = [path]
        if path.is_dir():
            files = sorted(
                f for f in path.rglob("*") if f.suffix.lower() in ENDINGS and f.is_file()
            )
            if not files:
                what = f"holds no document: no file ends in {', '.join(ENDINGS)}"
                problems.append(Problem(str(path), 0, 0, what))
        for file in files:
            try:
                text = file.read_text("utf-8-sig")
            except UnicodeDecodeError:
                problems.append(Problem(str(file), 0, 0, "is not UTF-8", "Save it as UTF-8."))
            except OSError as error:
                problems.append(Problem(str(file), 0, 0, f"cannot be read: {error.strerror}"))
            else:
                if file.suffix.lower() in {".html", ".htm"}:
                    text = re.sub(
                        r"<(script|style)\b.*?</\1\s*>|<[^<>]*>",
                        " ",
                        text,
                        flags=re.DOTALL | re.IGNORECASE,
                    )
                if not text.strip():
                    problems.append(Problem(str(file), 0, 0, "is empty"))
                texts[str(file)] = text
    if problems:
        raise ConfigError(problems)
    yield from texts.items()
