"""Which language a text is in, as far as a few common words and its script say, and whether a turn changes it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

from evenhand.doors.conversations.fault import Fault, clipped
from evenhand.doors.conversations.rules.moment import Moment, SoFar, plain, words

_COMMON: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        (
            "the and you is are to of in that it for i my have with this be can not on do what would please "
            "want need was me your but if there any like just don't i'm it's yes thanks thank will could how "
            "been from at an a"
        ).split()
    ),
    "de": frozenset(
        (
            "der die das und ich ist nicht sie ein eine zu mit auf für es den im dem mein meine bitte haben "
            "habe wie kann können möchte danke mir ja nein was wir sich auch aber noch von nach bei wurde "
            "wird ihre ihnen keine einen gerne brauche"
        ).split()
    ),
    "fr": frozenset(
        (
            "le la les et je est pas un une des de du en que vous mon ma mes pour dans avec ne ce qui sur "
            "j'ai c'est puis-je voudrais bonjour merci oui non s'il plaît au aux été suis votre nous mais "
            "très d'un d'une l'ai avez besoin peux"
        ).split()
    ),
    "es": frozenset(
        (
            "el la los las y es no un una de que en por para con mi mis me se lo su al del quiero puede "
            "gracias hola sí como pero está estoy tengo necesito favor usted muy más ya fue ha he le sobre "
            "puedo quisiera cuándo dónde qué"
        ).split()
    ),
    "it": frozenset(
        (
            "il lo la gli le e è non un una di che in per con mio mia mi si ho sono grazie vorrei posso come "
            "ma anche questo della del nel alla più bene buongiorno prego sì può avere stato volo bisogno"
        ).split()
    ),
    "pt": frozenset(
        (
            "o os as e é não um uma de que em por para com meu minha eu você obrigado obrigada gostaria posso "
            "como mas está preciso do da no na ao muito mais já foi isso quero olá sim pode tenho"
        ).split()
    ),
    "nl": frozenset(
        (
            "de het een en ik is niet van op dat voor met mijn je u zijn aan te graag kan wil dank hallo ja "
            "nee wat maar ook nog heb bij naar deze dit als kunt wordt"
        ).split()
    ),
    "pl": frozenset(
        (
            "i w na się nie jest to do że z mój moja proszę dziękuję chcę mam czy jak dla za ale od tak"
        ).split()
    ),
    "sv": frozenset(
        (
            "och att det är jag en ett på som för inte med har min vill tack hej kan till av den"
        ).split()
    ),
    "tr": frozenset(
        (
            "ve bir bu için ben benim istiyorum lütfen değil var mı mi ne ile çok teşekkürler merhaba"
        ).split()
    ),
}
_NAMED = re.compile(
    r"\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|swedish|turkish|chinese|mandarin"
    r"|cantonese|japanese|korean|russian|arabic"
    r"|hindi|deutsch|français|español|translate|bilingual|native speaker|language)\b",
    re.IGNORECASE,
)
_SCRIPTS: Mapping[str, str] = {
    "CYRILLIC": "ru",
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "ARABIC": "ar",
    "HEBREW": "he",
    "GREEK": "el",
    "DEVANAGARI": "hi",
    "THAI": "th",
}
_LOOKED_AT = 2_000
_LEAST = 3


def language_of(text: str) -> str:
    """The language of a text as ISO 639-1; empty where it cannot be told: of few words, or of none that are common.

    >>> language_of("Ich möchte meine Bestellung zurückgeben")
    'de'
    """
    text = text[:_LOOKED_AT]
    letters = [char for char in text if char.isalpha()]
    scripts = Counter(
        unicodedata.name(char, "").split(" ")[0] for char in letters if not char.isascii()
    )
    for script, count in scripts.most_common(3):
        # A name in another script does not make a sentence one of that language.
        if script in _SCRIPTS and count >= max(2, 0.4 * len(letters)):
            return (
                "ja"
                if script == "CJK" and (scripts["HIRAGANA"] or scripts["KATAKANA"])
                else _SCRIPTS[script]
            )
    own_words = words(text)
    hits = Counter(
        {name: sum(word in common for word in own_words) for name, common in _COMMON.items()}
    )
    (best, most), (_, second) = hits.most_common(2)
    # Related languages share many of these words, so a narrow lead says nothing.
    return best if most >= _LEAST and most > 1.3 * second else ""


def expected_language(so_far: SoFar) -> str:
    """The language that the user is to speak; empty where nobody knows."""
    if so_far.contract.language:
        return so_far.contract.language.casefold()[:2]
    return so_far.language


def of_language(moment: Moment) -> Iterator[Fault]:
    """The mistake of one who changes the language."""
    expected = expected_language(moment.so_far)
    if not expected:
        return
    spoken = language_of(moment.text)
    if (
        spoken
        and spoken != expected
        and not _speaks(moment.text, expected)
        and plain(moment.text) != plain(moment.so_far.agent_last)
    ):
        yield Fault("wrong-language", f"{spoken}, not {expected}: {clipped(moment.text)}")


def _speaks(text: str, language: str) -> bool:
    """Whether a text has words of a language, too: a greeting in another one does no harm."""
    own_words, common = words(text[:_LOOKED_AT]), _COMMON.get(language, frozenset[str]())
    others = frozenset[str]().union(*(its for name, its in _COMMON.items() if name != language))
    return sum(word in common and word not in others for word in own_words) >= _LEAST - 1


def names_languages(goal: str) -> bool:
    """Whether a goal speaks of languages itself, so that its own says nothing of the user's."""
    return _NAMED.search(goal) is not None
