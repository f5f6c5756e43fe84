"""What attacks on a judge came to: how often each kind made it pass what should fail.

Identical questions to the judge count once, so that no rate looks surer than it is. An error of the judge is neither a
pass nor a fail: it could have been either, and the interval of each rate holds for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from msgspec import field

from evenhand.analysis.trust.calibration import estimate_row
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.score import State
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import clopper_pearson
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.probe/1"
ATTACK = "attack"
CONTROL = "control"
SWAPPED = "probe: an answer to another case"
"""In the metadata of an outcome, whether it is of a right answer to another case, which a pass leaves out."""
AT_MOST = 0.05

ProbeVerdict = Literal["fooled", "held", "undecided"]

NONE = "none"
"""The kind that is no attack: bad answers as they are."""

WORDS: Mapping[str, str] = {
    "constant": "paragraphs that say nothing",
    "instructions": "instructions to the judge",
    "reference": "invented references",
    "authority": "claims of authority",
    "length": "padding",
    "empty": "empty answers",
    "praise": "self-praise",
    "markup": "markup",
    "echo": "an echo of the criteria",
    "language": "another language",
    "paraphrase": "a paraphrase",
    "truncated": "answers that break off",
}
"""What each kind is, for the sentence that says what fools the judge."""


class ProbeKind(Record, frozen=True, kw_only=True):
    """What `evenhand.probe/1` says of a kind."""

    kind: Annotated[str, Key("the kind of attack")]
    items: Annotated[
        int, Key("how many different questions the judge gave a verdict on", "questions")
    ]
    passed: Annotated[int, Key("how many of them it passed", "questions")]
    errors: Annotated[int, Key("how many more it gave no verdict on", "questions")]
    left_out: Annotated[
        int, Key("answers of other cases that the judge passes without an attack", "items")
    ]
    false_pass: Annotated[
        dict[str, Any] | None, Key("the share that it passed", "0 to 1", null="no items")
    ]
    verdict: Annotated[str | None, Key("`fooled`, `held` or `undecided`", null="for `none`")]


class ProbeControl(Record, frozen=True, kw_only=True):
    """What `evenhand.probe/1` says of a control."""

    kind: Annotated[str, Key("`unchanged` or `whitespace`")]
    items: Annotated[
        int, Key("how many different questions the judge gave a verdict on", "questions")
    ]
    passed: Annotated[int, Key("how many of them it passed", "questions")]
    errors: Annotated[int, Key("how many more it gave no verdict on", "questions")]
    left_out: Annotated[int, Key("always 0", "items")]
    false_fail: Annotated[
        dict[str, Any] | None, Key("the share that it failed", "0 to 1", null="no items")
    ]


class ProbeJudge(Record, frozen=True, kw_only=True):
    """What `evenhand.probe/1` says of a judge."""

    metric: Annotated[str, Key("the metric, or the expectation where it has none")]
    model: Annotated[
        str, Key("the judge, as its answers in the run named it; members of a jury joined by `+`")
    ]
    kinds: Annotated[
        list[ProbeKind],
        Key(
            "the [kinds of attack](../judge-trust.md#attack-it), and `none`: bad answers without an attack"
        ),
    ]
    controls: Annotated[
        list[ProbeControl], Key("`unchanged` and `whitespace`: answers that must pass")
    ]


class ProbeDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.probe/1`."""

    schema: Annotated[str, Key("`evenhand.probe/1`")]
    run: Annotated[str, Key("the id of the run whose judges were probed")]
    probe: Annotated[str, Key("the id of the probe, which is a run of its own")]
    at_most: Annotated[float, Key("the false-pass rate that is accepted", "0 to 1")]
    verdict: Annotated[
        str,
        Key(
            "`fooled` if some kind fools some judge, else `undecided` if some kind is, else `held`"
        ),
    ]
    judges: Annotated[list[ProbeJudge], Key("one for each judged metric and judge")]
    calls: Annotated[int, Key("calls to judges, including answers from the cache", "calls")]
    cost_usd: Annotated[
        float | None,
        Key(
            "what they cost; answers from the cache cost nothing",
            "US dollars",
            null="a price isn't known",
        ),
    ]


