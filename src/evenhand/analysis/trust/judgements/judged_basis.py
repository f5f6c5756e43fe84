"""What judged numbers depend on beside the judge's prompt: the system, the data, and how each judge was asked.

Each eval of a run has its own: more cases of one eval say nothing of another. A system is what was sent and what
answered. What its prompt's file or its variant is called counts only where nothing is known of what was sent, and then
without its eval set: runs of several sets call a variant by that, too.

How a sample of cases tells an edited case from an edited prompt: a prompt as sent has the case's text in it, so an
edited case changes its digest as an edited prompt does. But a case that is the same in both runs was sent another
prompt only if the prompt was edited. The sample is the cases with the lowest digests: two runs with mostly the same
cases have mostly the same sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evenhand.core.application_code import ApplicationCode, judges_code
from evenhand.core.encoding import digest, encode
from evenhand.core.record import Record
from evenhand.core.request_settings import settings_in
from evenhand.core.run import CallStart, TrialResult, is_of_pytest
from evenhand.core.variant import Variant
from evenhand.store.groups import named_cluster
from evenhand.store.runfile import RunFile


class Basis(Record, frozen=True, kw_only=True):
    """What the judged numbers of a run, or of some of its evals, depend on.

    Attributes:
        system: A digest of what was judged: prompts as sent, models as answered, settings.
        data: A digest of the cases.
        clusters: A digest of which of them belong together, whatever the key is called that says so.
        settings: For each judge, a digest of the settings that it was asked with.
        models: A digest of what answered: the system without its prompts.
        written: A digest of the prompts as they were written; the same for all where that is not known.
        cases: What was sent about some of the cases.
    """

    system: str
    data: str
    clusters: str
    settings: Mapping[str, str]
    models: str
    written: str
    cases: CaseSample


def name_alone(variant: Variant) -> str:
    """A variant's prompt as a run of its eval set alone calls it.

    >>> name_alone(Variant(0, "many slugs: many · terse", "m", eval="many slugs: many"))
    'many · terse'
    """
    sets, _, name = variant.eval.rpartition(": ")
    if sets and name.isidentifier() and variant.prompt.startswith(variant.eval):
        return variant.prompt.removeprefix(f"{sets}: ")
    return variant.prompt


def name_with_set(variant: Variant) -> str:
    """A variant's prompt as a run of several eval sets calls it.

    >>> name_with_set(Variant(0, "many · terse", "m", eval="many slugs: many"))
    'many slugs: many · terse'
    """
    sets, _, name = variant.eval.rpartition(": ")
    alone = name_alone(variant)
    return f"{sets}: {alone}" if sets and alone.startswith(name) else alone


def is_called(variant: Variant, prompt: str, model: str) -> bool:
    """Whether these are a variant's names, in a run of its eval set alone or of several."""
    return variant.model == model and prompt in (name_alone(variant), name_with_set(variant))


class Parts:
    """Collects what each eval of a run consists of. Only digests are kept, each of them once.

    In a session of pytest, each test is an eval: a later session may be of some tests.
    """

    def __init__(self, title: str, variants: Sequence[Variant]) -> None:
        if is_of_pytest(title, variants):
            variants = [replace(one, eval=one.prompt) for one in variants]
        self._variants = variants
        self._evals = [variant.eval for variant in variants]
        self._several = len(set(self._evals)) > 1
        self._eval_of_trial: dict[int, str] = {}
        self._prompts: list[set[str]] = [set() for _ in variants]
        self._answering: list[set[str]] = [set() for _ in variants]
        self._cases: defaultdict[str, set[str]] = defaultdict(set)
        self._clusters: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        self._samples: defaultdict[str, CaseSample] = defaultdict(CaseSample)
        self._subject: defaultdict[str, set[str]] = defaultdict(set)
        self._judges: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(
            lambda: defaultdict(set)
        )

    @property
    def variants(self) -> Sequence[Variant]:
        """The run's variants, each with its eval."""
        return self._variants

    def eval_of(self, trial: TrialResult) -> str:
        """The eval that a trial is of; empty where a config says what is run."""
        return self._evals[trial.variant]

    def add(self, trial: TrialResult) -> str:
        """Adds a trial, and returns the digest of its case.

        One that came to no answer, or was not asked, says nothing of the model, or the prompt.
        """
        name = self.eval_of(trial)
        case = digest(encode([trial.case, trial.vars, trial.input, trial.expected]))
        # With one eval there is nothing to tell apart, and a million trials take memory.
        if self._several:
            self._eval_of_trial[trial.index] = name
        if trial.prompt:
            prompt = digest(trial.prompt)
            self._prompts[trial.variant].add(prompt)
            self._samples[name].add(case, "system", prompt)
        if trial.answer.model:
            self._answering[trial.variant].add(trial.answer.model)
        self._cases[name].add(case)
        key = self._variants[trial.variant].cluster
        if cluster := named_cluster(key, trial.vars, trial.metadata):
            self._clusters[name].add((cluster, case))
        return case

    def add_calls(self, run: RunFile) -> None:
        """Adds the settings that subjects and judges were asked with, by the model that answered."""
        for call in run.calls():
            end = call.end
            if end is None or end.error:
                continue
            name = self._eval_of_trial.get(call.start.trial, "")
            if call.start.role == "judge":
                self._judges[name][end.model].add(_judge_settings(call.start, run.meta.code))
            elif call.start.role == "subject":
                self._subject[name].add(settings_in(call.start.identity))

    def system_of(self, variant: int) -> str:
        """A digest of what one variant is: the same under another name."""
        prompts = self._prompts[variant] or {f"called {name_alone(self._variants[variant])}"}
        return _digest_of([*prompts, "", *self._answers_of(variant)])

    def _answers_of(self, variant: int) -> list[str]:
        """What answers in a variant, and with which axes."""
        one = self._variants[variant]
        axes = {
            name: str(value) for name, value in one.axes.items() if name not in ("prompt", "model")
        }
        models = self._answering[variant] or {f"called {one.model}"}
        return [*models, encode(axes).decode("utf-8", "replace")]

    def basis(self, evals: Iterable[str] | None = None) -> Basis:
        """What these evals depend on; all of them if none are named."""
        names = set(self._evals) if evals is None else set(evals)
        keys = names if self._several else {"", *names}
        variants = [v for v in self._variants if v.eval in names]
        systems = [self.system_of(v.index) for v in variants]
        models = sorted(_digest_of(self._answers_of(v.index)) for v in variants)
        subject = [settings for key in keys for settings in self._subject[key]]
        settings: defaultdict[str, set[str]] = defaultdict(set)
        for key in keys:
            for model, digests in self._judges[key].items():
                settings[model] |= digests
        return Basis(
            system=_digest_of([*systems, *subject]),
            data=_digest_of(case for name in names for case in self._cases[name]),
            clusters=_partition(one for name in names for one in self._clusters[name]),
            settings={model: _digest_of(digests) for model, digests in settings.items()},
            models=digest(*models, "", *sorted(set(subject)))[:16],
            written=_digest_of(v.prompt_raw for v in variants),
            cases=CaseSample.joined(self._samples[name] for name in names),
        )


