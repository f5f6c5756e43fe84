"""Gates: what a prompt has to show before it is promoted, and whether what it has shown is still about what it is.

Evidence counts for the prompt, its cases and its hooks as they are now, for the model that it is sent to, at its
vendor's address, for the whole of its suite, judged by whom its files name, and where it ended well. A text that is
sent again is the same use; a row whose run says something else is none. Everything else is history. What counts, and
what does not, is said in each gate's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.record import Record
from evenhand.core.wording.bounds import as_written, beside
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.content import content_of
from evenhand.doors.prompt_directories.eval_yml import EvalFile, read_eval
from evenhand.doors.prompt_directories.evidence import (
    EVALS,
    USAGE,
    Row,
    number,
    oldest_first,
    promotions_of,
    read,
)
from evenhand.doors.prompt_directories.evidence_rules import (
    Evidence,
    Uses,
    full_evals,
    has_its_run,
    latest_of_runs,
    not_an_eval,
    uses,
)
from evenhand.doors.prompt_directories.hooks import is_hook
from evenhand.doors.prompt_directories.library import EVAL, VERIFY
from evenhand.doors.prompt_directories.prompt import STATUSES, Promotion, PromptFolder, Status
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.project import project_for
from evenhand.languages.templates.plain import names_in
from evenhand.providers.addresses import shown_host
from evenhand.providers.roster import model_id

NAMED = 5
"""So many failed cases are named."""
USES: dict[Status, int] = {"tested": 3, "ready": 10}

State = Literal["current", "stale", "forced", "waived", "none"]
"""Its evidence is about what it is now · about something else · it was promoted without · its meta.yml asks for none ·
it has no need of any."""


class Gate(Record, frozen=True):
    """One thing that is asked for, and how it stands.

    Attributes:
        name: `uses`, `eval`, `trials`, `interval` or `reruns`.
        line: What was found, in words: models, judges, addresses, distinct uses and reruns among them.
    """

    name: str
    met: bool
    line: str

    def __str__(self) -> str:
        return f"{'✓' if self.met else '✗'} {self.name}: {self.line}"


class Standing(Record, frozen=True):
    """Whether a prompt's evidence holds for the status that it has, and what is missing.

    Attributes:
        gates: How each gate of that status stands; none for a draft.
    """

    state: State
    missing: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()


def evidence_of(
    prompt: PromptFolder,
    suite: EvalFile | None = None,
    runs: KeptRuns | None = None,
    *,
    must_be_here: bool = False,
) -> Evidence:
    """A prompt's evidence.

    Args:
        suite: Its eval.yml, where it has been read already.
        runs: Where rows are held against their runs.
        must_be_here: Whether rows count only if their runs are there.
    """
    judge = project_for(prompt.library.root).judge
    return Evidence(
        usage=read(prompt.path / USAGE),
        evals=read(prompt.path / EVALS),
        promotions=promotions_of(prompt.path, prompt.meta.status),
        content=content_of(prompt, suite),
        model=sent_to(prompt, suite),
        own_model=model_id(prompt.meta.model),
        asks=prompt.meta.promotion,
        constant=not names_in(prompt.template),
        project_judge=model_id(judge.id) if judge else "",
        runs=runs,
        must_be_here=must_be_here and prompt.meta.promotion.require_runs,
    )


def sent_to(prompt: PromptFolder, suite: EvalFile | None = None) -> str:
    """The id of the model that a prompt is sent to: of meta.yml, or else of eval.yml; empty for none."""
    if prompt.meta.model:
        return model_id(prompt.meta.model)
    eval_file = suite or read_eval(prompt, Findings(), with_inputs=False)
    return model_id(eval_file.defaults.model) if eval_file else ""


def next_status(prompt: PromptFolder) -> Status:
    """The status that comes after a prompt's own.

    Raises:
        UsageError: There is none.
    """
    place = STATUSES.index(prompt.meta.status)
    if place == len(STATUSES) - 1:
        raise UsageError(
            f"{prompt.id} is ready: cannot promote (already at top)",
            hint=f"For a breaking change: evenhand prompt new {prompt.id}-v2 --from {prompt.id}",
        )
    return STATUSES[place + 1]


def gates(prompt: PromptFolder, target: Status, evidence: Evidence) -> list[Gate]:
    """How each gate to this status stands."""
    result = [_uses_gate(prompt, target, evidence)]
    if target == "ready":
        if prompt.meta.promotion.require_eval:
            result += _eval_gates(prompt, evidence)
        else:
            result.append(Gate("eval", True, "none is asked for (promotion.require_eval: false)"))
    return result


def lowered(asks: Promotion, target: Status) -> list[str]:
    """Which of the ordinary gates to this status meta.yml lowers, as it is written there."""
    settings: list[str] = []
    if asks.min_uses is not None and asks.min_uses < USES.get(target, 0):
        settings.append(f"min_uses: {asks.min_uses} (ordinarily {USES[target]})")
    if target == "ready" and not asks.require_eval:
        settings.append("require_eval: false")
    if target == "ready" and not asks.require_verified:
        settings.append("require_verified: false")
    if not asks.require_runs:
        settings.append("require_runs: false")
    if asks.addresses:
        settings.append(f"addresses: [{', '.join(asks.addresses)}]")
    return settings


def standing(prompt: PromptFolder, evidence: Evidence) -> Standing:
    """Whether a prompt's evidence holds for the status that it has."""
    status = prompt.meta.status
    if status == "draft":
        return Standing("none")
    all_gates = tuple(gates(prompt, status, evidence))
    missing = tuple(gate.line for gate in all_gates if not gate.met)
    if not missing:
        asks = prompt.meta.promotion
        nothing = asks.min_uses == 0 and (status != "ready" or not asks.require_eval)
        return Standing("waived" if nothing else "current", (), all_gates)
    return Standing("forced" if forced(evidence, status) else "stale", missing, all_gates)


