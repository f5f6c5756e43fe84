from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import product

import pytest

from evenhand.core.wording.words import (
    clip,
    columns,
    count,
    folded,
    interval,
    money,
    number,
    percent,
    put,
    put_quietly,
    rounded,
    safe,
    seconds,
)

ATTACKS = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x9b31m",
    "a\rb",
    "\x08\x08",
    "\u202egnp.exe",
    "\u2066x\u2069",
    "\u200bhidden",
    "\ufeff",
    "\U000e0041",
    "\x00",
    "\x7f",
)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("multiline", [True, False])
def test_nothing_that_steers_a_terminal_survives(attack: str, multiline: bool) -> None:
    """What `safe` gives holds printable characters only, and says what it took out where it is not white space."""
    shown = safe(f"x{attack}y", multiline=multiline)
    assert all(c.isprintable() for c in shown)
    assert shown[0] == "x"
    assert shown[-1] == "y"


def test_what_is_taken_out_is_shown_as_an_escape() -> None:
    """A reader sees that there was something, and what."""
    assert safe("a\x1b[31mb\u202ec\ud800\U000e0041") == r"a\x1b[31mb\u202ec\ud800\U000e0041"


def test_lines_and_tabs_are_kept_where_they_may_be() -> None:
    """`multiline` keeps the shape of a text; otherwise it becomes one line."""
    assert safe("a\r\n\tb", multiline=True) == "a\n\tb"
    assert safe("a\r\n\tb \n") == "a b"


def test_other_scripts_and_emoji_are_left_alone() -> None:
    """Only what steers is taken out."""
    text = "Fünf Bücher · 水 · 👩‍🔬 · עברית · ✓"
    assert safe(text) == text


def test_clip_looks_no_further_than_a_text_is_shown() -> None:
    """A text of a million letters, in any alphabet, is cut as fast as its beginning is."""

    class Letters(str):
        __slots__ = ("looked",)

        def __iter__(self) -> Iterator[str]:
            self.looked = 0
            for letter in str(self):
                self.looked += 1
                yield letter

    text = Letters("é水" * 500_000)
    assert clip(text, 7) == "é水é水…"
    assert text.looked < 10


def test_clip_counts_columns_not_characters() -> None:
    """Wide characters take two columns, combining marks none."""
    assert columns("水水") == 4
    assert columns("e\u0301") == 1
    assert clip("水水水", 4) == "水…"
    assert clip("short", 5) == "short"
    assert clip("longer", 5) == "long…"
    assert columns(clip("水a水b水c", 5)) <= 5


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (None, "unknown"),
        (0, "$0"),
        (0.0012, "$0.0012"),
        (0.00000123, "$0.0000012"),
        (0.5, "$0.5000"),
        (2, "$2.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_money_has_the_digits_that_say_something(usd: float | None, text: str) -> None:
    """Small sums are not rounded away, and an unknown one is not 0."""
    assert money(usd) == text


def test_a_rate_is_never_rounded_to_all_or_nothing() -> None:
    """999 of 1,000 is 99 %, 1 of 1,000 is 1 %."""
    assert [percent(x) for x in (0, 0.001, 0.5, 0.999, 1)] == [
        "0 %",
        "1 %",
        "50 %",
        "99 %",
        "100 %",
    ]


def test_an_interval_is_never_rounded_to_certainty() -> None:
    """Only a bound that is 0 or 1 is shown as such."""
    assert interval(0, 1) == "0–100"
    assert interval(0.6756, 1) == "68–100"
    assert interval(0.99999, 1) == "99.9–100"
    assert interval(0, 0.0001) == "0–0.1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1.0 s"),
        (59.99, "1:00"),
        (3661, "1:01:01"),
    ],
)
def test_durations_change_their_unit_in_time(value: float | None, text: str) -> None:
    """No 1000 ms, no 60.0 s."""
    assert seconds(value) == text


def test_numbers_have_their_noun() -> None:
    """One trial, two trials, three replies."""
    assert [count(1, "trial"), count(1200, "trial"), count(3, "reply", "replies")] == [
        "1 trial",
        "1,200 trials",
        "3 replies",
    ]
    assert number(3.66666) == "3.667"


