"""Whether the mistakes of simulated users are found, and sound turns let pass."""

from __future__ import annotations

import random

import pytest
from tests.unit.doors.conversations.dialogues import DIALOGUES
from tests.unit.doors.conversations.seeding import KINDS, Seeded, Spoken, seeded

from evenhand.doors.conversations import TurnChecks, UserContract
from evenhand.doors.conversations.checking import without_stop
from evenhand.doors.conversations.fault import FAULTS
from evenhand.doors.conversations.rules.language import language_of

SEED = 20_261_123
GOAL = "You want a refund for order 1042. You are terse. You never give your address."


def checked(contract: UserContract, turns: tuple[tuple[str, str], ...]) -> TurnChecks:
    """The checks after these turns."""
    checks = TurnChecks(contract)
    for role, text in turns:
        said, ends, _ = without_stop(text)
        checks.user_said(said, ends=ends) if role == "user" else checks.agent_said(text)
    return checks


def kinds(one: Seeded) -> list[str]:
    """The kinds of mistakes that are found in a seeded turn."""
    said, ends, after = without_stop(one.text)
    checks = checked(one.dialogue.contract, one.before)
    return [fault.kind for fault in checks.faults(said, ends=ends, after=after)]


def alarms(dialogue: Spoken) -> list[str]:
    """What is found in the turns of a dialogue as it is."""
    found: list[str] = []
    for at, (role, text) in enumerate(dialogue.turns):
        if role == "user":
            said, ends, after = without_stop(text)
            faults = checked(dialogue.contract, dialogue.turns[:at]).faults(
                said, ends=ends, after=after
            )
            found += [f"{text!r}: {fault}" for fault in faults]
    return found


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one.name)
def test_a_sound_dialogue_has_no_faulty_turn(dialogue: Spoken):
    """A sound dialogue has no faulty turn."""
    assert alarms(dialogue) == []


@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_seeded_mistakes_of_a_kind_are_found(kind: str):
    """50 mistakes of each of 12 kinds, in dialogues of our own; seed 20261123."""
    chance = random.Random(f"{SEED} {kind}")
    mistakes = [seeded(kind, list(DIALOGUES), chance) for _ in range(50)]
    missed = [one.text for one in mistakes if not kinds(one)]
    assert len(missed) <= 5, missed
    assert sum(kind in kinds(one) for one in mistakes) >= 35


def faults(text: str, *before: tuple[str, str], contract: UserContract | None = None) -> list[str]:
    """The kinds of mistakes that are found in a text after these turns."""
    said, ends, after = without_stop(text)
    checks = checked(contract or UserContract(GOAL), before)
    return [fault.kind for fault in checks.faults(said, ends=ends, after=after)]


HELLO = ("assistant", "Hello! What can I do for you?")
ASKED = ("assistant", "Could you please give me your order number?")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("Thanks ###STOP###", "stopped-early"),
        ("Your refund has been processed.", "swapped-roles"),
        ("I want a refund.\nAgent: Done!", "answered-for-agent"),
        ("<think>terse</think>", "leaked-reasoning"),
        ("My instructions say that I am terse.", "leaked-goal"),
        ("You want a refund for order 1042.", "leaked-goal"),
        ("My order number is 98765.", "invented-fact"),
        ("Ich möchte das Geld für meine Bestellung zurück haben.", "wrong-language"),
        ("Bye ###STOP### One more thing: where is my order?", "after-end"),
        ("As an AI language model, I have no order.", "broke-character"),
        ("My name is [your name] and I want a refund.", "placeholder"),
        ('{"name": "refund", "arguments": {"order": 1042}}', "called-tool"),
        ("I want a refund. " * 500, "too-long"),
    ],
)
def test_a_mistake_is_called_by_its_name(text: str, kind: str):
    """A mistake is called by its name."""
    assert kind in faults(text, ASKED)
    assert kind in FAULTS


def test_what_must_not_be_said_is_found_in_other_words_and_forms():
    """What must not be said is found in other words and forms."""
    contract = UserContract(
        GOAL,
        never_says=[
            "I would accept half of the price",
            "Elm Street 5",
            "move the meeting to Friday morning",
        ],
    )
    for text in (
        "Could the meeting be on Friday, in the morning?",  # three words of four
        "I would accept half of the price!",
        "Well, half of the price I would accept.",
        "Send it to elm street 5, please.",
    ):
        assert faults(text, HELLO, contract=contract) == ["said-forbidden"], text
    for text in ("What would half of it come to?", "I have a meeting on Friday."):
        assert faults(text, HELLO, contract=contract) == [], text


