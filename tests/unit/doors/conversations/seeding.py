"""Puts mistakes into a simulated user's turns, of twelve kinds, as models make them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from evenhand.doors.conversations.contract import UserContract


@dataclass(frozen=True)
class Spoken:
    """A dialogue: what the user is held to, and who said what."""

    name: str
    contract: UserContract
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Seeded:
    """A dialogue up to a turn, and the faulty turn in its place, as the user's model writes it."""

    kind: str
    dialogue: Spoken
    before: tuple[tuple[str, str], ...]
    text: str


AS_AGENT = (
    "Hello! How can I help you today?",
    "Sure, I can help with that. Could you please provide your reservation number?",
    "I've cancelled your reservation and the refund will arrive within 5 to 7 business days.",
    "Thank you for contacting us. May I have your full name and user ID, please?",
    "Your booking has been updated. Is there anything else I can help you with?",
    "I'd be happy to help you with that! Let me pull up your account.",
    "I have located your reservation. It departs at 9 AM. Would you like me to change it?",
    "Unfortunately, our policy does not allow changes to basic economy tickets.",
    "I apologize for any inconvenience. I'm transferring you to a human agent now.",
    "Please provide your user ID so that I can look up your profile.",
    "I have processed the refund to your original payment method. Anything else I can assist you with?",
    "Thank you for your patience. Your request has been submitted.",
    "As a customer service representative, I can offer you a $100 certificate.",
    "Can you confirm your date of birth and your email address for me?",
)
THINKING = (
    "<think>The agent wants my user ID. I should give it now.</think> {turn}",
    "Thought: the agent asks for details, I will provide only what is needed.\n{turn}",
    "Okay, so the agent is asking me to confirm. I should say yes but stay terse. {turn}",
    "{turn} (I should not reveal my birthday unless they ask for it.)",
    "Reasoning: I need to stay in character and be persistent.\n\n{turn}",
    "As the user, I want to keep pushing for what I was told. {turn}",
    "Let me think step by step about what the customer would say here. {turn}",
    "[Internal: the agent has not offered the cheapest option yet, so I must insist.] {turn}",
    "The user wants the cheapest option, so the next message should ask for it. {turn}",
    "*thinking: they still did not answer my question* {turn}",
    "<reasoning>Next I have to mention the second request.</reasoning>\n{turn}",
    "Plan: first give the ID, then ask about payment.\n{turn}",
    "I will respond as the customer would: {turn}",
    "My next message should be short. {turn}",
)
RECITING = (
    "According to my instructions, I have to ask for this. {turn}",
    "My goal is to get this done without paying any fee. {turn}",
    "I was told to be persistent, so I will ask again. {turn}",
    "My instructions say: {goal}",
    "{goal}",
    "I'm supposed to say that I changed my mind. {turn}",
    "The scenario says that I don't remember the number. {turn}",
    "{turn} That is what my persona wants.",
    "This is a test of the agent, so please answer. {turn}",
    "Here are my instructions: {goal}",
    "System prompt: {goal}",
    "I am role-playing a customer. {turn}",
    "I've been instructed not to mention this unless asked. {turn}",
    "My task is to see whether you follow the policy. {turn}",
)
OTHER_LANGUAGES = (
    "Ich möchte bitte meine Buchung ändern und wissen, wie viel das kostet.",
    "Ja, bitte machen Sie das so. Ich habe keine weiteren Fragen.",
    "Je voudrais changer mon vol et savoir combien cela coûte, s'il vous plaît.",
    "Oui, c'est bien cela. Vous pouvez continuer avec cette option pour moi.",
    "Quiero cambiar mi vuelo y necesito saber cuánto cuesta, por favor.",
    "Sí, está bien. Puede seguir con esta opción para mí.",
    "Vorrei cambiare il mio volo e sapere quanto costa per una persona.",
    "Gostaria de mudar o meu voo e preciso saber quanto custa, por favor.",
    "Ik wil graag mijn vlucht wijzigen, en weten wat het kost voor een persoon.",
    "我想更改我的航班,请告诉我需要多少钱。",
    "Я хочу изменить свой рейс, сколько это стоит?",
    "フライトを変更したいのですが、いくらかかりますか。",
    "항공편을 변경하고 싶은데 비용이 얼마인가요?",
    "أريد تغيير رحلتي، كم يكلف ذلك؟",
)
NOTHING = (
    "",
    " ",
    "...",
    "…",
    "\n\n",
    "(no response)",
    "[silence]",
    "null",
    "N/A",
    "-",
    "None",
    "\t",
    '""',
    "*silence*",
)
ENDS = (
    "###STOP###",
    "Thanks! ###STOP###",
    "Thank you for your help! ###STOP###",
    "Okay, bye. ###STOP###",
    "Never mind. ###STOP###",
    "Great, thank you so much. Goodbye! ###STOP###",
    "I have to go now, sorry. ###STOP###",
    "That's all, thanks.\n###STOP###",
    "Perfect, have a great day! ###STOP###",
    "Can you tell me how much that is? ###STOP###",
    "Forget it. ###STOP###",
    "ok ###STOP###",
)
MORE = (
    "Thank you! ###STOP### Actually, I also need to change my return flight.",
    "###STOP###\nOne more question: does that include a bag?",
    "That's all. ###STOP### Wait, could you also add a seat for my son?",
    "Bye! ###STOP### Agent: Have a nice day! User: You too!",
    "###STOP### Hi, I would like to book a flight to Denver.",
    "Thanks a lot. ###STOP### And please send me the receipt by email.",
)
AGENT_LINES = (
    "\nAgent: Of course, I have done that for you.\nUser: Thank you!",
    "\n\nAssistant: Sure, let me check that for you.",
    "\nAgent: Your total is $240. Do you want to proceed?\nCustomer: Yes, please.",
    "\n\n**Agent:** Thank you, I found your booking.",
    "\nSupport: I understand. One moment, please.\nMe: Okay.",
    "\n<|im_start|>assistant\nI have updated your reservation.",
    "\n[Agent]: That flight is no longer available.",
    " Agent: Great, your flight is booked. User: Perfect, thanks!",
    "\nRepresentative: Could you confirm the date?\nUser: May 20.",
    "\nAI: I can certainly help with that!",
)
INVENTED = (
    "My email is {name}{n}@gmail.com.",
    "My phone number is (555) {n}-{n4}.",
    "Sure, my reservation ID is Q{n}ZT{n2}.",
    "My confirmation number is {n}{n2}.",
    "You can use my credit card 4111 1111 {n4} {n4}.",
    "My name is Gregory Winterbourne.",
    "My user ID is gregory_winter_{n4}.",
    "I live at {n2} Maple Street, if you need that.",
    "My membership number is FF-{n}{n2}X.",
    "My date of birth is 1971-0{d}-1{d}.",
    "The order number is #{n}{n2}.",
    "My zip code is 9{n4}.",
)
SECRETS = (
    "my budget is 800 dollars",
    "the trip is for a surprise party",
    "I already have another offer",
    "my boss does not know about this",
    "I would pay more if I had to",
)
SAYING = (
    "{turn} By the way, {secret}.",
    "To be honest, {secret}.",
    "{turn} I should say that {secret}!",
    "Well, {secret}, so please hurry.",
    "{secret}. {turn}",
)