def test_a_stream_of_few_characters_gets_plainer_ones() -> None:
    """A Latin-1 or ASCII terminal is written to without an exception."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    put(out, "✓ 7/8 · 88 % [53–98] 水\n")
    out.flush()
    assert raw.getvalue() == b"+ 7/8 - 88 % [53-98] \\u6c34\n"


def test_a_closed_stream_is_nobodys_trouble() -> None:
    """Progress to a stderr that is gone is dropped."""
    out = io.StringIO()
    out.close()
    put_quietly(out, "x")


def test_one_number_is_rounded_alike_as_a_rate_and_as_a_score() -> None:
    """For every k of n up to 400, halves up; what is not all or nothing is never said to be."""
    for n in range(1, 401):
        for k in range(n + 1):
            rate, score = int(percent(k / n).removesuffix(" %")), rounded(k / n, 2)
            assert rate == round(float(score) * 100) or rate in (1, 99)
            assert 2 * (k * 100 % n) < n or rate in (k * 100 // n + 1, 99)
    assert (percent(177 / 200), rounded(177 / 200, 2), interval(0.125, 0.885)) == (
        "89 %",
        "0.89",
        "13–89",
    )


def test_folded_lines_hold_what_belongs_together() -> None:
    """No line is too wide in any alphabet; `75 %` and an interval stay whole, and nothing is lost."""
    texts = (
        "a rate of 75 % [-3, +14] over 20 cases",
        "礼貌地回答客户的问题并给出 75 % [61–86]",
        "x" * 90 + " 5 %",
        "🧪🚀 tone 👍 " * 9,
        "moved by -4 [-11, +3] · score +0.1 [-0.004, +0.2] (all: -4 % [−11, +3], p 0.3) · cost $0",
        "-4 [-11 %, +3 %], about [$0.01, $0.02], 12 of 20",
    )
    for text, width in product(texts, range(22, 60)):
        lines = folded(text, width, "  ", "    ")
        assert all(columns(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
        assert not any(line.strip().startswith("%") for line in lines)
        assert all(line.count("[") == line.count("]") for line in lines)
    path = "/a/long/path/that/nobody/cuts.db"
    assert folded(f"saved in {path}", 20, "", "  ", whole=True) == ["saved in", f"  {path}"]


def test_names_and_short_brackets_are_not_torn_where_a_line_holds_them():
    """Names may have separators of their own; one that no line holds is folded like other words."""
    names = ("desk · first draft, with rules", "desk · plain")
    text = (
        f"{names[0]} and {names[1]}: no detectable difference (desk · 3 of 4) · {names[1]} passed"
    )
    for width in range(20, 120):
        lines = folded(text, width, "", "  ", names=names)
        assert max(map(columns, lines)) <= width
        assert " ".join(line.strip() for line in lines) == text
        for name in names:
            if len(name) + 2 <= width:
                assert sum(line.count(name) for line in lines) == text.count(name), (width, lines)
        assert width < 34 or any("(desk · 3 of 4)" in line for line in lines)


def test_a_list_is_folded_between_its_parts_at_any_width():
    """No short part is divided, none is lost, and no line is too long."""
    text = (
        "3 of 4 passed (75 %, 30–95) · 12 calls · 3,060 → 277 tokens · cost unknown · 494 ms"
        " · judge: 8 calls, 2,716 → 187 tokens, cost unknown"
    )
    for width in range(42, 201):
        lines = folded(text, width, "  failed · ", "  ")
        assert max(map(columns, lines)) <= width
        assert " ".join(line.strip() for line in lines) == f"failed · {text}"
        assert not any(line.lstrip().startswith("·") for line in lines)
        assert sum(line.count("cost unknown") for line in lines) == 2, (width, lines)
        for part in ("12 calls", "3,060 → 277 tokens", "2,716 → 187 tokens", "494 ms"):
            assert any(part in line for line in lines), (width, part)
