"""Are the summaries of our documents good enough for the web page?

    evenhand run examples/documents --offline       scripted replies, no key
    evenhand run examples/documents                 the real model
"""

from summarizer import REFUSAL, summarise

from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers.text import Contains, ContainsAny, Equals

MODEL = "openai:chat:gpt-5-mini"

evals = EvalSet(
    "document summaries",
    data=Dataset.of(
        {"id": "bicycle-street.html", "expected": "22 votes to 9"},
        {"id": "library-hours.html", "expected": "1 September"},
    ),
    model=MODEL,
)


@evals.eval
async def is_fit_for_the_page(case: Case, model: Model, expect: Expect) -> None:
    """Says what was decided, in a few lines of HTML."""
    document = evals.file(case.id).read_text("utf-8")
    summary = await summarise(model, document)

    words = len(summary.split())
    expect(words, at_least=40, at_most=120, label="words", shrinks_to=words / len(document.split()))
    expect(summary, ContainsAny(("<p>", "<strong>")), label="is HTML")
    expect(summary, Contains(case.expected))
    with expect.that("says it without the minutes' headings"):
        assert "<h1>" not in summary


short = EvalSet("documents too short to summarise", model=MODEL)


@short.eval
async def says_so_instead_of_making_something_up(model: Model, expect: Expect) -> None:
    """A sentence is not a document."""
    document = short.file("too-short.html").read_text("utf-8")
    expect(await summarise(model, document), Equals(REFUSAL))
