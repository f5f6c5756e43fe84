"""Whether a turn is the user's: it speaks neither as the agent nor as a program, and writes no code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evenhand.doors.conversations.fault import Fault, clipped
from evenhand.doors.conversations.rules.moment import Moment

_DONE = (
    r"(?:processed|cancel(?:l)?ed|booked|rebooked|updated|issued|changed|refunded|initiated|submitted|scheduled|added"
    r"|removed|applied|located|transferred|escalated|created|sent|shipped|reset|activated|credited|upgraded"
    r"|modified)"
)
_THING = (
    r"(?:reservation|booking|refund|order|request|flight|account|ticket|payment|subscription|password|appointment"
    r"|profile|details|information|case|package|parcel|policy|membership|identity|seat|email|card)"
)
_AS_AGENT = re.compile(
    r"\bhow (?:can|may|could) (?:i|we) (?:help|assist|be of (?:help|service|assistance))\b"
    r"|\bwhat can i (?:do for|help) you\b"
    r"|\banything else (?:that )?(?:i|we) (?:can|could|may) (?:help|assist|do for)\b"
    r"|\bthank(?:s| you) for (?:contacting|calling|reaching out|choosing|providing|confirming your"
    r"|being a (?:valued|loyal))\b"
    r"|\b(?:i'd|i would|i'll|i'm|we'd) be (?:more than )?happy to (?:help|assist) (?:you|with (?:your|that))\b"
    r"|\b(?:i'm|i am) happy to (?:help|assist) you\b"
    rf"|\b(?:i've|i have|we've|we have) (?:now |just |successfully |already )*{_DONE} (?:your|you|the refund"
    rf"|a refund|that for you)\b"
    rf"|\byour {_THING}(?: \S+){{0,4}} (?:has|have) (?:now |already |successfully )*been {_DONE}\b"
    rf"|\byour {_THING}(?: \S+){{0,3}} (?:is|are) now {_DONE}\b"
    rf"|\b(?:could|can|would|will) you (?:please |kindly )?(?:provide|share|give|verify|confirm|tell)(?: me"
    rf"| us)?(?: with)? your "
    rf"(?:\w+ ){{0,3}}(?:id|name|number|e-?mail|address|details|birth|dates?|reason|preference|{_THING})\b"
    rf"|\bplease (?:provide|share|verify|confirm|enter)(?: me| us)?(?: with)? your (?:\w+ ){{0,3}}(?:id|name"
    rf"|number|e-?mail|address|details|{_THING})\b"
    r"|\bmay i (?:please )?have your\b|\bcan i (?:please )?(?:get|have) your\b"
    r"|\b(?:i'll|i will|let me) (?:now |just |go ahead and |quickly )?(?:look (?:that|this|it"
    r"|your \w+) up for you|look up your|look into your|pull up your|check (?:on )?(?:your|(?:that"
    r"|this) for you)|process (?:that|this) for you|process your|transfer you|connect you|cancel your"
    r"|book (?:that|this) for you|book your|update your|escalate your)\b"
    r"|\b(?:i'm|i am|i'll be) (?:now )?transferring you\b"
    r"|\bi can see (?:here )?(?:that )?your\b|\bi (?:see|found|have located"
    r"|have found) your (?:\w+ )?(?:reservation|booking|order|account|profile)\b"
    r"|\b(?:per|under|according to|as per) our (?:\w+ )?polic(?:y|ies)\b|\bour (?:\w+ )?polic(?:y"
    r"|ies) (?:do(?:es)?|is|are|states?|allows?)\b"
    r"|\bwe (?:apologi[sz]e|are sorry) for (?:the|any|your)\b|\bi (?:sincerely )?apologi[sz]e for (?:the"
    r"|any) inconvenience\b"
    r"|\bas (?:an? |your )(?:\w+ ){0,2}(?:support|service|booking|airline|help ?desk|sales) (?:agent|assistant"
    r"|representative)\b"
    r"|\bplease (?:hold|bear with me)\b|\bis there (?:anything|something) else you(?:'d| would) like\b"
)
_OPENING_LABEL = re.compile(
    r"^\W{0,4}(?:agent|assistant|support|representative|rep|bot|operator|advisor|system|ai|chatbot"
    r"|customer service(?: agent)?|support agent)\W{0,3}:",
    re.IGNORECASE,
)
_INNER_LABEL = re.compile(
    r"(?:^|\n)[ \t>*_#\[]{0,6}(?:agent|assistant|support|representative|rep|bot|operator|advisor|ai|chatbot|"
    r"customer service(?: agent)?|support agent|tool|function)[*_\]]{0,3}[ \t]*(?:\([^)\n]{0,30}\))?[ \t]*:"
    r"|<\|?(?:im_start\|>|start_header_id\|>)?\s*(?:assistant|agent)\s*\|?>"
    r"|(?<=[.!?…\"”)])[ \t]+[*_\[]{0,3}(?:Agent|Assistant|Representative|Support agent|Support"
    r"|Bot)[*_\]]{0,3}:[ \t]",
    re.IGNORECASE,
)
_OWN_LABEL = re.compile(
    r"(?:^|\n)[ \t>*_#\[]{0,6}(?:user|customer|me|human|client)[*_\]]{0,3}[ \t]*:", re.IGNORECASE
)
_PROGRAM = re.compile(
    r"\b(?:as|i'm|i am|being) (?:just |only |actually )?an? (?:(?:helpful|virtual|large|artificial) )?(?:ai"
    r"|a\.i\.|language model|llm|chat ?bot|virtual assistant|artificial intelligence|computer program)\b"
    r"|\blarge language model\b|\b(?:trained|made|developed|created) by (?:openai|anthropic|google|meta)\b"
    r"|\bi(?:'m| am) (?:chatgpt|claude|gemini|gpt)\b|\bmy (?:training data|knowledge cutoff)\b"
    r"|\bi (?:can't|cannot|can not|am unable to|won't) (?:role-?play|pretend to be|act as|continue (?:this"
    r"|the) (?:role|simulation|conversation)|simulate)\b"
    r"|\bi'm sorry, (?:but )?i (?:can't|cannot) (?:assist|help|comply) with (?:that|this)\b"
)
_PLACEHOLDER = re.compile(
    r"\[(?:your|my|the|insert|enter|user|customer|agent|name|order|e-?mail|phone|date|reservation|account"
    r"|address|booking|id|number|xx+)\b[^\]\n]{0,40}\]"
    r"|\{\{[^}\n]{1,60}\}\}|\$\{[^}\n]{1,60}\}"
    r"|<(?:your|my|insert|enter|user|customer|order|name|e-?mail|phone|date|reservation|account"
    r"|booking)[ _][^>\n]{1,40}>"
    r"|\bxxx+\b|\b(?:insert|fill in) (?:your|my|the) (?:name|order|number|e-?mail)\b|\blorem ipsum\b"
    r"|\b(?:undefined|nan)\b(?=\W*$)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^\s*(?:```|\{\s*\"|\[\s*\{\s*\"|<(?:tool_call|function|invoke|tool)\b)|<tool_call>|<function_calls?>"
    r"|\"(?:tool_calls?|function_call|arguments)\"\s*:"
    r"|^\s*(?:print|return|def|import|curl|select)\b.{0,80}[(;{]|^\s*[a-z_]+_[a-z_]+\((?:[^()\n]{0,200})\)\s*$",
    re.IGNORECASE,
)


def of_role(moment: Moment) -> Iterator[Fault]:
    """The mistakes of one who forgets who it plays."""
    text = moment.text.replace("’", "'")
    lowered = text.lower()
    opening, inner = _OPENING_LABEL.search(text), _INNER_LABEL.search(text)
    if opening:
        yield Fault("swapped-roles", clipped(text))
    elif inner and inner.start() > 0:
        yield Fault("answered-for-agent", clipped(text[inner.start() :]))
    elif len(list(_OWN_LABEL.finditer(text))) > 1:
        yield Fault("answered-for-agent", clipped(text))
    spoken = _AS_AGENT.search(lowered)
    # A label of the agent's was reported above, and the words after it are part of that mistake.
    if spoken and not (opening or inner):
        yield Fault("swapped-roles", clipped(text[spoken.start() : spoken.end()]))
    program = _PROGRAM.search(lowered)
    if program:
        yield Fault("broke-character", clipped(text[program.start() : program.end()]))
    held = _PLACEHOLDER.search(text)
    if held:
        yield Fault("placeholder", clipped(held[0]))
    code = _CODE.search(text)
    if code:
        yield Fault("called-tool", clipped(text[code.start() :]))