def forced(evidence: Evidence, status: Status) -> bool:
    """Whether somebody promoted the prompt to this status, as it is now, without the evidence, and said why."""
    rows = [row for row in oldest_first(evidence.promotions.rows) if row.get("to") == status]
    last = rows[-1] if rows else {}
    return bool(last.get("forced")) and last.get("content") == evidence.content.whole


def latest_eval(evidence: Evidence) -> Row | None:
    """The latest eval that counts; None for none."""
    return next((row for row, why in reversed(full_evals(evidence)) if not why), None)


def grounds(prompt: PromptFolder, target: Status, evidence: Evidence) -> list[str]:
    """The ids of the runs that a promotion rests on."""
    rows = sends(prompt, target, evidence).rows
    last = latest_eval(evidence) if target == "ready" else None
    runs = [row.get("run") for row in (*rows, *([last] if last else []))]
    return [run for run in runs if isinstance(run, str)]


def sends(prompt: PromptFolder, target: Status, evidence: Evidence) -> Uses:
    """The sends that count for a status."""
    return uses(evidence, verified_only=_verified_only(prompt, target))


def _verified_only(prompt: PromptFolder, target: Status) -> bool:
    return target == "ready" and prompt.meta.promotion.require_verified


def _uses_gate(prompt: PromptFolder, target: Status, evidence: Evidence) -> Gate:
    asks = prompt.meta.promotion
    needed = USES[target] if asks.min_uses is None else asks.min_uses
    if needed == 0:
        return Gate("uses", True, "none are asked for (promotion.min_uses: 0)")
    verified_only = _verified_only(prompt, target)
    counted = uses(evidence, verified_only=verified_only)
    n = len(counted.rows)
    kind = "verified sends" if verified_only else "successful sends"
    kind = kind if evidence.constant else f"distinct {kind}"
    now = f"{kind} of this prompt as it is now"
    line = f"{n} of {needed} {now}" if n <= needed else f"{n} {now} ({needed} needed)"
    line += f", to {evidence.model or 'its model'}"
    line += _at(str(row.get("address") or "") for row in counted.rows)
    line += _answered_as(evidence.model, (row.get("model_answered") for row in counted.rows))
    if counted.alone:
        line += f"; {counted.alone} of them not backed by a run on this machine"
    if counted.left_out:
        left = ", ".join(f"{number} {why}" for why, number in counted.left_out.items())
        line += f"; not counted: {left}"
    if n < needed and verified_only and not is_hook(prompt.path / VERIFY):
        line += (
            "; it has no verify.sh that can be run: write one, or say 'promotion: "
            "{require_verified: false}' in meta.yml"
        )
    return Gate("uses", n >= needed, line)