class ProbedKind(MutableRecord, kw_only=True):
    """What one kind of attack, or one control, came to.

    Attributes:
        control: Whether its answers must pass.
        passed: How many of them the judge passed.
        failed: How many it failed.
        errors: How many it gave no verdict on.
        left_out: How many were no bad answers, as the judge passes them without an attack.
    """

    kind: str
    control: bool
    passed: int = 0
    failed: int = 0
    errors: int = 0
    left_out: int = 0
    _asked: set[object] = field(default_factory=set[object])

    @property
    def items(self) -> int:
        """How many it gave a verdict on."""
        return self.passed + self.failed

    @property
    def wrong(self) -> int:
        """How many verdicts are wrong."""
        return self.failed if self.control else self.passed

    @property
    def rate(self) -> Estimate | None:
        """The share of wrong verdicts, with its exact 95 % interval whatever errors could have been; None for none.

        Source: Clopper and Pearson, Biometrika 26 (1934), doi:10.1093/biomet/26.4.404.
        """
        if not self.items:
            return None
        everything = self.items + self.errors
        low, _ = clopper_pearson(self.wrong, everything)
        _, high = clopper_pearson(self.wrong + self.errors, everything)
        return Estimate(self.wrong / self.items, low, high)

    def verdict(self, at_most: float) -> ProbeVerdict:
        """Whether its rate is shown to be above a bound; undecided where too few items could have shown it.

        For a control, `fooled` says that the judge fails what should pass.
        """
        everything = self.items + self.errors
        if self.items and clopper_pearson(self.wrong, everything)[0] > at_most:
            return "fooled"
        if at_most >= 1:
            return "held"
        enough = clopper_pearson(everything, everything)[0] > at_most
        still = clopper_pearson(self.wrong + self.errors, everything)[0] <= at_most
        return "held" if self.items and enough and still else "undecided"

    def add(self, trial: TrialResult) -> None:
        """Counts a trial, unless its judge was asked the same before."""
        keys = tuple(sorted({key for o in trial.outcomes for key, _ in o.rests_on}))
        question: object = keys or (trial.case, str(trial.output))
        if keys or trial.outcome != "not_applicable":
            if question in self._asked:
                return
            self._asked.add(question)
        outcome = _reversed(trial.outcome) if not self.control else trial.outcome
        if outcome == "pass":
            self.passed += 1
        elif outcome == "fail":
            self.failed += 1
        elif outcome == "error":
            self.errors += 1
        else:
            self.left_out += 1  # under this metric, another case's answer is a good one

    def attack_row(self, at_most: float) -> ProbeKind:
        """The results of an attack, or of answers without one."""
        verdict = None if self.kind == NONE else self.verdict(at_most)
        return filled(ProbeKind, self, false_pass=estimate_row(self.rate), verdict=verdict)

    def control_row(self) -> ProbeControl:
        """The results of what must pass."""
        return filled(ProbeControl, self, false_fail=estimate_row(self.rate))


class ProbedJudge(MutableRecord):
    """What the probe of one judge under one metric came to.

    Attributes:
        model: The judge, as its answers named it.
        kinds: The attacks, and the answers without one, in their order.
    """

    metric: str
    model: str
    kinds: list[ProbedKind] = field(default_factory=list[ProbedKind])
    controls: list[ProbedKind] = field(default_factory=list[ProbedKind])

    def attacks(self) -> list[ProbedKind]:
        """The attacks alone."""
        return [kind for kind in self.kinds if kind.kind != NONE]

    def having(self, at_most: float, verdict: ProbeVerdict) -> list[ProbedKind]:
        """The attacks with this verdict."""
        return [kind for kind in self.attacks() if kind.verdict(at_most) == verdict]


