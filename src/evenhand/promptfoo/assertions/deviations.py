"""Where we differ from promptfoo on purpose."""

from __future__ import annotations

from collections.abc import Mapping

DEVIATIONS: Mapping[str, str] = {
    "errors": "A grader that raises, hangs or returns nothing usable is an error, not a failed assertion with score 0; "
    "an error is never turned into a pass by not-.",
    "judge replies": "A judge's reply without a readable verdict is asked for once more and is then an error; `{}` is "
    "not a pass, a score alone decides only where a threshold is set, and two verdicts that differ, an answer that was "
    "cut off and a score off the scale that our own prompt sets are errors.",
    "data in code": "A variable filled into Python or JavaScript code stays a value: escaped inside quotes, and written as "
    "a literal outside of them.",
    "meteor": "METEOR works here; promptfoo's fails to load what it needs. Forms and stems are matched, not synonyms.",
    "file:// in CSV": "file://grader.py in an __expected cell is a Python assertion.",
    "unknown types": "An unknown assertion type, an invalid pattern or schema and a missing value are found when the "
    "file is read, before anything is sent.",
    "contests": "A column without an output is no contestant of select-best and max-score, so outputs are numbered without "
    "it; promptfoo lets an empty text compete. With one output, the row is an error and the run goes on. A judge that "
    "names none of the outputs, or an assertion without a score, leaves all of them without a verdict. Tags in the "
    "criterion are filled in. A winner without other assertions has the score 1; in promptfoo's format it keeps its 0.",
    "scoring functions": "A scoring function is not asked where an assertion is in error: the test has no verdict. A "
    "function that raises, or returns no verdict, is an error and not a failed test with score 0.",
    "cached latency": "A reply from the cache has the latency of the call that made it.",
}
"""Where we differ from promptfoo on purpose, by subject."""
