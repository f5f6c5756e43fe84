"""The languages besides Python and JavaScript that graders may be written in: a program of the machine runs each.

How this works: a language is a row of `CODE_LANGUAGES`, and a script beside this file that is written in that language.
The script reads `{file, function, code, arguments}` as JSON from its standard input, calls the function, and writes
`{value}`, or `{error, at}`: what it did instead, and the line. See `ruby_grader.rb`. Nothing else knows of a language.
"""

from __future__ import annotations

from evenhand.core.record import Record


class CodeLanguage(Record, frozen=True, kw_only=True):
    """A language that a program of the machine runs.

    Attributes:
        name: The language, as people write it.
        ending: How the names of its files end.
        program: What runs it, where nothing names another one.
        setting: The key of an assertion's config that names another program.
        variable: The environment variable that does.
        script: The file in this folder that the program is started with.
        mapping: What it calls an object with keys.
        example: An expression that reads a variable of the test.
    """

    type: str
    name: str
    ending: str
    program: str
    setting: str
    variable: str
    script: str
    mapping: str
    example: str


CODE_LANGUAGES = (
    CodeLanguage(
        type="ruby",
        name="Ruby",
        ending=".rb",
        program="ruby",
        setting="rubyExecutable",
        variable="PROMPTFOO_RUBY",
        script="ruby_grader.rb",
        mapping="hash",
        example="output.include?(context['vars']['name'])",
    ),
)

TYPES = frozenset(language.type for language in CODE_LANGUAGES)
ENDINGS = tuple(language.ending for language in CODE_LANGUAGES)


def language_of(path: str) -> CodeLanguage | None:
    """The language of a file, by how its name ends; None for any other file.

    >>> language_of("graders/tone.rb").name, language_of("tone.py")
    ('Ruby', None)
    """
    return next((one for one in CODE_LANGUAGES if path.endswith(one.ending)), None)