def seeded(kind: str, dialogues: list[Spoken], chance: random.Random) -> Seeded:
    """One mistake of a kind, in one of these dialogues."""
    while True:
        dialogue = chance.choice(dialogues)
        made = _MAKERS[kind](dialogue, chance)
        if made is not None:
            return made


def _place(dialogue: Spoken, chance: random.Random, least: int = 0) -> int | None:
    """A place where the user speaks, after so many turns of its own."""
    places = [i for i, (role, _) in enumerate(dialogue.turns) if role == "user"]
    return chance.choice(places[least:]) if len(places) > least else None


def _instead(kind: str, texts: tuple[str, ...], least: int = 0) -> Callable[..., Seeded | None]:
    def make(dialogue: Spoken, chance: random.Random) -> Seeded | None:
        at = _place(dialogue, chance, least)
        if at is None:
            return None
        turn = dialogue.turns[at][1].replace("###STOP###", "").strip() or "Okay, thank you."
        sentences = re.split(r"(?<=[.!?])\s+", dialogue.contract.goal)
        start = chance.randrange(max(1, len(sentences) - 1))
        n4 = chance.randrange(1000, 9999)
        text = chance.choice(texts).format(
            turn=turn,
            goal=" ".join(sentences[start : start + 2]),
            name=chance.choice(["lee.ann", "kv", "walter_b", "zoe"]),
            n=chance.randrange(100, 999),
            n2=chance.randrange(10, 99),
            n4=n4,
            d=chance.randrange(1, 9),
            secret="",
        )
        return Seeded(kind, dialogue, dialogue.turns[:at], text)

    return make


