"""What an eval.yml may ask of an output, as scorers: texts, Python's patterns, length, verify.sh."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.program_output import complaint_of
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.core.scratch import ScratchFolder
from evenhand.core.traits import Traits
from evenhand.doors.prompt_directories.counting import tokens, words
from evenhand.doors.prompt_directories.hooks import LIMIT_S, hook_env, run_hook
from evenhand.scorers.javascript_regex import needs_care, search_apart
from evenhand.scorers.text import quoted, text_of


class Has(Record, frozen=True):
    """The output has one, all, or none of these texts in it; case counts."""

    op: str
    wanted: Sequence[str]

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        text = text_of(output)
        present = [w for w in self.wanted if w in text]
        if self.op == "not_contains":
            return check(not present, f"has {quoted(present[0])}" if present else "has none of it")
        if self.op == "contains_any":
            why = f"has {quoted(present[0])}" if present else "has none of them"
            return check(bool(present), why)
        missing = [w for w in self.wanted if w not in text]
        return check(not missing, f"misses {quoted(', '.join(missing))}" if missing else "has it")

    def __str__(self) -> str:
        return f"{self.op} {quoted(', '.join(self.wanted))}"


class Finds(Record, frozen=True):
    """The output has, or has not, something in it that this pattern of Python's matches."""

    op: str
    pattern: str

    async def score(self, output: Any, trial: Trial) -> Score:
        text = text_of(output)
        if needs_care(self.pattern, text):
            span = await trial.call(search_apart, self.pattern, text, re.UNICODE, name=str(self))
            if isinstance(span, str):
                raise ScoreError(f"{self} {span}", hint="Write it without a repeat in a repeat.")
        else:
            match = re.search(self.pattern, text)
            span = match and match.span()
        why = f"finds {quoted(text[span[0] : span[1]])}" if span else "finds nothing"
        return check((span is not None) is (self.op == "matches"), why)

    def __str__(self) -> str:
        return f"{self.op} {quoted(self.pattern)}"


class Long(Record, frozen=True):
    """The output has at least, or at most, so many words or tokens.

    Attributes:
        op: As written: `max_words`, `min_tokens`, …
        counts: What is counted: `words`, or `tokens`. An eval.yml that says `max_tokens` may mean words.
        model: Whose tokens.
    """

    traits: ClassVar[Traits] = Traits(asks=("op", "bound", "counts"))
    op: str
    bound: int
    counts: str
    model: str = ""

    def score(self, output: Any, trial: Trial) -> Score:
        text = text_of(output)
        if self.counts == "words":
            number, by = words(text), "white space"
        else:
            counted, by = tokens(text, self.model, trial.reply)
            if counted is None:
                raise ScoreError(
                    f"no tokenizer is installed that counts the tokens of {self.model}",
                    hint="Install its tokenizer with its table, or count words: max_words.",
                )
            number = counted
        ok = number <= self.bound if self.op.startswith("max") else number >= self.bound
        return check(ok, f"{number:,} {self.counts}", counted=number, counted_by=by)

    def __str__(self) -> str:
        sign = "≤" if self.op.startswith("max") else "≥"
        written = f" ({self.op})" if not self.op.endswith(self.counts) else ""
        return f"{sign} {self.bound:,} {self.counts}{written}"


@dataclass(frozen=True, slots=True)
class Verified:
    """verify.sh finds nothing wrong with the output: it exits with 0."""

    traits: ClassVar[Traits] = Traits(asks=("path",))
    path: Path
    prompt: str
    case: str
    values: Mapping[str, object] = field(hash=False, repr=False)
    limit_s: float = LIMIT_S

    async def score(self, output: Any, trial: Trial) -> Score:  # noqa: ARG002 (the Protocol's)
        with ScratchFolder("output") as folder:
            file = Path(folder) / "output.txt"
            # As the model wrote it: line ends are kept, and halves of characters too.
            file.write_text(text_of(output), "utf-8", "surrogatepass", newline="")
            env = {**hook_env(self.prompt, self.case, self.values), "EVA_OUTPUT_FILE": str(file)}
            ran = await run_hook(self.path, env, self.limit_s)
        complaint = complaint_of(ran.complaint or ran.output, 1000)
        if not complaint:
            return check(not ran.code, f"exit {ran.code}")
        return check(not ran.code, f"exit {ran.code}: {complaint}", said=complaint)

    def __str__(self) -> str:
        return self.path.name
