"""Are the summaries of our documents good enough for the web page?

With scripted replies, without a key: evenhand run examples/documents --offline
With the real models: evenhand run examples/documents
"""

from judges import SummaryJudge
from summarizer import REFUSAL, summarise

from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import CLARITY, Contains, ContainsAny, Equals, Rating

MODEL, JUDGE = "openai:chat:gpt-5-mini", "openai:chat:gpt-5"

evals = EvalSet(
    "document summaries",
    data=Dataset.of(
        {"id": "bicycle-street.html", "expected": "22 votes to 9"},
        {"id": "library-hours.html", "expected": "1 September"},
    ),
    model=MODEL,
    judge=JUDGE,
)


@evals.fixture
def document(case: Case) -> str:
    """The document of the case, from evals/files."""
    return evals.file(case.id).read_text("utf-8")


@evals.eval
async def is_fit_for_the_page(case: Case, document: str, model: Model, expect: Expect) -> None:
    """A few lines of HTML that say what was decided, clearly."""
    summary = await summarise(model, document)

    words = len(summary.split())
    compression = len(document.split()) / max(words, 1)
    expect(words, at_least=40, at_most=100, label="words", compression=compression)
    expect(summary, ContainsAny(("<p>", "<b>", "<i>", "<strong>")), label="is HTML")
    expect(summary, Contains(case.expected))
    expect(summary, Rating(CLARITY), at_least=4)


@evals.eval(tags=["editor"])
async def would_be_printed(document: str, model: Model, expect: Expect) -> None:
    """An editor who has read the document would print the summary, and finds nothing wrong in it."""
    summary = await summarise(model, document)

    judged = await expect.now(summary, SummaryJudge(document=document), at_least=4)
    with expect.that("nothing is wrong in it"):
        assert judged.accuracy.score == 5, judged.accuracy.reasoning


short = EvalSet("too short to summarise", model=MODEL)


@short.eval
async def says_so_and_makes_nothing_up(model: Model, expect: Expect) -> None:
    """A sentence is not a document."""
    document = short.file("too-short.html").read_text("utf-8")
    expect(await summarise(model, document), Equals(REFUSAL))
