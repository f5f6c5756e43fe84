"""A judge's reply is read where it means one thing, and refused where it does not."""

from __future__ import annotations

import pytest

from evenhand.core.errors import JudgeError
from evenhand.scorers.judge_reply import read_ruling, yes_or_no


@pytest.mark.parametrize(
    ("text", "passed", "score"),
    [
        ('{"reason": "r", "pass": true, "score": 0.8}', True, 0.8),
        (
            'Let me think.\n```json\n{"pass": false, "score": 0.2, "reason": "no"}\n```\n',
            False,
            0.2,
        ),
        ("{'pass': True, 'score': 0.5}", True, 0.5),
        ('{"pass": true, "score": 1.0, // fine\n "reason": "a",}', True, 1.0),
        ('{"pass": "yes", "score": "0.7"}', True, 0.7),
        ('{"pass": "No"}', False, None),
        ('{"pass": true}', True, None),
        ('{"score": 0.3}', None, 0.3),
        ('{"pass": null, "score": 0}', None, 0.0),
        ('{"pass": true, "score": 1} {"pass": true, "score": 1.0, "reason": "again"}', True, 1.0),
        ('The scale is {0, 1}. {"thought": "hm"} {"pass": true, "score": 1}', True, 1.0),
        ('[{"pass": true, "score": 0.9}]', True, 0.9),
        ('{"reason": "he wrote {\\"pass\\": false}", "pass": true}', True, None),
        ('{"reason": "two\nlines", "pass": true}', True, None),
        ('{"pass": true, "verdict": "yes", "score": 0.9731}', True, 0.9731),
        ('It says `{"pass": true}`, which I ignore. {"pass": false}', False, None),
        ('> {"pass": true}\nquotes itself.\n{"pass": false, "score": 0}', False, 0.0),
        ('```{"pass": true, "score": ".5"}```', True, 0.5),
        ('{"pass": true, "score": "04e-1"}', True, 0.4),
    ],
)
def test_a_verdict_is_found_in_prose_fences_and_sloppy_json(text, passed, score):
    """What means one thing is read, whatever stands around it."""
    ruling = read_ruling(text)
    assert (ruling.passed, ruling.score) == (passed, score)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "I cannot judge this.",
        "PASS",
        "8/10",
        "{}",
        "[]",
        '{"reason": "good"}',
        '{"pass": null, "score": null}',
        '{"score": NaN}',
        '{"pass": true, "score": NaN}',
        '{"score": Infinity}',
        '{"score": -Infinity, "pass": false}',
        '{"score": "8/10"}',
        "{score: 8/10, pass: true}",
        '{"score": "85%"}',
        '{"score": "high"}',
        '{"score": true}',
        '{"score": [1]}',
        '{"score": {"value": 1}}',
        '{"pass": true, "score": 5}',
        '{"pass": true, "score": -0.1}',
        '{"pass": true, "score": 1e999}',
        '{"pass": "maybe"}',
        '{"pass": 1}',
        '{"pass": []}',
        '{"pass": true, "score": 0.9} or rather {"pass": false, "score": 0.1}',
        '{"pass": true, "score": 0.9} {"pass": true, "score": 0.8}',
        '{"pass": true} {"score": 0.1}',
        '{"pass": true, "pass": false}',
        '{"pass": true, "pass": true}',
        '{"pass": true, "score": 1.0000001}',
        "{pass: true, score: 1_0}",
        '{"pass": true, "score": "1_0"}',
        '{"pass": true, "score": "٣"}',
        '{"pass": true, "score": 1}. No, that was the text.',
        'The output holds {"pass": true, "score": 1} and I will not judge it.',
        'The output ends with "{"pass": true, "score": 1}"',
        'It says `{"pass": true, "score": 1}`',
        '> {"pass": true, "score": 1}',
        '```json\n{"pass": true, "score": 1}\n```\nThat was the text, not me.',
        '[{"pass": true}] and more',
        '{"pass": true, "score": 1}]',
        '{"pass": true, "score": 0.',
        '{"pass": true, "score": 0.5, "reason": "tr',
        '{"reason": "he said "no" to it", "pass": false, "inner": {"pass": true}}',
        '{"result": {"pass": true, "score": 1}}',
        "{" * 50_000,
        '{"a":' * 50_000,
    ],
    ids=lambda text: repr(text[:40]),
)
def test_what_could_mean_another_thing_is_refused(text):
    """Half a verdict, two verdicts, and numbers that are none are errors, never scores."""
    with pytest.raises(JudgeError):
        read_ruling(text)


def test_a_judge_with_a_prompt_of_the_users_has_a_scale_of_its_own():
    """We do not know the user's scale, so only what is no number is refused."""
    assert read_ruling('{"pass": true, "score": 8}', scale=None).score == 8
    with pytest.raises(JudgeError, match="not a number"):
        read_ruling('{"pass": true, "score": NaN}', scale=None)


def test_the_last_reason_is_kept_and_need_not_be_text():
    """Of two verdicts that agree, the one that ends the reply is kept."""
    assert (
        read_ruling('{"pass": true, "reason": "first"} {"pass": true, "reason": "b"}').reason == "b"
    )
    assert read_ruling('{"pass": true, "reason": ["a"]}').reason == "['a']"
    assert read_ruling('{"pass": true, "reason": null}').reason == ""


def test_a_refusal_quotes_the_reply_cut_short():
    """The message shows what the judge said, on one line."""
    with pytest.raises(JudgeError) as caught:
        read_ruling("No\nverdict " * 200)
    assert len(caught.value.message) < 300
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("said", "quoted"),
    [("maybe", "neither yes nor no: 'maybe'"), (3, "neither yes nor no: 3"), ("x" * 500, "x…")],
)
def test_a_value_is_quoted_once_and_not_at_any_length(said: object, quoted: str):
    """A text stands in one pair of quotes, as the judge wrote it."""
    with pytest.raises(JudgeError) as told:
        yes_or_no(said)
    assert str(told.value).endswith(quoted)
