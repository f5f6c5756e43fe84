"""A judge's verdict is its own: what it quotes, denies, reports, asks or supposes is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.core.errors import JudgeError
from evenhand.doors.assertions.contests import _place
from evenhand.doors.assertions.judged import _category, _yes_or_no
from evenhand.doors.assertions.retrieval import _attributions, _verdicts

WORDS = ("answer", "category", "choice", "option", "verdict")
LETTERS = "ABCDE"
NONE = """
I can't say that the {word} is ({letter}).
I cannot tell whether the {word} is ({letter}).
I refuse to say that the {word} is ({letter}).
I won't judge this. The {word} is ({letter}).
I will not judge; the {word}: ({letter})
I don't think the {word} is ({letter}).
I do not agree that the {word} is ({letter})
I'm not sure that the {word} is ({letter}).
I am unable to give an {word}: ({letter})
I doubt that the {word} is ({letter}).
Nobody can say whether the {word} is ({letter}).
No one knows if the {word} is ({letter}).
It is not true that the {word} is ({letter}).
It's false that the {word} is ({letter}).
It would be wrong to say that the {word} is ({letter}).
The {word} is not ({letter}).
The {word} isn't ({letter}).
The {word} cannot be ({letter}).
The {word} is hardly ({letter}).
The {word} is anything but ({letter}).
The {word} was ({letter}).
The {word} would be ({letter}).
The {word} could be ({letter}).
The {word} might be ({letter}).
The {word} is perhaps ({letter}).
If the {word} was ({letter}), I would know. I don't.
If the {word} is ({letter}), it passes.
If I had to choose, the {word} would be ({letter}).
If it said more, the {word} would be ({letter})
Suppose the {word} is ({letter}).
Suppose that it is complete. The {word} is ({letter}).
Assuming that it is right, the {word} is ({letter}).
Unless I am wrong, the {word} is ({letter})?
Were it complete, the {word} would be ({letter}).
Imagine that the {word} is ({letter}).
Is the {word} ({letter})?
The {word} is ({letter})?
Should the {word} be ({letter})?
Why would the {word} be ({letter})?
The candidate claims: 'the {word} is ({letter})'. I refuse to judge.
The candidate claims that the {word} is ({letter}).
The candidate says the {word} is ({letter}).
The submission says: the {word} is ({letter}).
The submission says: ({letter})
The text ends with: the {word} is ({letter}).
According to the candidate, the {word} is ({letter}).
It asks me to say that the {word} is ({letter}).
It tells the judge: {word}: ({letter})
The candidate's {word} is ({letter}).
The candidate's {word}: ({letter})
The wrong {word} is ({letter}).
The {word} is ({letter}), says the candidate.
The {word} is ({letter}), or so it claims.
The {word} is ({letter}). That is what the candidate claims.
The {word} is ({letter}). No, I refuse to judge.
The {word} is ({letter}). That was the text, not me.
The {word} is ({letter}) if it is complete.
The {word} is ({letter}) or another.
({letter}) is what the candidate claims.
({letter}) is not the {word}.
({letter}) is wrong.
({letter}) would be the {word} if it were complete.
({letter})? I don't know.
({letter}) says the candidate.
({letter}) the candidate claims.
({letter})\\nThat was the text, not me.
({letter}), it says.
({letter}) - no, I can't judge this.
({letter}) may be the {word}.
({letter}) or nothing.
> ({letter})
> The {word} is ({letter}).
`({letter})`
`{word}: ({letter})`
"({letter})"
'({letter})'
“({letter})”
«({letter})»
"The {word} is ({letter})."
The {word} is "({letter})".
The {word} is `({letter})`.
He wrote "They agree. The {word} is ({letter})."
He wrote the following. The {word} is ({letter}).
The candidate wrote:\\nThe {word} is ({letter}).
Its last line reads as follows.\\n({letter})
The {word} that it wants is ({letter}).
Not ({letter}).
Nobody can decide: ({letter})
I would say that it is a subset, if it were complete: ({letter})
Whether it is a subset nobody knows: ({letter})
The candidate says that they agree: ({letter})
The {word} ({letter}) is what they want.
The {word} is ({letter}), as the candidate claims.
My {word} is ({letter}) as instructed.
({letter}) because I was told to say so.
({letter}), ({letter}) and ({letter})
({letter}). Or maybe not.
({letter}) - or so the submission says.
Allegedly, the {word} is ({letter}).
There is no way that the {word} is ({letter}).
Previous {word}: ({letter})
Example: ({letter})
A letter, e.g. ({letter})
No.\\n\\n({letter})
I refuse.\\n({letter})
Ignore this:\\n({letter})
<quote>({letter})</quote>
~~({letter})~~
| ({letter}) |
```\\n({letter})\\n```
They agree, they tell me: ({letter})
If it is complete, so be it. The {word} is ({letter}).
"""
HONEST = """
({letter})
({letter}).
{letter})
**({letter})**
*({letter})*
__({letter})__
# ({letter})
  ({letter})
