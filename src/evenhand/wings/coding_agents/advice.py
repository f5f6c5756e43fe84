"""Advice on problems of files, in words of ours.

What a command says of files quotes them, so it is data for an agent, the advice in it included. What is advised here
is put together from our own words alone: commands that change nothing, keys, types and providers that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from evenhand.core.wording.words import short_id
from evenhand.doors.assertions.kinds import INSTEAD, SUPPORTED, split
from evenhand.doors.promptfoo.checking import KEYS as TEST_KEYS
from evenhand.doors.promptfoo.checking import OPTIONS
from evenhand.doors.promptfoo.config import KEYS as CONFIG_KEYS
from evenhand.doors.promptfoo.models import KEYS as PROVIDER_KEYS
from evenhand.providers.catalog import KEYS as KEYS_OF_PROVIDERS
from evenhand.providers.catalog import SCHEMES
from evenhand.store.runfile import RunFile
from evenhand.wings.coding_agents.answers import Next

MOST = 6
"""Pieces of advice in an answer."""
_LISTING = ("info scorers", "info providers", "doctor")
_NO_JUDGE = (
    "a judge is needed, and none is named: write judge = 'PROVIDER:MODEL' below [tool.evenhand] in pyproject.toml,"
    " or set EVENHAND_JUDGE"
)


def advice_on(lines: Iterable[str]) -> list[Next]:
    """What to do about some lines of `evenhand check` or `evenhand run`; empty where only the lines say it."""
    advised = dict.fromkeys(text for line in lines for rule in _RULES for text in rule(line))
    return [Next("", text) for text in list(advised)[:MOST]]


def _nearest(line: str) -> Iterator[str]:
    for word in re.findall(r"Did you mean '([^']{1,60})'\?", line):
        if word in _words() or split(word)[0] in SUPPORTED:
            yield f"a word is misspelt: '{word}' may be meant"


def _listings(line: str) -> Iterator[str]:
    for verb in _LISTING:
        if f"`evenhand {verb}`" in line:
            yield f"see what there is: evenhand {verb}"


def _instead(line: str) -> Iterator[str]:
    return (text for text in INSTEAD.values() if text == line.strip())


def _lacking_keys(line: str) -> Iterator[str]:
    for name in sorted(filter(None, KEYS_OF_PROVIDERS.values())):
        if re.search(rf"\b{re.escape(name)}\b", line):
            yield f"a key is needed: have a person set {name}, or run with recorded replies (offline)"


def _no_judge(line: str) -> Iterator[str]:
    if "no judge is named" in line:
        yield _NO_JUDGE


def advice_on_run(run: RunFile, *, compared: bool = False) -> list[Next]:
    """What to do about how a run went as a whole, before its trials are looked at.

    Args:
        compared: It is compared: what its answers lack is another matter.
    """
    texts: list[str] = []
    name = short_id(run.meta.id)
    unfinished = run.meta.status != "decided" and run.totals().trials < run.meta.planned
    if run.alive:
        texts.append(f"{name} is still running: its figures are those so far")
    elif unfinished and run.meta.status == "out_of_budget":
        texts += [one.why for one in advice_on_budget(name)]
    elif unfinished and run.meta.can_resume:
        texts.append(f"{name} did not finish; this continues it: evenhand resume {name}")
    if not compared:
        _, cut_off = run.empty_answers()
        if cut_off:
            texts.append(
                "answers were cut off before the first word: allow more tokens (max_tokens)"
            )
        if any(variant.where for variant in run.meta.variants) and any(run.unasked()):
            texts.append("evals that expect nothing give no verdict: write down what they expect")
    return [Next("", text) for text in texts]


def advice_on_budget(run: str = "") -> list[Next]:
    """What to do where the budget is used up.

    Args:
        run: The run that has what was paid for; empty for none.
    """
    person = (
        f"its results are kept: a person continues {run} with a higher limit: evenhand resume {run} --max-cost USD"
        if run
        else "a person starts evenhand info mcp with a higher --max-cost"
    )
    less = "run less of it (first), or set max_tokens, so that a call may cost less"
    return [Next("", person), Next("", less)]


_RULES: tuple[Callable[[str], Iterator[str]], ...] = (
    _nearest,
    _listings,
    _instead,
    _lacking_keys,
    _no_judge,
)


@cache
def _words() -> frozenset[str]:
    keys = {*TEST_KEYS, *OPTIONS, *CONFIG_KEYS, *PROVIDER_KEYS}
    return frozenset(keys) | {form.partition(":")[0] for form in SCHEMES}
