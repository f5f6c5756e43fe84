from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from evenhand.core.errors import ScoreError
from evenhand.core.message import Reply, Usage
from evenhand.doors.assertions.assertion import Cell
from evenhand.doors.prompt_directories import counting
from evenhand.doors.prompt_directories.assertions import OperatorReader
from evenhand.doors.prompt_directories.counting import tokens, words
from evenhand.languages.documents.findings import Findings, Place


class Here:
    """A trial that runs what it is given."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.reply = reply

    async def call(self, function: Any, *args: Any, name: str) -> Any:
        return function(*args)


def reader(shelf, **more: Any) -> OperatorReader:
    """Reads assertions of the prompt."""
    return OperatorReader(
        library=shelf.library, folder=shelf.library.prompts / "greet", findings=Findings(), **more
    )


async def asked(shelf, item: dict[str, Any], output: str, reply: Reply | None = None, **more: Any):
    """The score of one assertion for one output."""
    found = reader(shelf, **more)
    place = Place(shelf.library.root)
    (make,) = found.read(item, lambda *_: place, None)
    assert found.findings.problems == []
    expectation = make(
        Cell(
            output=output,
            prompt="",
            variables={},
            test={},
            provider_id="echo",
            provider_label="echo",
            reply=reply or Reply(output),
        )
    )
    score = expectation.scorer.score(expectation.value, Here(reply))
    return score if not hasattr(score, "__await__") else await score


@pytest.mark.parametrize(
    ("item", "passes", "fails"),
    [
        ({"contains": "Hello"}, "Hello Ada", "hello"),
        ({"contains": 30}, "30 days", "3 days"),
        ({"not_contains": "x"}, "abc", "xyz"),
        ({"contains_any": ["a", "b"]}, "b", "c"),
        ({"contains_all": ["a", "b"]}, "ab", "a"),
        ({"matches": r"(?m)^\d+$"}, "a\n12\n", "a12"),
        ({"not_matches": r"\bTODO\b"}, "done", "a TODO"),
        ({"matches": r"(?P<é>\w)ß"}, "üß", "u"),
        ({"min_words": 2}, "one two", "one"),
        ({"max_words": 2}, "one two", "one two three"),
        ({"min_tokens": 2}, "one two", "antidisestablishmentarianism"),
        ({"max_tokens": 2}, "one two", "one two three"),
        ({"json_schema": {"type": "object", "required": ["a"]}}, '{"a": 1}', '{"b": 1}'),
        ({"json_schema": {"type": "object"}}, "{}", "no JSON"),
    ],
)
async def test_each_operator_passes_and_fails(shelf, item, passes, fails):
    """Eight operators as they have always been, words beside them, and the schema that is no longer reserved."""
    assert (await asked(shelf, item, passes)).passed is True
    assert (await asked(shelf, item, fails)).passed is False


async def test_a_schema_may_be_a_file(shelf):
    """Of the repository, or of the prompt."""
    shelf.add("greet", **{"schema.json": '{"type": "array"}'})
    assert (await asked(shelf, {"json_schema": "schema.json"}, "[1]")).passed is True


@pytest.mark.parametrize(
    "value", [{"type": "nonsense"}, {"typ": "object"}, 3, "nowhere.json", "../out.json"]
)
def test_a_schema_that_is_none_is_told_before_anything_runs(shelf, value):
    """Wrong in itself, or not there."""
    found = reader(shelf)
    place = Place(shelf.library.root)
    assert found.read({"json_schema": value}, lambda *_: place, None) == []
    assert len(found.findings.problems) == 1


async def test_a_pattern_that_could_take_for_ever_is_stopped(shelf):
    """It is an error, and neither holds up the run nor fails the output."""
    with pytest.raises(ScoreError, match="took longer"):
        await asked(shelf, {"matches": "(a+)+$"}, "a" * 40 + "b")


def test_words_are_called_words():
    """What stands between white space."""
    assert words(" one  two\nthree ") == 3


async def test_tokens_are_tokens_where_the_file_says_so(shelf):
    """The vendor's count, as no tokenizer is here; said in the outcome, and an error where nobody counted."""
    item = {"max_tokens": 5}
    reply = Reply("one two", usage=Usage(3, 9))
    score = await asked(shelf, item, "one two", reply, counts_tokens=True)
    assert (score.passed, score.metadata["counted"]) == (False, 9)
    assert score.metadata["counted_by"] == "the vendor"
    with pytest.raises(ScoreError, match="counts the tokens"):
        await asked(shelf, item, "one two", Reply("one two"), counts_tokens=True)
    assert tokens("x", "none", None) == (None, "")


