"""What there is to expect of an output in Python: the list behind `evenhand scorers` and the docs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One question, in the word that a config uses for it.

    Attributes:
        name: The word; in Python, the scorer's class.
        home: The module that has it, below `evenhand.scorers`; empty for what is not in Python.
        kind: What it looks at.
        description: What it says of an output.
        value: What it is given.
        needs: What it cannot do without: a judge, a bound; empty for nothing.
        negated: How its opposite is written; empty where it has none.
    """

    name: str
    home: str
    kind: str
    description: str
    value: str = ""
    needs: str = ""
    negated: str = ""


_CHECK, _MEASURE, _TOOL = (
    "verbs: they check, and want no bound",
    "nouns: they measure, and want at_least or at_most",
    "tools",
)
_RAG = "nouns about an answer and its passages: a judge gives itemised verdicts, and we count"
_RETRIEVED = "nouns about retrieved passages: a list of texts, the best first; a judge reads them"
_RANKING = "nouns about a ranking: a list of ids, the best first; no model is asked"
_WORDING = "nouns about wording; no model is asked"
_LIST = "list of texts"
_IDS = "relevant ids, or grades by id"
_REFERENCES = "text, or list of texts"
_A_BOUND = "a bound"
_BOTH = "a judge, a bound"
_A_JUDGE = "a judge"