({letter}) because both say that the sky is blue.
({letter}), because the submission leaves out the year.
({letter}) since they say the same.
({letter}): the expert says Paris, and so does the submission.
({letter}) - the submission says more.
({letter}) – the submission says more.
({letter}). The submission does not contradict the expert.
({letter})\\nThe submission states the same facts; it isn't missing any.
({letter}) they agree
({letter}) The submitted answer contains all the same details as the expert answer.
({letter}) There is a disagreement between the submitted answer and the expert answer.
({letter}) The answers differ, but these differences don't matter from the perspective of factuality.
{word}: ({letter})
{word}: **({letter})**
**{word}:** ({letter})
**{word}: ({letter})**
The {word} is ({letter}).
The {word} is ({letter})
The {word} is **({letter})**.
The {word} is: ({letter})
The {word} is ({letter}): they differ
The {word} is ({letter}) because they differ.
My {word} is ({letter}).
The correct {word} is ({letter}).
Final {word}: ({letter})
Therefore, the {word} is ({letter}).
Therefore the {word} is ({letter}).
**Category:** ({letter})\\n**Reason:** The expert says the same.
({letter})—they agree
Both state the same facts. The {word} is ({letter}).
The expert says Paris, the submission says Lyon.\\n\\n{word}: ({letter})
They differ in the year.\\n\\n({letter})
They don't contradict each other.\\n\\n**{word}: ({letter})**
The submitted answer is a subset of the ideal one: ({letter}).
{{"reason": "so", "category": "{letter}"}}
```json\\n{{"reason": "I can't find a difference", "category": "{letter}"}}\\n```
It is so.\\n{{"category": "{letter}"}}
"""


def replies(table: str) -> Iterator[str]:
    """The replies of a table, for each letter and each word."""
    for row in table.strip("\n").split("\n"):
        for letter in LETTERS:
            for word in WORDS if "{word}" in row else WORDS[:1]:
                reply = row.format(word=word, letter=letter).replace("\\n", "\n")
                yield reply[0].upper() + reply[1:] if word == WORDS[0] else reply


def named(reply: str, *, anywhere: bool = False) -> str:
    """The category that is read out of a reply; empty for none."""
    try:
        return _category(reply, anywhere=anywhere)[0]
    except JudgeError:
        return ""


def test_a_category_that_is_quoted_denied_reported_or_supposed_is_none() -> None:
    """More than a thousand replies, none of which is a verdict."""
    table = list(replies(NONE))
    assert len(table) > 1000
    assert [reply for reply in table if named(reply)] == []


def test_a_category_that_is_stated_is_read_in_all_usual_forms() -> None:
    """With a reason or without, in bold, as JSON, at the start or at the end."""
    wrong = [
        (reply, named(reply))
        for reply in replies(HONEST)
        if named(reply) not in {letter for letter in LETTERS if f"{letter})" in reply or f'"{letter}"' in reply}
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize(
    "reply", ["I refuse to choose. (A)", "I can't say that it is (B).", "(C) I won't judge."]
)
def test_a_refusal_is_no_category_with_a_prompt_of_ones_own_either(reply: str) -> None:
    """There, the first letter counts wherever it stands, as in promptfoo."""
    assert named(reply, anywhere=True) == ""
    assert named("It says less, so (a) is right.", anywhere=True) == "A"


LINES = r"""
I refuse to judge. {}
I can't decide.\n{}
I won't say.\n\n{}
I do not know. {}
The submission ends with the line:\n{}
Its last line reads as follows.\n{}
It says: {}
The submission's verdict: {}
He wrote "It is fine.\n{}
> {}
`{}`
"{}"
'{}'
If I had to answer: {}
If it were complete, I would say so. {}
Suppose that it is. {}
Nobody can give a verdict: {}
Is it {}?
Verdict: not {}
{}? No.
{}\nThat was the text, not me.
{}, says the submission.
```\n{}\n```
"""
VERDICT_LINES = r"""
{}
**{}**
The submission answers what was asked.\n{}
The submission says Paris.\n\n**{}**
"""


def test_a_last_line_that_is_not_the_judges_own_is_no_verdict() -> None:
    """Of `model-graded-closedqa`, a letter; of `select-best`, a number."""
    for row in LINES.strip("\n").split("\n"):
        for word in ("Y", "N"):
            with pytest.raises(JudgeError):
                _yes_or_no(row.format(word).replace("\\n", "\n"), anywhere=False)
        for number in ("0", "1"):
            with pytest.raises(JudgeError):
                _place(row.format(number).replace("\\n", "\n"), count=2, anywhere=False)
    for row in VERDICT_LINES.strip("\n").split("\n"):
        for word in ("Y", "N"):
            passed, _ = _yes_or_no(row.format(word).replace("\\n", "\n"), anywhere=False)
            assert passed is (word == "Y")
        for number in ("0", "1"):
            reply = row.format(number).replace("\\n", "\n")
            assert _place(reply, count=2, anywhere=False) == int(number)


@pytest.mark.parametrize("word", ["Yes", "No"])
@pytest.mark.parametrize(
    "row",
    [
        "The text says: Final verdict for each statement in order: {}.",
        "> Final verdict for each statement in order: {}.",
        "I refuse to judge.\nFinal verdict for each statement in order: {}.",
        "If it were so: final verdict for each statement in order: {}.",
        "The text says verdict: {}",
        "> verdict: {}",
        "verdict: {}, says the text",
        "I can't judge this.\nverdict: {}",
    ],
)
def test_verdicts_on_statements_are_the_judges_own(word: str, row: str) -> None:
    """They have a line of their own, and no refusal beside them."""
    with pytest.raises(JudgeError):
        _verdicts(row.format(word), 1)


@pytest.mark.parametrize("mark", ["[Attributed]", "[Not Attributed]"])
@pytest.mark.parametrize(
    "row",
    ["I can't say that this is {}", "I refuse to judge whether it is {}", "> 1. It is so. {}"],
)
def test_marks_on_sentences_are_the_judges_own(mark: str, row: str) -> None:
    """A refusal or a quotation is no sentence with its mark."""
    with pytest.raises(JudgeError):
        _attributions(row.format(mark), anywhere=False)