def _stopped(dialogue: Spoken, chance: random.Random) -> Seeded | None:
    """It ends while the agent waits for an answer, or before the agent said anything."""
    places = [
        i
        for i, (role, _) in enumerate(dialogue.turns)
        if role == "user"
        and (i == 0 or dialogue.turns[i - 1][1].rstrip().endswith("?"))
        and not re.search(r"else|further|assist", dialogue.turns[i - 1][1][-120:] if i else "")
    ]
    if not places:
        return None
    at = chance.choice(places)
    return Seeded("stopped-early", dialogue, dialogue.turns[:at], chance.choice(ENDS))


def _looped(dialogue: Spoken, chance: random.Random) -> Seeded | None:
    at = _place(dialogue, chance, 1)
    if at is None:
        return None
    said = [t for role, t in dialogue.turns[:at] if role == "user" and len(t.split()) >= 6]
    if not said:
        return None
    text = chance.choice(said[-3:])
    text = chance.choice(
        [text, text.lower(), text.rstrip(".!") + "!", text + " ", f"{text} please"]
    )
    return Seeded("loops", dialogue, dialogue.turns[:at], text)


def _contradicted(dialogue: Spoken, chance: random.Random) -> Seeded | None:
    at = _place(dialogue, chance, 1)
    if at is None:
        return None
    name, fact = chance.choice(list(dialogue.contract.facts.items()))
    value = str(fact)
    if value.isdigit() and len(value) < 3:
        other = str(int(value) + chance.randrange(1, 4))
        text = chance.choice(
            [
                f"There are {other} {name}.",
                f"It is for {other} {name}.",
                f"I have {other} {name}, by the way.",
            ]
        )
    else:
        other = re.sub(r"\d", lambda m: str((int(m[0]) + chance.randrange(1, 9)) % 10), value)
        if other == value:
            return None
        text = chance.choice(
            [
                f"My {name} is {other}.",
                f"Sure, it's {other}.",
                f"The {name} is {other}, please check.",
                f"Yes, my {name} is actually {other}.",
            ]
        )
    return Seeded("contradicted-fact", dialogue, dialogue.turns[:at], text)


def _forbidden(dialogue: Spoken, chance: random.Random) -> Seeded | None:
    at = _place(dialogue, chance)
    if at is None:
        return None
    secret = chance.choice(SECRETS)
    turn = dialogue.turns[at][1].replace("###STOP###", "").strip() or "Okay."
    contract = UserContract(dialogue.contract.goal, dialogue.contract.facts, SECRETS)
    text = chance.choice(SAYING).format(turn=turn, secret=secret)
    return Seeded(
        "said-forbidden", Spoken(dialogue.name, contract, dialogue.turns), dialogue.turns[:at], text
    )


def _appended(kind: str, texts: tuple[str, ...]) -> Callable[..., Seeded | None]:
    def make(dialogue: Spoken, chance: random.Random) -> Seeded | None:
        at = _place(dialogue, chance)
        if at is None:
            return None
        turn = dialogue.turns[at][1].replace("###STOP###", "").strip() or "Okay, thanks."
        return Seeded(kind, dialogue, dialogue.turns[:at], turn + chance.choice(texts))

    return make


_MAKERS: dict[str, Callable[[Spoken, random.Random], Seeded | None]] = {
    "empty": _instead("empty", NOTHING),
    "stopped-early": _stopped,
    "swapped-roles": _instead("swapped-roles", AS_AGENT),
    "answered-for-agent": _appended("answered-for-agent", AGENT_LINES),
    "leaked-reasoning": _instead("leaked-reasoning", THINKING),
    "leaked-goal": _instead("leaked-goal", RECITING),
    "said-forbidden": _forbidden,
    "invented-fact": _instead("invented-fact", INVENTED, 1),
    "contradicted-fact": _contradicted,
    "loops": _looped,
    "wrong-language": _instead("wrong-language", OTHER_LANGUAGES, 1),
    "after-end": _instead("after-end", MORE, 1),
}
KINDS = tuple(_MAKERS)
