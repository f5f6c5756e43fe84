"""Verdicts that a judge gives in words rather than in JSON: which words are its own, and which it only repeats.

How this works: a verdict counts where a judge was told to write it: as the reply's first words, or as its last
statement. It does not count if the reply takes it back or refuses to judge, or if the words before it lead in to
somebody else's: a quotation, a report, a supposition. Whatever is left is taken; all else is an error, and the judge is
asked once more.
"""

from __future__ import annotations

import re

_NOT = r"(?:refuse|decline|abstain|would\s+rather\s+not|am\s+unable|am\s+not|(?:can|could|will|would|do|did|must)\s*(?:not|n['’]t)|can['’]t|won['’]t|(?:have|see|give|offer|make|reach)\s+no)"  # noqa: E501
_DECIDING = (
    "judge|say|answer|decide|determine|tell|choose|grade|assess|evaluate|compare|classify|rate|confirm|verify|comply|"
    "help|give|provide|pick|select|know|agree|think|believe|mean|endorse|offer|stand|sure|able|going|certain|"
    "saying|claiming|judging|allowed|verdict|answer|opinion|choice|way"
)
_REPORTED = r"(?:says?|said|claims?|claimed|writes?|wrote|wants?|wanted|asks?|asked|tells?|told|insists?|demands?|instructs?|instructed|pretends?)"  # noqa: E501
_OTHERS = r"(?:it|he|she|they|you|(?:the|this|that|its|their|some|a)\s+\w+(?:['’]s\s+\w+)?)"
_REFUSES = re.compile(
    rf"""
    \b(?:I|we)\b['’]?(?:m|re|d)?\s+(?:\w+\s+)?{_NOT}\b[^.!?\n]{{0,30}}?\b(?:{_DECIDING})\b
    | \b(?:I|we)\s+(?:\w+\s+)?(?:refuse|decline|abstain|disagree|doubt)\b
    | \bI['’]m\s+(?:not|unable|unsure)\b | \bI\s+am\s+(?:unable|unsure)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DISOWNED = re.compile(
    rf"""
    \bnot\s+(?:me|mine|my)\b | \bno\s+(?:verdict|category|judgment|judgement)\b | \bnever\s?mind\b | \bjust\s+kidding\b
    | (?:\A|[.!?:;,\n—–-]\s*)(?:but\s+)?(?:no|nope|wait|or\s+not|not\s+really|scratch\s+that)\b(?=\s*[.,;:!—–-]|\s*\Z)
    | \b(?:that|this|which|it|so|these)(?:['’]s|\s+is|\s+was|\s+are|\s+were)?\s+(?:what|how|only\s+what)\s+{_OTHERS}\b
    | \b(?:that|this|which|it|these)(?:['’]s|\s+is|\s+was|\s+are|\s+were)\s+(?:only\s+|just\s+|merely\s+)?
      (?:an?\s+(?:quot|joke|lie|trick|guess|example|claim)|the\s+(?:candidate|text|submission|output|student|quote)\b)
    | \bso\s+{_REPORTED}\s+{_OTHERS} | \b(?:or|at\s+least)\s+so\s+{_OTHERS} | \b(?:maybe|perhaps)\s+not\b
    | \bas\s+(?:instructed|told|requested|ordered|demanded|asked)\b
    | \bI\s+(?:was|am|have\s+been)\s+(?:told|asked|ordered)\b
    | \bas\s+{_OTHERS}\s+{_REPORTED}\s*(?:[.,;!?]|\Z)
    | \b{_REPORTED}\s+(?:so|(?:me|us)\b(?!\s+of))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LEADS_IN = re.compile(
    r"""
    [:,]\s*\Z
    | \A\W*(?:if|suppose|supposing|supposed|imagine|imagining|assume|assuming|assumed)\b
    | \A\W*(?:pretend\w*|were|had|unless|say|let['’]?s)\b
    | \b(?:e\.g|i\.e|cf|viz)\.\Z | \A\W*(?:otherwise|in\s+case|for\s+example)\b
    | \b(?:follow\w*|quot\w*|verbatim|word\s+for\s+word|reads|wrote|writes|written|end(?:s|ed)\s+with)\b
    | \brepeat\w*\b
    | \b(?:next|last|following)\s+(?:line|sentence|words)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDS = re.compile(r"(?<=[.!?])[*_]*[ \t]+|\n+")
_QUOTES = re.compile(r"[\"“”„«»‹›]|(?<!\w)['‘]|['’](?!\w)")


def refuses(text: str) -> bool:
    """Whether a judge says that it doesn't judge."""
    return _REFUSES.search(text) is not None


def is_disowned(text: str) -> bool:
    """Whether a reply refuses to judge, or says that its verdict is somebody else's."""
    return refuses(text) or _DISOWNED.search(text) is not None


def last_line(text: str) -> str:
    """The last line of a reply; empty where what stands before it leads in to a quotation."""
    before, _, line = text.strip().rpartition("\n")
    return "" if _leads_in(before) else line.strip()


def last_statement(text: str) -> str:
    """The last sentence of the last line of a reply; empty where what stands before it leads in to a quotation."""
    text = text.strip()
    starts = [match.end() for match in _ENDS.finditer(text)]
    start = starts[-1] if starts else 0
    return "" if _leads_in(text[:start]) else text[start:]


def _leads_in(before: str) -> bool:
    """Whether the next words are somebody else's: a quotation is open, or the last sentence says so."""
    last = [piece for piece in _ENDS.split(before.strip()) if piece.strip()][-1:]
    return len(_QUOTES.findall(before)) % 2 == 1 or any(map(_LEADS_IN.search, last))
