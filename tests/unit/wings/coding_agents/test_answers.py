"""Answers for coding agents: their size, their cursor, and what is marked as data."""

import json
from typing import Any

from evenhand.wings.coding_agents.answers import LARGEST, Next, answer, page, untrusted


def size(value: object) -> int:
    """Bytes, as they are sent."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def test_a_long_text_loses_its_middle_and_says_how_long_it_was():
    """The beginning and the end stay."""
    marked = untrusted("a" * 500 + "middle" + "z" * 500, 100)
    assert marked["characters"] == 1006
    assert marked["untrusted"].startswith("aaa")
    assert marked["untrusted"].endswith("zzz")
    assert "middle" not in marked["untrusted"]
    assert untrusted("short") == {"untrusted": "short"}


def test_control_characters_do_not_get_through():
    """An answer may be shown in a terminal."""
    assert "\x1b" not in untrusted("\x1b[31mred")["untrusted"]


def test_an_answer_is_never_too_large():
    """Whether one text is long, or there are many, or lists are."""
    contents: list[dict[str, Any]] = [
        {"output": untrusted("é" * 100_000, 90_000)},
        {f"k{i}": untrusted("x" * 5000, 4000) for i in range(60)},
        {"rows": [{"a": untrusted("x" * 500)} for _ in range(300)]},
        {"message": "y" * 50_000},
    ]
    for content in contents:
        assert size(answer(content, [Next("run", "again")])) <= LARGEST, list(content)[:1]


def test_pages_hold_every_item_once():
    """Each cursor goes on where the page before ended; the last page has none."""
    items = [{"cell": str(i), "output": untrusted("x" * (i % 700))} for i in range(500)]
    cursor, seen = 0, list[str]()
    while True:
        part = page({"run": "r"}, "trials", items, cursor, [Next("cell", "one of them")])
        assert size(part) <= LARGEST
        seen += [one["cell"] for one in part["trials"]]
        if part["cursor"] is None:
            break
        assert part["cursor"] > cursor
        cursor = part["cursor"]
    assert seen == [one["cell"] for one in items]
