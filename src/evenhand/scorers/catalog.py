"""What there is to expect of an output in Python: the list behind `evenhand info scorers` and the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.core.record import Record


class Entry(Record, frozen=True, kw_only=True):
    """One question, in the word that a config uses for it.

    Attributes:
        name: The word; in Python, the scorer's class.
        home: The module that has it, below `evenhand.scorers`; empty for what is not in Python.
        kind: What it looks at.
        description: What it says of an output.
        needs: What it cannot do without: a judge, a bound; empty for nothing.
        negated: How its opposite is written; empty for what measures, which has none.
    """

    name: str
    home: str
    kind: str
    description: str
    value: str = ""
    needs: str = ""
    negated: str = ""


_EITHER = ("CustomJudge", "Ragas")
"""What they give depends on what they are made of."""

_TABLE = """
# Checks (pass or fail)
Equals | text | text, object or list | the output is exactly this
Contains | text | text | the output has this text in it
ContainsAny | text | list of texts | the output has one of these texts in it
ContainsAll | text | list of texts | the output has each of these texts in it
StartsWith | text | text | the output begins with this text
Label | label | text | the output is this label, of several possible ones
Matches | text | pattern | a JavaScript regular expression matches in the output
IsJson | structured | JSON Schema, optional | the output is JSON, and fits the schema
ContainsJson | structured | JSON Schema, optional | a JSON object in it fits the schema
Latency | limits | number | the model answered within this many milliseconds
Cost | limits | number | the answer cost at most this many US dollars
FunctionScorer | function | function | your function decides; give the function itself, or this for its opposite
# Evaluators of other libraries
PydanticEvals | evaluators | its object | an evaluator of pydantic-evals decides, or measures
DeepEval | evaluators | its object, contexts= | a metric of DeepEval decides, by its own threshold
# Evaluators of other libraries | a bound
Ragas | evaluators | its object, contexts= | what a metric of Ragas measures
Autoevals | evaluators | its object, contexts= | what a scorer of autoevals measures
# Checks (pass or fail) | a judge
Passes | passes | text | a judge says that it meets the criteria
Avoids | avoids | text | a judge says that it has no failure of this kind
Preferred | preferred | over=, criteria= | a judge prefers it to another output, in both orders
# Measures (a number; set at_least or at_most) | a judge, a bound
Rating | rating | Rubric or text | a judge's score by a rubric
# Measures of an answer and its passages: a judge labels items, Evenhand computes the scores | a judge, a bound
Faithfulness | rag.faithfulness | contexts | which share of its claims the contexts support
Hallucination | rag.faithfulness | contexts | which share they do not support; less is better
AnswerRelevance | rag.relevance | question | which share of it is about the question
Completeness | rag.relevance | question | which share of the question's parts it answers
Correctness | rag.correctness | reference | Fβ over its claims and the reference's
NoiseSensitivity | rag.noise | contexts, reference= | which share of its claims is wrong and comes from the contexts; less is better
ContextUtilization | rag.contexts | contexts | which share of the contexts it uses
Summarisation | rag.summarisation | source, of= | a summary's faithfulness, its coverage of key claims, or its compression
# Measures of an answer and its passages: a judge labels items, Evenhand computes the scores | an embedder, a bound
SemanticSimilarity | rag.similarity | reference, embedder= | the cosine of its embedding and the reference's
# Measures of retrieved passages: a list of texts, the best first; a judge reads them | a judge, a bound
ContextRecall | rag.contexts | reference | which share of the reference's claims they support
ContextPrecision | rag.contexts | reference, k= | how many of the first k are useful; with ranked=, average precision
ContextRelevance | rag.contexts | question | which share of their text bears on the question
EntityRecall | rag.entities | reference, entities= | which share of the reference's entities they name
# Measures of a ranking: a list of ids, the best first; no model is called | a bound
nDCG | retrieval | relevant ids, or grades by id | how near the order comes to the best one: nDCG@k
PrecisionAt | retrieval | relevant ids, or grades by id | which share of the first k is relevant: P@k
RecallAt | retrieval | relevant ids, or grades by id | which share of what is relevant is among the first k: R@k
HitAt | retrieval | relevant ids, or grades by id | 1 where something relevant is among the first k: hit@k
ReciprocalRank | retrieval | relevant ids, or grades by id | 1 divided by the rank of the first that is relevant: RR
AveragePrecision | retrieval | relevant ids, or grades by id | precision at each relevant rank, over all relevant: AP
# Measures of wording; no model is called | a bound
ExactMatch | wording | text, or list of texts | 1 where its words are those of a reference
TokenF1 | wording | text, or list of texts | F1 of the words shared with a reference
ROUGE | wording | text, or list of texts | F1 of words, pairs, or the longest subsequence shared
BLEU | wording | text, or list of texts | sentence BLEU as sacrebleu has it, from 0 to 1
chrF | wording | text, or list of texts | n-grams of characters shared with a reference, from 0 to 1
METEOR | wording | text, or list of texts | how well its words align with a reference's, by form and stem
EditDistance | wording | text, or list of texts | characters to change to get a reference
# Measures (a number; set at_least or at_most) | a judge, a bound
CustomJudge | custom_judge | your class | a judge of your own; a verdict of its own needs no bound
# Measures (a number; set at_least or at_most) | judges
Jury | jury | judges, of= | several judges' vote, or the mean of their scores; a vote needs no bound
# Tools | a reply that lists its calls
CallsTool | agents.tool_calls | name, arguments | the reply calls this tool, with these arguments
CallsTools | agents.tool_calls | list of names or CallsTool | the reply calls these tools: in any order, exactly, among others, or in order
OnlyCalls | agents.step_checks | list of names or CallsTool | no other tools than these are called
# Steps of an agent: the output's, if it has any, or else the trial's | steps
Succeeds | agents.step_checks | name, arguments | a call of this tool succeeded
NeverSucceeds | agents.step_checks | name, arguments | no call of this tool succeeded, although it may have been tried
NeverFails | agents.step_checks | name, optional | no step failed, or none of this tool's
Recovers | agents.step_checks | name, by=; optional | each failed call is followed by one that succeeds
NeverRepeats | agents.step_checks | name, optional | no call is made twice
NeverLoops | agents.step_checks | times= | the same calls don't come 3 times in a row
LeavesState | final_state | state, read= | the world, read by a function, is left like this
# Steps of an agent: the output's, if it has any, or else the trial's | steps, a judge
AchievesGoal | agents.trajectory_judges | text | a judge who sees all steps says that the goal was reached
TrajectoryPasses | agents.trajectory_judges | text | a judge who sees all steps says that they meet the criteria
# Steps of an agent: the output's, if it has any, or else the trial's | steps, a bound
StepCount | agents.step_measures | kind, name; optional | how many steps there are
TokenCount | agents.step_measures |  | the tokens of all model calls
StepCost | agents.step_measures |  | what all steps cost, in US dollars
StepDuration | agents.step_measures |  | seconds from the first step to the last
# Steps of an agent: the output's, if it has any, or else the trial's | a bound
FirstToken | limits |  | seconds until the answer began
"""  # noqa: E501 (a row is a line)
"""Groups of scorers, each with a head that says what they look at and what they need; and of each scorer its name, its
module, what it is given, and what it says of an output."""


def _entries(table: str) -> Iterator[Entry]:
    kind = needs = ""
    for line in table.strip().splitlines():
        if line.startswith("#"):
            kind, _, needs = line.removeprefix("# ").partition(" | ")
            continue
        name, home, value, description = line.split(" | ")
        measures = "a bound" in needs and name not in _EITHER
        yield Entry(
            name=name,
            home=home,
            kind=kind,
            description=description,
            value=value,
            needs=needs,
            negated="" if measures else f"~{name}(…)",
        )


_PYTHON = tuple(_entries(_TABLE))


def scorers() -> Sequence[Entry]:
    """All scorers of `evenhand.scorers`, in groups, in the order in which people look for them."""
    return _PYTHON
