"""Claims and passages as a judge is shown them, and its verdict on a claim, its quotes looked up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from evenhand.core.errors import JudgeError
from evenhand.core.json_schema import strict_object
from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import Record
from evenhand.scorers.judge_prompt import fenced
from evenhand.scorers.rag.claims import ClaimVerdict, RankedPassage, Stand
from evenhand.scorers.rag.verdict_lists import Section, one_of, said_in

_STANDS: tuple[Stand, ...] = ("supported", "contradicted", "not_found")
_EVIDENCE = strict_object(passage={"type": "integer"}, quote={"type": "string"})
_ITEMS = {
    "reasoning": {"type": "string"},
    "verdict": {"type": "string", "enum": list(_STANDS)},
    "evidence": {"type": "array", "items": _EVIDENCE},
}
KEPT = 300
"""Characters of a quote that are kept."""


class Group(Record, frozen=True):
    """Claims, and the passages that they are held against."""

    claims: tuple[str, ...]
    passages: tuple[str, ...]


def number(texts: Sequence[str], first: int) -> str:
    """Texts, one to a line, each after its number in brackets."""
    return "\n".join(f"[{i}] {' '.join(text.split())}" for i, text in enumerate(texts, first))


def listed(ids: Sequence[int]) -> str:
    """Numbers as people write them: `1–4, 7`.

    >>> listed([1, 2, 3, 7])
    '1–3, 7'
    """
    runs: list[list[int]] = []
    for i in ids:
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)


def material(
    groups: Sequence[Group], shown: Sequence[str], wanted: Sequence[int], mark: str
) -> str:
    """Claims and passages between marks, group by group. Claims that are not wanted are left out; empty passages, too.

    Args:
        shown: The passages of all groups, as they are shown.
        wanted: The numbers of the claims, counted over all groups from 1.
    """
    parts: list[str] = []
    claim = passage = 1
    for group in groups:
        own = [i for i in range(claim, claim + len(group.claims)) if i in wanted]
        ranks = [i for i in range(passage, passage + len(group.passages)) if shown[i - 1]]
        if own:
            if len(groups) > 1:
                which = (
                    f"passages {listed(ranks)}" if len(ranks) > 1 else f"passage {listed(ranks)}"
                )
                parts.append(f"The claims {listed(own)} are checked against {which} alone:")
            lines = (f"[{i}] {' '.join(group.claims[i - claim].split())}" for i in own)
            parts.append(fenced("claims", "\n".join(lines), mark))
        # With a single group, the judge may be asked about its sentences without any claim.
        if own or len(groups) == 1:
            parts += [fenced(f"passage {i}", shown[i - 1], mark) for i in ranks]
        claim += len(group.claims)
        passage += len(group.passages)
    return "\n\n".join(parts)


def verdict_section(groups: Sequence[Group]) -> Section:
    """The list of verdicts on all claims. A claim without a passage to hold it against is not asked about."""
    plain_passages = [plain(passage) for group in groups for passage in group.passages]
    against: dict[int, range] = {}
    claim, passage = 1, 0
    for group in groups:
        ranks = range(passage, passage + len(group.passages))
        if any(group.passages):
            against |= {claim + i: ranks for i in range(len(group.claims))}
        claim += len(group.claims)
        passage += len(group.passages)

    def read(number: int, item: Mapping[str, object]) -> ClaimVerdict:
        stand = one_of(item.get("verdict"), _STANDS, "verdict")
        reasoning = said_in(item)
        if not reasoning:
            raise JudgeError("it has no reasoning")
        if stand == "not_found":
            return ClaimVerdict(stand, (), reasoning)
        own = against[number]
        evidence = _looked_up(item.get("evidence"), own, plain_passages)
        if not evidence:
            return ClaimVerdict("not_found", (), reasoning, unverified=True)
        return ClaimVerdict(stand, evidence, reasoning)

    return Section("verdicts", "claim", tuple(against), read, _ITEMS)


def _looked_up(evidence: object, own: range, passages: Sequence[str]) -> tuple[RankedPassage, ...]:
    """The quotes that stand in a passage: the one that was named, or else another one."""
    ranked: dict[int, RankedPassage] = {}
    for one in evidence if isinstance(evidence, (list, tuple)) else [evidence]:
        if not is_mapping(one):
            continue
        quote, named = said_in(one, "quote"), one.get("passage")
        # False sorts before True, so the passage that the judge named comes first.
        ranks = sorted(own, key=lambda rank: str(rank + 1) != str(named))
        rank = next((rank for rank in ranks if found_in(quote, passages[rank])), None)
        if rank is not None:
            ranked.setdefault(rank, RankedPassage(rank - own.start + 1, quote[:KEPT]))
    return tuple(ranked[rank] for rank in sorted(ranked))


WINDOW = 8
"""Letters that are compared at a time, where a quote is not word for word."""
ENOUGH = 0.9
LONGEST = 2000
_LEFT_OUT = re.compile(r"\[?(?:\.{3,}|…)\]?")
_NUMBER = re.compile(r"\[\d+\]")


def plain(text: str) -> str:
    """A text as quotes are compared: its letters and digits, in one form and in lower case."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, folded))


def found_in(quote: str, passage: str) -> bool:
    """Whether the words of the quote stand in the passage.

    Case, space, punctuation and width do not count; `…` leaves words out; a slip or two in a long quote is forgiven.

    Args:
        quote: As a judge gave it. One without a letter or digit is nowhere.
        passage: Made `plain`.

    >>> found_in("the moon … made of cheese", plain("The Moon is, they say, made of cheese."))
    True
    """
    # Sentences are shown with their numbers in brackets, which a judge may copy along.
    pieces = [plain(piece) for piece in _LEFT_OUT.split(_NUMBER.sub(" ", quote[:LONGEST]))]
    pieces = [piece for piece in pieces if piece]
    return bool(pieces) and all(piece in passage or _nearly(piece, passage) for piece in pieces)


def _nearly(piece: str, passage: str) -> bool:
    if len(piece) < 4 * WINDOW:
        return False
    windows = [piece[at : at + WINDOW] for at in range(len(piece) - WINDOW + 1)]
    # One wrong letter spoils up to WINDOW windows, so that only a long quote can tolerate a slip.
    missing = round(len(windows) * (1 - ENOUGH))
    for window in windows:
        if window not in passage:
            missing -= 1
            if missing < 0:
                return False
    return True