class Tables(types.ModuleType):
    """tiktoken.load, as far as it is used: it would fetch whatever it has not."""

    def __init__(self) -> None:
        super().__init__("tiktoken.load")
        self.fetched: list[str] = []

    def read_file(self, path: str) -> bytes:
        self.fetched.append(path)
        return b""


class Letters:
    """A tokenizer: each letter is a token."""

    name = "letters"

    def encode(self, text: str, *, disallowed_special: object) -> list[str]:
        assert disallowed_special == ()  # what a model writes is text, `<|endoftext|>` too
        return list(text)


@pytest.fixture
def tiktoken(monkeypatch):
    """A library called tiktoken: it has a table for gpt-here, and would have to fetch the one for gpt-away."""
    tables, library = Tables(), types.ModuleType("tiktoken")

    def encoding_for_model(model: str) -> Letters:
        if model == "gpt-away":
            tables.read_file("https://tables.invalid/away")
        elif model == "gpt-odd":
            raise ValueError("odd table")
        elif model != "gpt-here":
            raise KeyError(model)
        return Letters()

    vars(library).update(encoding_for_model=encoding_for_model, load=tables)
    monkeypatch.setitem(sys.modules, "tiktoken", library)
    monkeypatch.setitem(sys.modules, "tiktoken.load", tables)
    counting._encoding.cache_clear()
    yield tables
    counting._encoding.cache_clear()


def test_tokens_are_counted_by_a_tokenizer_that_is_at_hand(tiktoken):
    """It goes before the vendor's count, which hidden reasoning is part of; whose model it is does not matter."""
    reply = Reply("", usage=Usage(1, 99))
    assert tokens("<|x|>", "openai:gpt-here", reply) == (5, "tiktoken letters")
    assert tokens("<|x|>", "azureopenai:chat:gpt-here", None) == (5, "tiktoken letters")


@pytest.mark.parametrize("model", ["gpt-away", "gpt-odd", "claude-opus-4-7", ""])
def test_no_table_is_fetched(tiktoken, model):
    """Where the tokenizer is not whole on this machine, the vendor's count is taken; and its library is as it was."""
    before = tiktoken.read_file
    assert tokens("abc", model, Reply("", usage=Usage(1, 7))) == (7, "the vendor")
    assert tokens("abc", model, None) == (None, "")
    assert (tiktoken.fetched, tiktoken.read_file) == ([], before)


async def test_tokens_are_those_of_who_answered(shelf, tiktoken):
    """A case may name a model of its own."""
    found = reader(shelf, counts_tokens=True)
    place = Place(shelf.library.root)
    (make,) = found.read({"max_tokens": 2}, lambda *_: place, None)
    expectation = make(
        Cell(
            output="abc",
            prompt="",
            variables={},
            test={},
            provider_id="openai:gpt-here",
            provider_label="here",
            reply=Reply("abc"),
        )
    )
    score = expectation.scorer.score("abc", Here(None))
    assert (score.passed, score.metadata["counted_by"]) == (False, "tiktoken letters")


async def test_max_tokens_counts_words_where_the_file_does_not_say(shelf):
    """As it always has, and a hint says so."""
    found = reader(shelf)
    place = Place(shelf.library.root)
    (make,) = found.read({"max_tokens": 2}, lambda *_: place, None)
    found.read({"min_tokens": 2}, lambda *_: place, None)
    (hint,) = found.findings.hints  # once, however many there are in a file
    assert "counts words" in str(hint)
    assert (
        str(
            make(
                Cell(
                    output="",
                    prompt="",
                    variables={},
                    test={},
                    provider_id="",
                    provider_label="",
                    reply=Reply(""),
                )
            ).scorer
        )
        == "≤ 2 words (max_tokens)"
    )
