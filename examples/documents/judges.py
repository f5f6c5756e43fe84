"""A judge of summaries: it reads the document and the summary, and grades five things, reasons first."""

from evenhand import Message
from evenhand.scorers import CustomJudge, Graded, Judgement


class SummaryJudgement(Judgement):
    """The judge's answer."""

    coverage: Graded[1, 5]
    accuracy: Graded[1, 5]
    clarity: Graded[1, 5]
    brevity: Graded[1, 5]
    overall: Graded[1, 5]


class SummaryJudge(CustomJudge[SummaryJudgement]):
    """How good a summary of a document is. Its score is the grade `overall`."""

    document: str

    def messages(self, output: str) -> list[Message]:
        return [
            Message(
                "system",
                "You edit the web page of a small town. You grade summaries that others wrote.",
            ),
            Message(
                "user",
                "Grade the summary of the document from 1 (unusable) to 5 (ready to be printed):\n"
                "coverage: who is concerned finds what was decided, from when, and at what price.\n"
                "accuracy: nothing in it is wrong, and nothing in it is not in the document.\n"
                "clarity: it is understood at the first reading, without knowing the document.\n"
                "brevity: no sentence could be left out.\n"
                "overall: would you print it?\n\n"
                f"The document:\n{self.fenced(self.document)}\n\nThe summary:\n{output}",
            ),
        ]

    def overall(self, judgement: SummaryJudgement) -> float:
        return judgement.overall.score