def _judge_settings(asked: CallStart, code: ApplicationCode) -> str:
    own = judges_code(code, asked.provider)
    # A run of an earlier version knows nothing of it beside its folder.
    return (
        digest(settings_in(asked.identity), own)
        if own
        else settings_in(asked.identity, with_code=True)
    )


def _partition(members: Iterable[tuple[str, str]]) -> str:
    """A digest of which cases belong together: of each cluster's name and one of its cases, one by one."""
    clusters: defaultdict[str, list[str]] = defaultdict(list)
    for cluster, case in members:
        clusters[cluster].append(case)
    # One case alone belongs to nothing, whatever that is called.
    return _digest_of(_digest_of(cases) for cases in clusters.values() if len(cases) > 1)


def _digest_of(parts: Iterable[str]) -> str:
    return digest(*sorted(set(parts)))[:16]


KEPT = 20
"""Cases in a sample: few enough for a file that is committed."""
_LETTERS = 8
Aspect = str
"""What a part is of, as `bound` calls it: `system`, `judge prompt` or `criteria`."""
SampledCases = Mapping[str, Mapping[Aspect, str]]
"""By the start of a case's digest and the aspect: the starts of the digests of what was asked, divided by spaces."""


class CaseSample:
    """Collects what was asked about the cases of a run, and keeps little of it however many there are."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[Aspect, set[str]]] = {}

    def add(self, case: str, aspect: Aspect, part: str) -> None:
        """Adds a part of what was asked about a case; both are digests."""
        self._parts.setdefault(case, {}).setdefault(aspect, set()).add(part[:_LETTERS])
        # Not at every case: sorting is worth it once there are many to drop.
        if len(self._parts) > 8 * KEPT:
            # A case that is dropped is none of the lowest any more, whatever follows.
            self._parts = {one: self._parts[one] for one in sorted(self._parts)[:KEPT]}

    def parts(self) -> Iterator[tuple[str, Aspect, str]]:
        """All that it knows: case, aspect, part."""
        for case, aspects in self._parts.items():
            for aspect, parts in aspects.items():
                for part in parts:
                    yield case, aspect, part

    @classmethod
    def joined(cls, samples: Iterable[CaseSample]) -> CaseSample:
        """One of all that these know; empty for none."""
        whole = cls()
        for sample in samples:
            for case, aspect, part in sample.parts():
                whole.add(case, aspect, part)
        return whole

    def sample(self) -> SampledCases:
        """The sample, as a file keeps it."""
        return {
            case[:_LETTERS]: {
                aspect: " ".join(sorted(parts)) for aspect, parts in self._parts[case].items()
            }
            for case in sorted(self._parts)[:KEPT]
        }


def asked_alike(before: SampledCases, now: SampledCases, aspect: Aspect) -> bool | None:
    """Whether the cases that are in both samples were asked about in the same way; None where none is in both.

    A trial in error may lack a part, so one run may know more of a case than the other.
    """
    alike: bool | None = None
    for case in before.keys() & now.keys():
        parts = [set(sample[case].get(aspect, "").split()) for sample in (before, now)]
        if all(parts):
            if not (parts[0] <= parts[1] or parts[1] <= parts[0]):
                return False
            alike = True
    return alike
