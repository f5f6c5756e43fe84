"""What is known of a scorer before it is asked, and what people read for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.traits import Traits, TraitsOf, label_of, traits_of


class Plain:
    def score(self, output: Any, trial: Any) -> Any:
        raise NotImplementedError


@dataclass
class Length(Plain):
    most: int
    words: str = "of a text that is far too long to be put whole into a label"
    hidden: str = field(default="secret", repr=False)


class Named(Plain):
    def __str__(self) -> str:
        return "my own words"


class Speechless(Plain):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_a_scorer_without_a_str_is_called_by_its_class_and_arguments():
    """Never by an address in memory; long arguments are cut, and what has no repr is left out."""
    assert label_of(Plain()) == "Plain"
    assert label_of(Named()) == "my own words"
    assert label_of(Speechless()) == "Speechless"
    assert label_of(Length(60)) == "Length(most=60, words='of a text that is far too long to be p…)"
    assert label_of(Length(Plain(), "a\nb")) == "Length(most=Plain, words='a\\nb')"  # type: ignore[arg-type]
    assert label_of(Length) == "Length"


def test_a_scorer_with_nothing_but_a_score_has_the_traits_of_one_that_may_give_anything():
    """It is asked, and then it is seen whether something decides."""
    assert traits_of(Plain()) == traits_of(Plain) == Traits(gives="either")


def test_traits_may_depend_on_arguments():
    """The class has those that hold for all of them."""

    @dataclass
    class Scaled(Plain):
        top: float
        traits: ClassVar[TraitsOf[Scaled]] = TraitsOf(
            Traits(gives="number"), lambda one: Traits(gives="number", scale=(0, one.top))
        )

    class ByProperty(Plain):
        @property
        def traits(self) -> Traits:
            return Traits(gives="verdict")

    assert traits_of(Scaled) == Traits(gives="number")
    assert traits_of(Scaled(5)).scale == (0, 5)
    assert traits_of(ByProperty()).gives == "verdict"
    assert traits_of(ByProperty).gives == "either"


def test_traits_that_are_none_are_an_error_and_not_overlooked():
    """A slip must not turn a bound off."""

    class Slip(Plain):
        traits = {"gives": "number"}  # noqa: RUF012 (the mistake)

    with pytest.raises(UsageError, match=r"Slip: traits is .*, not Traits"):
        traits_of(Slip())
