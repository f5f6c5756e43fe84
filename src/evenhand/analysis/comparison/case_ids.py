"""The ids of the cases of a comparison by number, and what to call them."""

from __future__ import annotations

from evenhand.core.numbered import NumberedTexts, PackedTexts


class CaseIds(NumberedTexts):
    """The ids of cases, each with its line for people."""

    def __init__(self) -> None:
        super().__init__()
        self._names = PackedTexts()
        """Empty where a case's name is its id."""

    def named(self, case: str, name: str) -> int:
        """The number of the case with this id. Its first name is kept."""
        number = self.number(case)
        if number == len(self._names):
            self._names.add("" if name == case else name)
        return number

    def name(self, number: int) -> str:
        """A case's line for people, as it was first met."""
        return self._names[number] or self[number]