_PYTHON = (
    Entry("Equals", "text", _CHECK, "the output is exactly this", "text, object or list"),
    Entry("Contains", "text", _CHECK, "the output has this text in it", "text"),
    Entry("ContainsAny", "text", _CHECK, "the output has one of these texts in it", _LIST),
    Entry("ContainsAll", "text", _CHECK, "the output has each of these texts in it", _LIST),
    Entry("StartsWith", "text", _CHECK, "the output begins with this text", "text"),
    Entry("Label", "label", _CHECK, "the output is this one of some labels", "text"),
    Entry(
        "Matches",
        "text",
        _CHECK,
        "a JavaScript regular expression matches in the output",
        "pattern",
    ),
    Entry(
        "IsJson",
        "structured",
        _CHECK,
        "the output is JSON, and fits the schema",
        "JSON Schema, optional",
    ),
    Entry(
        "ContainsJson",
        "structured",
        _CHECK,
        "a JSON object in it fits the schema",
        "JSON Schema, optional",
    ),
    Entry("Latency", "limits", _CHECK, "the model answered within so many milliseconds", "number"),
    Entry("Cost", "limits", _CHECK, "the answer cost at most so many US dollars", "number"),
    Entry(
        "FunctionScorer",
        "function",
        _CHECK,
        "a function of yours says so; give the function itself, or this for its opposite",
        "function",
        negated="~FunctionScorer(…)",
    ),
    Entry("Passes", "passes", _CHECK, "a judge says that it meets the criteria", "text", _A_JUDGE),
    Entry(
        "Preferred",
        "preferred",
        _CHECK,
        "a judge prefers it to another output, in both orders",
        "over=, criteria=",
        _A_JUDGE,
    ),
    Entry(
        "Rating",
        "rating",
        _MEASURE,
        "a judge's score by a rubric",
        "Rubric or text",
        "a judge, a bound",
    ),
    Entry(
        "Faithfulness",
        "rag.faithfulness",
        _RAG,
        "which share of its claims the contexts support",
        "contexts",
        _BOTH,
    ),
    Entry(
        "Hallucination",
        "rag.faithfulness",
        _RAG,
        "which share they do not support; less is better",
        "contexts",
        _BOTH,
    ),
    Entry(
        "AnswerRelevance",
        "rag.relevance",
        _RAG,
        "which share of it is about the question",
        "question",
        _BOTH,
    ),
    Entry(
        "Completeness",
        "rag.relevance",
        _RAG,
        "which share of the question's parts it answers",
        "question",
        _BOTH,
    ),
    Entry(
        "Correctness",
        "rag.correctness",
        _RAG,
        "Fβ over its claims and the reference's",
        "reference",
        _BOTH,
    ),
    Entry(
        "NoiseSensitivity",
        "rag.noise",
        _RAG,
        "which share of its claims is wrong and comes from the contexts; less is better",
        "contexts, reference=",
        _BOTH,
    ),
    Entry(
        "ContextUtilization",
        "rag.context_precision",
        _RAG,
        "which share of the contexts it uses",
        "contexts",
        _BOTH,
    ),
    Entry(
        "Summarisation",
        "rag.summarisation",
        _RAG,
        "a summary's faithfulness, its coverage of key claims, or its compression",
        "source, of=",
        _BOTH,
    ),
    Entry(
        "SemanticSimilarity",
        "rag.similarity",
        _RAG,
        "the cosine of its embedding and the reference's",
        "reference, embedder=",
        "an embedder, a bound",
    ),
    Entry(
        "ContextRecall",
        "rag.contexts",
        _RETRIEVED,
        "which share of the reference's claims they support",
        "reference",
        _BOTH,
    ),
    Entry(
        "ContextPrecision",
        "rag.context_precision",
        _RETRIEVED,
        "how many of the first k are useful; with ranked=, average precision",
        "reference, k=",
        _BOTH,
    ),
    Entry(
        "ContextRelevance",
        "rag.contexts",
        _RETRIEVED,
        "which share of their text bears on the question",
        "question",
        _BOTH,
    ),
    Entry(
        "EntityRecall",
        "rag.entities",
        _RETRIEVED,
        "which share of the reference's entities stands in them",
        "reference, entities=",
        _BOTH,
    ),
    Entry(
        "nDCG",
        "retrieval",
        _RANKING,
        "how near the order comes to the best one: nDCG@k",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "PrecisionAt",
        "retrieval",
        _RANKING,
        "which share of the first k is relevant: P@k",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "RecallAt",
        "retrieval",
        _RANKING,
        "which share of what is relevant is among the first k: R@k",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "HitAt",
        "retrieval",
        _RANKING,
        "1 where something relevant is among the first k: hit@k",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "ReciprocalRank",
        "retrieval",
        _RANKING,
        "1 divided by the rank of the first that is relevant: RR",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "AveragePrecision",
        "retrieval",
        _RANKING,
        "precision at each relevant rank, over all relevant: AP",
        _IDS,
        _A_BOUND,
    ),
    Entry(
        "ExactMatch",
        "wording",
        _WORDING,
        "1 where its words are those of a reference",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "TokenF1",
        "wording",
        _WORDING,
        "F1 of the words shared with a reference",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "ROUGE",
        "wording",
        _WORDING,
        "F1 of words, pairs, or the longest subsequence shared",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "BLEU",
        "wording",
        _WORDING,
        "sentence BLEU as sacrebleu has it, from 0 to 1",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "chrF",
        "wording",
        _WORDING,
        "n-grams of characters shared with a reference, from 0 to 1",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "METEOR",
        "wording",
        _WORDING,
        "how well its words align with a reference's, by form and stem",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "EditDistance",
        "wording",
        _WORDING,
        "characters to change to get a reference",
        _REFERENCES,
        _A_BOUND,
    ),
    Entry(
        "CustomJudge",
        "custom_judge",
        _MEASURE,
        "a judge of your own; a verdict of its own needs no bound",
        "your class",
        "a judge, a bound",
    ),
    Entry(
        "Jury",
        "jury",
        _MEASURE,
        "several judges' vote, or the mean of their scores; a vote needs no bound",
        "judges, of=",
        "judges",
    ),
    Entry(
        "CallsTool",
        "tools",
        _TOOL,
        "the reply calls this tool, with these arguments",
        "name, arguments",
        "a reply that lists its calls",
        "~CallsTool(…)",
    ),
    Entry(
        "CallsTools",
        "tools",
        _TOOL,
        "the reply calls these tools, in any order, exactly, or among others",
        "list of names or CallsTool",
        "a reply that lists its calls",
    ),
)


def scorers() -> Sequence[Entry]:
    """All scorers of `evenhand.scorers`, in groups, in the order in which people look for them."""
    return _PYTHON
