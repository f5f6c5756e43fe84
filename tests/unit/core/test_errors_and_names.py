"""Errors, problems and names: what they say of themselves."""

from __future__ import annotations

import itertools
import random

import pytest

from evenhand.core import errors
from evenhand.core.case import Case, case_id
from evenhand.core.errors import (
    CodeError,
    ConfigError,
    EvenhandError,
    FailedCode,
    Problem,
    ProviderError,
    RateLimited,
    UsageError,
)
from evenhand.core.message import Message, Prompt
from evenhand.core.names import distance, nearest
from evenhand.core.score import check
from evenhand.core.variant import Variant


def test_a_case_id_is_made_of_what_the_case_says():
    """The same content has the same id whatever order it came in; other content has another."""
    one = case_id({"vars": {"a": 1, "b": 2}})
    assert one == case_id({"vars": {"b": 2, "a": 1}})
    assert one != case_id({"vars": {"a": 1, "b": 3}})
    assert len(one) == 12
    assert set(one) <= set("0123456789abcdef")


def test_a_case_is_called_by_its_description_or_else_its_id():
    """People read the description where there is one."""
    assert str(Case("c1")) == "c1"
    assert str(Case("c1", description="a refund")) == "a refund"


def test_a_variant_is_called_by_what_it_has():
    """Prompt and model, without a separator where one is missing."""
    assert str(Variant(0, "short", "gpt")) == "short · gpt"
    assert str(Variant(0, "", "gpt")) == "gpt"


def test_a_prompt_of_text_is_one_user_message():
    """Settings of the call travel beside it."""
    prompt = Prompt.of("Hello", temperature=0)
    assert prompt.messages == (Message("user", "Hello"),)
    assert prompt.text == "Hello"
    assert prompt.config == {"temperature": 0}


def test_a_yes_or_no_question_scores_one_or_zero():
    """The verdict, the number and what was noted beside them."""
    assert check(passed=True).value == 1.0
    score = check(False, "it was not there", wanted="x")
    assert (score.value, score.passed, score.reason) == (0.0, False, "it was not there")
    assert score.metadata == {"wanted": "x"}


def test_an_error_reads_what_is_wrong_then_what_to_do():
    """The hint is an indented second line, and absent where there is none."""
    assert str(EvenhandError("a.yaml: it is wrong", hint="Put it right.")) == (
        "a.yaml: it is wrong\n  Put it right."
    )
    assert str(EvenhandError("it is wrong")) == "it is wrong"


def test_every_error_has_a_slug_of_its_own():
    """A slug names a section of the documentation. Your own code has one, whether it grades or stands for a model."""
    by_slug: dict[str, set[type]] = {}
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, EvenhandError):
            by_slug.setdefault(value.slug, set()).add(value)
    assert len(by_slug) > 20
    shared = {slug: kinds for slug, kinds in by_slug.items() if len(kinds) > 1}
    assert shared == {"code": {CodeError, FailedCode}}


def test_no_error_is_both_fatal_and_retried():
    """What stops the run is not asked again."""
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, ProviderError)
    ]
    assert not [cls for cls in classes if cls.fatal and cls.retryable]
    assert {cls.__name__ for cls in classes if cls.fatal} == {
        "AuthError",
        "UnknownModel",
        "QuotaExhausted",
        "Unreachable",
    }


def test_a_provider_error_keeps_what_came_back():
    """Status, wait, bill and body are there for whoever decides what to do next."""
    error = RateLimited("slow down", status=429, retry_after_s=2, billed=None, body="{}")
    assert (error.status, error.retry_after_s, error.billed, error.body) == (429, 2, None, "{}")
    assert ProviderError("x").billed is False


def test_problems_are_told_in_file_order_whatever_order_they_were_found_in():
    """By file, then line, then column; the words do not count."""
    late = Problem("b.yaml", 1, 1, "first word")
    low = Problem("a.yaml", 10, 2, "a")
    high = Problem("a.yaml", 2, 7, "z", "Do this.")
    error = ConfigError([late, low, high])
    assert error.problems == (high, low, late)
    assert str(error).splitlines() == [
        "a.yaml:2:7: z",
        "  Do this.",
        "a.yaml:10:2: a",
        "b.yaml:1:1: first word",
    ]
    assert isinstance(error, UsageError)


@pytest.mark.parametrize(
    ("line", "column", "place"), [(0, 0, "f.csv"), (3, 0, "f.csv:3"), (3, 4, "f.csv:3:4")]
)
def test_a_problem_names_as_much_of_its_place_as_is_known(line, column, place):
    """0 is unknown, and is not shown."""
    assert str(Problem("f.csv", line, column, "is odd")) == f"{place}: is odd"


@pytest.mark.thorough
def test_a_word_far_from_all_others_is_left_early_and_the_nearest_is_the_same() -> None:
    """With a limit, the count is right below it, and no more than said above it."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdef", k=rng.randint(1, 9))) for _ in range(60)]
    for a, b in itertools.product(words, words[:20]):
        far = distance(a, b)
        for enough in (1, 3, 5):
            assert min(distance(a, b, enough), enough) == min(far, enough), (a, b, enough)
        least = max(3, len(a)) // 3 + 1
        near = [w for w in words if distance(a, w) < least]
        assert bool(nearest(a, words)) == bool(near)


@pytest.mark.parametrize("said", ["", " ", "\n", ": "])
def test_a_message_never_ends_with_a_colon(said: str):
    """What follows is what a program or an exception said, and some say nothing."""
    assert str(CodeError(f"sh bad.sh ended with code 1: {said}")) == "sh bad.sh ended with code 1"
    assert str(CodeError(f"no: {said}", hint="Do.")) == "no\n  Do."
    problem = Problem("evals.py", 1, 0, f"cannot be imported: AssertionError: {said}")
    assert problem.summary == "evals.py:1: cannot be imported: AssertionError"
    assert errors.first_line(ValueError()) == "ValueError"
    assert errors.first_line(ValueError("no")) == "ValueError: no"