def _eval_gates(prompt: PromptFolder, evidence: Evidence) -> list[Gate]:
    if not (prompt.path / EVAL).is_file():
        return [Gate("eval", False, "there is no eval.yml")]
    row = latest_eval(evidence)
    if row is None:
        rows = latest_of_runs(evidence.evals.rows)
        why = " and ".join(not_an_eval(rows[-1], evidence)) if rows else ""
        why = f" (the last one {'' if why.startswith('does') else 'was '}{why})" if why else ""
        none = "no eval of the whole suite as it is now"
        return [Gate("eval", False, f"{none}{' counts' if why else ''}{why}")]
    asks, green = prompt.meta.promotion, row.get("all_passed") is True
    names = row.get("failed_cases")
    names = list(map(str, names)) if isinstance(names, list) else []
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    failed = ", ".join(names[:NAMED]) + more
    before = _before(row, evidence)
    red = sum(one.get("all_passed") is not True for one in before)
    state = "passed" if green else f"the latest eval failed: {failed or 'it has no verdict'}"
    words = f"{state}; {_eval_words(row)}; {_reruns(len(before), red)}"
    words += "" if has_its_run(row, evidence) else "; not backed by a run on this machine"
    checked = [Gate("eval", green, words)]
    if asks.min_n:
        trials = number(row, "trials") or 0
        what = f"the latest eval had {trials:g} trials, and {asks.min_n} are needed"
        checked.append(Gate("trials", trials >= asks.min_n, what))
    if asks.at_least:
        low = number(row, "interval", 0) or 0.0
        rate = f"at least {beside(low, asks.at_least, digits=3, form='f')} (95 %)"
        what = f"the latest eval's pass rate is {rate}, wanted {as_written(asks.at_least)}"
        checked.append(Gate("interval", low >= asks.at_least, what))
    if asks.max_reruns is not None:
        what = f"{count(red, 'full run')} of this content failed before the latest one, at most {asks.max_reruns}"
        checked.append(Gate("reruns", red <= asks.max_reruns, what))
    return checked


def _before(row: Row, evidence: Evidence) -> list[Row]:
    """The full evals of this content before this one, whether they count or not."""
    rows = [one for one, _ in full_evals(evidence)]
    return rows[: next(place for place, one in enumerate(rows) if one is row)]


def _reruns(before: int, red: int) -> str:
    if not before:
        return "the first full run of this content"
    return f"full run {before + 1} of this content; {red} of those before it failed"


def _eval_words(row: Row) -> str:
    """Who answered an eval, who judged it, and where."""
    places = as_mapping(row.get("addresses"))

    def at(model: str) -> str:
        where = places.get(model)
        return _at(map(str, where)) if is_array(where) else ""

    models = row.get("models")
    answered = [str(m) for m in models] if isinstance(models, list) else []
    judges = row.get("judges")
    judged = [str(j) for j in judges] if isinstance(judges, list) else []
    n, passed = number(row, "trials") or 0, number(row, "trials_passed") or 0
    words = f"{passed:g} of {count(int(n), 'trial')} passed"
    if answered:
        words += f"; answered by {', '.join(m + at(m) for m in answered)}"
    if judged:
        words += f"; judged by {', '.join(j + at(j) for j in judged)}"
        by = row.get("judge_named_by")
        named = row.get("judge") in judged and isinstance(by, str) and by
        words += f" ({by})" if named else ""
    return words


def _at(addresses: object) -> str:
    hosts = dict.fromkeys(shown_host(one) for one in cast("Sequence[str]", addresses) if one)
    return f" at {', '.join(hosts)}" if hosts else ""


def _answered_as(model: str, names: object) -> str:
    """The names that answers gave themselves, where they are not the model's that was asked."""
    bare = model.rpartition(":")[2]
    others = dict.fromkeys(
        name
        for name in cast("Sequence[object]", names)
        # Vendors answer with a dated name: `gpt-5-mini-2025-08-07` for `gpt-5-mini`.
        if isinstance(name, str) and name and not name.startswith(bare)
    )
    return f", answered as {', '.join(others)}" if others else ""