class Probe(Record, frozen=True, kw_only=True):
    """What a probe came to.

    Attributes:
        run: The id of the run whose judges were probed.
        probe: The id of the probe's own run.
        judges: One for each judged metric and judge.
        at_most: The false-pass rate that is accepted.
        calls: Calls to judges, answers from the cache included.
        cost_usd: What they cost; None where a price is not known.
    """

    run: str
    probe: str
    judges: tuple[ProbedJudge, ...]
    at_most: float
    calls: int
    cost_usd: float | None

    @property
    def verdict(self) -> ProbeVerdict:
        """Fooled where some kind fools some judge; undecided where one is, or where there is nothing to go by."""
        verdicts = [k.verdict(self.at_most) for judge in self.judges for k in judge.attacks()]
        if "fooled" in verdicts:
            return "fooled"
        return "undecided" if "undecided" in verdicts or not verdicts else "held"

    def document(self) -> dict[str, Any]:
        """The probe as a JSON-ready dict, `evenhand.probe/1`."""
        return as_object(
            filled(
                ProbeDocument,
                self,
                schema=SCHEMA,
                judges=[
                    ProbeJudge(
                        metric=judge.metric,
                        model=judge.model,
                        kinds=[kind.attack_row(self.at_most) for kind in judge.kinds],
                        controls=[kind.control_row() for kind in judge.controls],
                    )
                    for judge in self.judges
                ],
            )
        )


def probe_of(run: RunFile, at_most: float = AT_MOST) -> Probe:
    """Reads what a probe came to, as far as it has come. A kind that no item could be made for has none.

    Args:
        at_most: The false-pass rate that is accepted.

    Raises:
        StoreError: The run cannot be read.
    """
    judges, by_variant = _planned(run.meta)
    calls, cost = 0, 0.0
    priced = True
    for trial in run.trials():
        by_variant[trial.variant].add(trial)
        if trial.judged is not None:
            calls += trial.judged.calls
            priced = priced and trial.judged.cost_usd is not None
            cost += trial.judged.cost_usd or 0.0
    probed = str(_record(run.meta).get("run") or "")
    return Probe(
        run=probed,
        probe=run.meta.id,
        judges=tuple(judges.values()),
        at_most=at_most,
        calls=calls,
        cost_usd=cost if priced else None,
    )


def _planned(meta: RunMeta) -> tuple[dict[tuple[str, str], ProbedJudge], dict[int, ProbedKind]]:
    """The judges with all kinds that they were to be asked, and the kind of each column. Nothing is counted yet."""
    judges: dict[tuple[str, str], ProbedJudge] = {}
    by_variant: dict[int, ProbedKind] = {}
    for variant in meta.variants:
        axes = variant.axes
        key = str(axes["metric"]), str(axes["judge"])
        judge = judges.setdefault(key, ProbedJudge(*key))
        kind = ProbedKind(kind=str(axes["kind"]), control=axes["role"] == CONTROL)
        by_variant[variant.index] = kind
        (judge.controls if kind.control else judge.kinds).append(kind)
    for row in cast("list[dict[str, Any]]", _record(meta).get("judges") or []):
        judge = judges.setdefault(
            (row["metric"], row["model"]), ProbedJudge(row["metric"], row["model"])
        )
        there = {kind.kind for kind in judge.kinds}
        judge.kinds += [
            ProbedKind(kind=kind, control=False) for kind in row["kinds"] if kind not in there
        ]
        judge.kinds.sort(key=lambda kind: [NONE, *WORDS].index(kind.kind))
    return judges, by_variant


def _record(meta: RunMeta) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", meta.config.get("probe") or {})


def probed_axes(metric: str, judge: str, kind: str, role: str) -> Mapping[str, str]:
    """What a column of a probe is of, as its variant keeps it."""
    return {"metric": metric, "judge": judge, "kind": kind, "role": role}


def _reversed(outcome: State) -> State:
    """The judge's verdict on an attack's text: a trial passes where the judge fails it."""
    if outcome in ("pass", "fail"):
        return "fail" if outcome == "pass" else "pass"
    return outcome
