"""Questions asked of an output: each a small frozen class with a one-line `str`, the label that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazily
from evenhand.scorers.catalog import scorers

if TYPE_CHECKING:
    from evenhand.scorers.agents.step_checks import NeverFails as NeverFails
    from evenhand.scorers.agents.step_checks import NeverLoops as NeverLoops
    from evenhand.scorers.agents.step_checks import NeverRepeats as NeverRepeats
    from evenhand.scorers.agents.step_checks import NeverSucceeds as NeverSucceeds
    from evenhand.scorers.agents.step_checks import OnlyCalls as OnlyCalls
    from evenhand.scorers.agents.step_checks import Recovers as Recovers
    from evenhand.scorers.agents.step_checks import Succeeds as Succeeds
    from evenhand.scorers.agents.step_measures import StepCost as StepCost
    from evenhand.scorers.agents.step_measures import StepCount as StepCount
    from evenhand.scorers.agents.step_measures import StepDuration as StepDuration
    from evenhand.scorers.agents.step_measures import TokenCount as TokenCount
    from evenhand.scorers.agents.tool_calls import CallsTool as CallsTool
    from evenhand.scorers.agents.tool_calls import CallsTools as CallsTools
    from evenhand.scorers.agents.trajectory_judges import AchievesGoal as AchievesGoal
    from evenhand.scorers.agents.trajectory_judges import TrajectoryPasses as TrajectoryPasses
    from evenhand.scorers.avoids import Avoids as Avoids
    from evenhand.scorers.custom_judge import CustomJudge as CustomJudge
    from evenhand.scorers.evaluators import Autoevals as Autoevals
    from evenhand.scorers.evaluators import DeepEval as DeepEval
    from evenhand.scorers.evaluators import PydanticEvals as PydanticEvals
    from evenhand.scorers.evaluators import Ragas as Ragas
    from evenhand.scorers.final_state import LeavesState as LeavesState
    from evenhand.scorers.function import FunctionScorer as FunctionScorer
    from evenhand.scorers.judge_schema import Graded as Graded
    from evenhand.scorers.judge_schema import Judgement as Judgement
    from evenhand.scorers.jury import Jury as Jury
    from evenhand.scorers.label import Label as Label
    from evenhand.scorers.limits import Cost as Cost
    from evenhand.scorers.limits import FirstToken as FirstToken
    from evenhand.scorers.limits import Latency as Latency
    from evenhand.scorers.passes import Passes as Passes
    from evenhand.scorers.preferred import Preferred as Preferred
    from evenhand.scorers.rag.contexts import ContextPrecision as ContextPrecision
    from evenhand.scorers.rag.contexts import ContextRecall as ContextRecall
    from evenhand.scorers.rag.contexts import ContextRelevance as ContextRelevance
    from evenhand.scorers.rag.contexts import ContextUtilization as ContextUtilization
    from evenhand.scorers.rag.correctness import Correctness as Correctness
    from evenhand.scorers.rag.entities import EntityRecall as EntityRecall
    from evenhand.scorers.rag.faithfulness import Faithfulness as Faithfulness
    from evenhand.scorers.rag.faithfulness import Hallucination as Hallucination
    from evenhand.scorers.rag.noise import NoiseSensitivity as NoiseSensitivity
    from evenhand.scorers.rag.relevance import AnswerRelevance as AnswerRelevance
    from evenhand.scorers.rag.relevance import Completeness as Completeness
    from evenhand.scorers.rag.similarity import SemanticSimilarity as SemanticSimilarity
    from evenhand.scorers.rag.summarisation import Summarisation as Summarisation
    from evenhand.scorers.ranking import Ranking as Ranking
    from evenhand.scorers.rating import Rating as Rating
    from evenhand.scorers.retrieval import AveragePrecision as AveragePrecision
    from evenhand.scorers.retrieval import HitAt as HitAt
    from evenhand.scorers.retrieval import PrecisionAt as PrecisionAt
    from evenhand.scorers.retrieval import RecallAt as RecallAt
    from evenhand.scorers.retrieval import ReciprocalRank as ReciprocalRank
    from evenhand.scorers.retrieval import nDCG as nDCG
    from evenhand.scorers.rubric import ACCURACY as ACCURACY
    from evenhand.scorers.rubric import CLARITY as CLARITY
    from evenhand.scorers.rubric import HELPFULNESS as HELPFULNESS
    from evenhand.scorers.rubric import Rubric as Rubric
    from evenhand.scorers.structured import ContainsJson as ContainsJson
    from evenhand.scorers.structured import IsJson as IsJson
    from evenhand.scorers.text import Contains as Contains
    from evenhand.scorers.text import ContainsAll as ContainsAll
    from evenhand.scorers.text import ContainsAny as ContainsAny
    from evenhand.scorers.text import Equals as Equals
    from evenhand.scorers.text import Matches as Matches
    from evenhand.scorers.text import StartsWith as StartsWith
    from evenhand.scorers.wording import BLEU as BLEU
    from evenhand.scorers.wording import METEOR as METEOR
    from evenhand.scorers.wording import ROUGE as ROUGE
    from evenhand.scorers.wording import EditDistance as EditDistance
    from evenhand.scorers.wording import ExactMatch as ExactMatch
    from evenhand.scorers.wording import TokenF1 as TokenF1
    from evenhand.scorers.wording import chrF as chrF

_HOMES = {
    **{entry.name: entry.home for entry in scorers()},
    "ACCURACY": "rubric",
    "CLARITY": "rubric",
    "Graded": "judge_schema",
    "HELPFULNESS": "rubric",
    "Judgement": "judge_schema",
    "Ranking": "ranking",
    "Rubric": "rubric",
}
__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll] (made when asked for)  # noqa: PLE0604 (names)
__getattr__, __dir__ = lazily(__name__, _HOMES)