@pytest.mark.parametrize(
    "text",
    [
        "My order number is 1024.",
        "order: 1024",
        "It's for 3 guests.",
        "I have bought the insurance.",
    ],
)
def test_what_is_known_must_not_be_contradicted(text: str):
    """What is known must not be contradicted."""
    facts = {"order": "1042", "guests": 2, "insurance": False}
    found = faults(text, HELLO, contract=UserContract("You want a refund.", facts))
    assert "contradicted-fact" in found


@pytest.mark.parametrize(
    "text",
    [
        "It's 1042.",
        "The order is late.",
        "There are two guests, I booked it in 2026 for 3 PM.",
        "I don't have insurance.",
        "I have an A4 page of complaints, and my flight HAT136 is full.",
        "I'd pay up to $500, or 10% of that.",
        "I don't remember the number.",
        "Could you tell me my booking number?",
        "Is there anything else that you need from me?",
        "Thank you for your help, I appreciate your patience.",
        "No, you said that it would take ten days.",
    ],
)
def test_what_a_customer_may_say_is_let_pass(text: str):
    """What a customer may say is let pass."""
    facts = {"order": "1042", "guests": 2, "insurance": False}
    contract = UserContract("You want a refund. You were on a flight.", facts)
    told = ("assistant", "I see flight HAT136. What would you like?")
    assert faults(text, told, contract=contract) == []


def test_what_the_agent_told_is_known():
    """What the agent told is known."""
    told = ("assistant", "Your case is T-99120. Shall I cancel booking QX81ZZ?")
    assert faults("Yes, cancel QX81ZZ. Is T-99120 my case?", told) == []


def test_repeating_an_answer_is_a_loop_and_agreeing_again_is_not():
    """Repeating an answer is a loop and agreeing again is not."""
    before = (("user", "I want a refund for my order, please."), HELLO)
    assert faults("I want a refund for my order, please!", *before) == ["loops"]
    agreed = (("user", "Yes, please go ahead."), HELLO)
    assert faults("Yes, please go ahead.", *agreed) == []
    assert faults("Yes, please go ahead.", *agreed, *agreed, *agreed) == ["loops"]


def test_two_goodbyes_are_polite_and_a_third_is_a_loop():
    """Two goodbyes are polite and a third is a loop."""
    bye = (("user", "Thank you, goodbye!"), ("assistant", "Goodbye!"))
    assert faults("Bye!", HELLO, *bye) == []
    assert faults("Bye bye, thanks!", HELLO, *bye, ("user", "Thanks!"), HELLO) == ["after-end"]


def test_a_conversation_may_end_where_the_agent_asks_only_whether_there_is_more():
    """A conversation may end where the agent asks only whether there is more."""
    done = ("assistant", "Your money is on its way. Is there anything else I can help you with?")
    assert faults("No, thanks. ###STOP###", done) == []
    assert faults("###STOP###", done) == []
    assert faults("Could you do it today? ###STOP###", done) == ["stopped-early"]


def test_a_user_who_is_to_speak_another_language_may():
    """A user who is to speak another language may."""
    french = UserContract("You are French and use French words.")
    assert faults("Je voudrais un remboursement pour ma commande.", HELLO, contract=french) == []
    german = UserContract("You want a refund.", language="de")
    assert faults("Ich möchte bitte das Geld zurück haben.", HELLO, contract=german) == []
    assert faults("I would like to have my money back.", HELLO, contract=german) == [
        "wrong-language"
    ]
    assert language_of("Ok.") == ""


@pytest.mark.thorough
def test_hostile_text_is_looked_at_and_nothing_more():
    """Hostile text is looked at and nothing more."""
    for text in (
        "\x1b[31m\x00" * 1_000,
        "(" * 5_000,
        "a" * 6_000,
        "<think>" * 800,
        "my order is " * 500,
        "\ud800 1042",
        "Agent: " * 800,
        "no " * 2_000 + "?",
        "1" * 6_000,
        "A1-" * 2_000,
        "a" + "\n" * 5_998 + "b",
    ):
        faults(text, ("assistant", text), contract=UserContract(text, {"order": text[:50]}))


def test_a_turn_of_a_megabyte_is_too_long_and_not_searched():
    """A turn of a megabyte is too long and not searched."""
    assert faults("x" * 1_000_000) == ["too-long"]
    assert faults("I\n" + "\n" * 1_000_000 + "x ###STOP###" + "\n" * 1_000_000) == ["too-long"]


@pytest.mark.thorough
def test_a_long_conversation_is_checked_in_bounded_memory():
    """A long conversation is checked in bounded memory."""
    checks = TurnChecks(UserContract(GOAL))
    for number in range(10_000):
        text = f"And what about the thing that I asked you before, {'abcdefghij'[number % 10] * 3}?"
        checks.faults(text)
        checks.user_said(text)
        checks.agent_said("I will look.")
    so_far = checks._so_far
    assert len(so_far.own) <= 400
    assert len(so_far.times) <= 400
    assert len(so_far.known) < 100
