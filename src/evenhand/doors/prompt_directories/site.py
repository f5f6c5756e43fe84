"""A static site of a repository's prompts, each with its evidence: `evenhand prompt site`.

What is written depends on the repository and its runs alone: written again without a change, every file is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.evidence import Row, number, oldest_first
from evenhand.doors.prompt_directories.evidence_rules import Evidence, not_an_eval, uses
from evenhand.doors.prompt_directories.library import Library
from evenhand.doors.prompt_directories.promotion_rules import (
    Standing,
    evidence_of,
    gates,
    lowered,
    next_status,
    standing,
)
from evenhand.doors.prompt_directories.prompt import STATUSES, PromptFolder, read_prompt
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.doors.prompt_directories.site_page import (
    MARK,
    badge,
    badges,
    bullets,
    cell,
    difference,
    facts,
    gate_list,
    page,
    table,
    template,
    text,
)
from evenhand.doors.prompt_directories.writing import write
from evenhand.languages.documents.findings import Findings, shown_path
from evenhand.providers.addresses import shown_host
from evenhand.store.run_lookup import home_for
from evenhand.store.runfile import RunFile

PAGES = "prompts"
_KINDS = {
    "current": "good",
    "stale": "bad",
    "unreadable": "bad",
    "forced": "warn",
    "waived": "warn",
    "none": "",
}
_STATES = {
    "current": "evidence holds",
    "stale": "evidence is stale",
    "unreadable": "cannot be read",
    "forced": "promoted without evidence",
    "waived": "asks for no evidence",
    "none": "no evidence needed yet",
}


class _Shown(Record, frozen=True):
    """One prompt, as the site has it. `evidence` is None where its files cannot be read."""

    prompt: PromptFolder
    evidence: Evidence | None
    standing: Standing
    problems: Sequence[str]

    @property
    def state(self) -> str:
        return "unreadable" if self.problems else self.standing.state


def build(library: Library, out: Path) -> list[str]:
    """Writes the site, and says what it did, a line for each thing worth saying. Pages of others are left alone.

    Raises:
        UsageError: A page is in the way that this did not write.
        StoreError: A page cannot be written.
    """
    site_pages = [_shown(library, id_) for id_ in library.ids()]
    pages = {out / "index.html": page(library.root.name, _index(library, site_pages))}
    runs = KeptRuns(home_for(library.root))
    for one in site_pages:
        path = out / PAGES / f"{one.prompt.id}.html"
        pages[path] = page(one.prompt.meta.title or one.prompt.id, _prompt(one, runs))
    # All of them before the first is written, so that a refusal leaves nothing half done.
    for path in pages:
        if path.exists() and MARK not in path.read_text("utf-8", "replace"):
            raise UsageError(
                f"{shown_path(path)} already exists, and is not a page of this site; nothing was written",
                hint="Name another folder: evenhand prompt site --out FOLDER",
            )
    changed = sum(write(path, source) for path, source in pages.items())
    messages = [f"{shown_path(out)}: {count(len(pages), 'page')}, {changed} written"]
    gone = sorted(set((out / PAGES).glob("*.html")) - pages.keys())
    messages += [
        f"{shown_path(path)} is of no prompt any more, and was left there" for path in gone
    ]
    return messages


def _shown(library: Library, id: str) -> _Shown:
    findings = Findings()
    prompt = read_prompt(library, id, findings)
    try:
        evidence = evidence_of(prompt)
        stands = standing(prompt, evidence)
    except EvenhandError as error:
        return _Shown(prompt, None, Standing("none"), [error.message])
    problems = [f"{problem.what}" for problem in findings.problems]
    return _Shown(prompt, evidence, stands, problems)


def _index(library: Library, pages: Sequence[_Shown]) -> Iterator[str]:
    yield f"<h1>{text(library.root.name)}</h1>"
    counts = [
        f"{sum(one.prompt.meta.status == status for one in pages)} {status}"
        for status in reversed(STATUSES)
    ]
    yield f'<p class="lead">{text(count(len(pages), "prompt"))}: {text(", ".join(counts))}</p>'
    for status in reversed(STATUSES):
        these = [one for one in pages if one.prompt.meta.status == status]
        if not these:
            continue
        yield f"<h2>{status.capitalize()}</h2>"
        yield f'<ul class="cards">{"".join(map(_card, these))}</ul>'
    yield _footer()


def _card(one: _Shown) -> str:
    meta, id_ = one.prompt.meta, one.prompt.id
    link = f'<a href="{PAGES}/{text(id_)}.html">{text(meta.title or id_)}</a>'
    marks = [badge(_STATES[one.state], _KINDS[one.state])] if one.state != "none" else []
    marks += [badge("lowered gates", "warn")] if lowered(meta.promotion, "ready") else []
    marks += [badge(tag) for tag in meta.tags]
    return (
        f'<li class="card"><h3>{link}</h3><div class="id">{text(id_)} · {text(meta.version)}</div>'
        f"<p>{text(meta.summary)}</p>{badges(marks) if marks else ''}</li>"
    )


def _prompt(one: _Shown, runs: KeptRuns) -> Iterator[str]:
    prompt, meta = one.prompt, one.prompt.meta
    yield '<p class="crumb"><a href="../index.html">All prompts</a></p>'
    yield f"<h1>{text(meta.title or prompt.id)}</h1>"
    yield f'<p class="lead">{text(meta.summary)}</p>'
    state = [badge(_STATES[one.state], _KINDS[one.state])]
    yield badges([badge(meta.status), *state, *(badge(tag) for tag in meta.tags)])
    if one.problems:
        yield f'<div class="note">It cannot be read whole:{bullets(one.problems)}</div>'
    model = one.evidence.model if one.evidence else meta.model
    yield facts(
        [
            ("Id", prompt.id),
            ("Version", meta.version),
            ("Model", model),
            ("Created", meta.created),
            ("Updated", meta.updated),
        ]
    )
    if one.evidence is not None:
        yield from _gates(one, one.evidence)
    yield "<h2>The prompt</h2>"
    yield template(prompt.template)
    if meta.inputs:
        rows = [
            [
                f'<td><code class="n">{text(i.name)}</code></td>',
                cell("required" if i.required else "may be left out"),
                cell("" if i.default is None else i.default, "wide"),
            ]
            for i in meta.inputs
        ]
        yield table(("Input", "", "Default"), rows)
    if one.evidence is not None:
        yield from _changes(prompt, one.evidence)
        yield from last_results(one.evidence, runs)
    yield from _about(prompt)
    if one.evidence is not None:
        yield from eval_table(one.evidence)
        yield from use_table(prompt, one.evidence)
        yield from promotion_table(one.evidence)
    yield _footer()


def _about(prompt: PromptFolder) -> Iterator[str]:
    meta = prompt.meta
    parts = [
        ("When to use it", f"<p>{text(meta.description)}</p>" if meta.description else ""),
        ("What people say", bullets(meta.triggers) if meta.triggers else ""),
        ("What it is not for", bullets(meta.not_for) if meta.not_for else ""),
        ("Notes", f"<pre>{text(meta.notes.strip())}</pre>" if meta.notes.strip() else ""),
    ]
    for title, body in parts:
        if body:
            yield f"<h2>{title}</h2>{body}"


def _gates(one: _Shown, evidence: Evidence) -> Iterator[str]:
    prompt, meta = one.prompt, one.prompt.meta
    yield "<h2>Evidence</h2>"
    less = lowered(meta.promotion, "ready")
    if less:
        yield f'<p class="note">meta.yml weakens the gates: {text(", ".join(less))}</p>'
    if one.standing.gates:
        yield f"<h3>For being {text(meta.status)}</h3>{gate_list(one.standing.gates)}"
    if meta.status != STATUSES[-1]:
        target = next_status(prompt)
        yield f"<h3>To be {text(target)}</h3>{gate_list(gates(prompt, target, evidence))}"
    if evidence.content.loaded:
        yield f"<p><small>Counts with it: {text(', '.join(evidence.content.loaded))}</small></p>"


def _changes(prompt: PromptFolder, evidence: Evidence) -> Iterator[str]:
    """The difference to the prompt as it was last promoted, where that promotion has kept it."""
    rows = [row for row in evidence.promotions.rows if isinstance(row.get("template"), str)]
    if not rows:
        return
    changed = difference(str(rows[-1]["template"]), prompt.template)
    when = text(str(rows[-1].get("ts") or "")[:10])
    yield f"<h2>Since the last promotion, {when}</h2>"
    yield changed or '<p class="soft">Its text is the same.</p>'


def _footer() -> str:
    return "<footer>Written by <code>evenhand prompt site</code> from the files of this repository.</footer>"


SHOWN = 50
"""Rows of a log: the latest."""
LONGEST = 20_000
"""Characters of an output."""
_WORDS = {"pass": "passed", "fail": "failed", "error": "error", "not_applicable": "not applicable"}
_OUTCOME_KINDS = {"pass": "good", "fail": "bad", "error": "warn"}


def last_results(evidence: Evidence, runs: KeptRuns) -> Iterator[str]:
    """The last eval, case by case: of its run where that is here, else what its row says of those that failed."""
    if not evidence.evals.rows:
        return
    row = oldest_first(evidence.evals.rows)[-1]
    yield f"<h2>The last run, {text(str(row.get('ts') or '')[:10])}</h2>"
    marks = [word for word in ("partial", "offline") if row.get(word)]
    summary = f"{row.get('passed')} of {row.get('total')} cases passed"
    yield f"<p>{text(', '.join([summary, *marks]))}</p>"
    path = runs.path(str(row.get("run") or ""))
    cases = _cases(path, str(row.get("content"))) if path else {}
    if cases:
        rows = [_case(name, trials) for name, trials in cases.items()]
        yield table(("Case", "Outcome", "Why, and what was answered"), rows)
        return
    failed, reasons = row.get("failed_cases"), row.get("reasons")
    why = as_mapping(reasons)
    if is_array(failed) and failed:
        rows = [
            [cell(name), cell("not passed", "bad n"), cell(why.get(str(name), ""), "wide")]
            for name in failed
        ]
        yield table(("Case", "Outcome", "Why"), rows)
    yield "<p><small>Its run is not on the machine that wrote this page: answers are not shown.</small></p>"


def _cases(path: Path, content: str) -> dict[str, list[TrialResult]]:
    """The trials of this content, by the names of their cases, in the run's order."""
    by_case: dict[str, list[TrialResult]] = {}
    try:
        with RunFile.open(path) as run:
            prompts = run.meta.config.get("prompts")
            ours = prompts if isinstance(prompts, list) else []
            columns = {
                index
                for one in ours
                if isinstance(one, Mapping) and one.get("content") == content
                for index in one.get("columns") or ()
            }
            for trial in run.trials():
                if trial.variant in columns:
                    by_case.setdefault(trial.description or trial.case, []).append(trial)
    except StoreError:
        return {}
    return by_case


def _case(name: str, trials: Sequence[TrialResult]) -> list[str]:
    worst = min(trials, key=lambda t: ("error", "fail", "pass", "not_applicable").index(t.outcome))
    passed = sum(trial.outcome == "pass" for trial in trials)
    word = _WORDS[worst.outcome] if len(trials) == 1 else f"{passed} of {len(trials)} passed"
    why = worst.error.message if worst.error else worst.reason
    answers = "".join(_answer(trial, len(trials)) for trial in trials if trial.output is not None)
    reason = text(why) if worst.outcome != "pass" else ""
    return [
        cell(name, "wide"),
        cell(word, f"n {_OUTCOME_KINDS.get(worst.outcome, '')}"),
        f'<td class="wide">{reason}{answers}</td>',
    ]


def _answer(trial: TrialResult, of: int) -> str:
    output = trial.output if isinstance(trial.output, str) else str(trial.output)
    cut = output[:LONGEST] + ("…" if len(output) > LONGEST else "")
    name = "answer" if of == 1 else f"answer {trial.repeat + 1}"
    expected = "".join(
        f"<li class='{_OUTCOME_KINDS.get(o.outcome, '')}'>{text(o.name)}: {text(o.reason or _WORDS[o.outcome])}</li>"
        for o in trial.outcomes
    )
    listed = f'<ul class="plain">{expected}</ul>' if expected else ""
    return f"<details><summary>{name}</summary><pre>{text(cut)}</pre>{listed}</details>"


def eval_table(evidence: Evidence) -> Iterator[str]:
    """The log of evals, the latest first."""
    rows = evidence.evals.rows
    if not rows:
        return
    yield "<h2>Evals</h2>"
    heads = ("When", "Passed", "Answered by", "Judged by", "Counts")
    yield table(heads, (_eval_row(row, evidence) for row in reversed(rows[-SHOWN:])))
    yield _older(len(rows))


def _eval_row(row: Row, evidence: Evidence) -> list[str]:
    why = " and ".join(not_an_eval(row, evidence))
    green = row.get("all_passed") is True
    n, passed = number(row, "total"), number(row, "passed")
    share = f"{passed:g} of {n:g}" if n is not None and passed is not None else "not known"
    return [
        cell(row.get("ts") or "", "n"),
        cell(share, f"n {'good' if green else 'bad'}"),
        cell(_listed(row.get("models"))),
        cell(_listed(row.get("judges"))),
        cell(why or "yes", "wide" if why else "good"),
    ]


def use_table(prompt: PromptFolder, evidence: Evidence) -> Iterator[str]:
    """The log of uses, the latest first."""
    rows = evidence.usage.rows
    if not rows:
        return
    target = "ready" if prompt.meta.status != "draft" else "tested"
    only = target == "ready" and prompt.meta.promotion.require_verified
    reasons = uses(evidence, verified_only=only).reasons
    yield "<h2>Uses</h2>"
    heads = ("When", "Case", "Sent to", "Verified", "Counts")
    yield table(heads, (_use_row(row, reasons) for row in reversed(rows[-SHOWN:])))
    yield _older(len(rows))


def _use_row(row: Row, reasons: Mapping[int, str]) -> list[str]:
    word, kind = "not verified", ""
    if row.get("verified") is not None:
        word, kind = ("yes", "good") if row.get("verified") is True else ("no", "bad")
    address = row.get("address")
    place = f" at {shown_host(address)}" if isinstance(address, str) and address else ""
    to = f"{row.get('model') or 'not known'}{place}" if row.get("sent") is True else "not sent"
    dry = "a copy" if row.get("sent") is True else "not sent"
    why = reasons.get(id(row), dry)
    return [
        cell(row.get("ts") or "", "n"),
        cell(row.get("case") or ""),
        cell(to),
        cell(word, f"n {kind}"),
        cell(why or "yes", "wide" if why else "good"),
    ]


def promotion_table(evidence: Evidence) -> Iterator[str]:
    """The log of promotions, the latest first."""
    rows = evidence.promotions.rows
    if not rows:
        return
    yield "<h2>Promotions</h2>"
    heads = ("When", "From", "To", "Version", "By", "")
    yield table(
        heads,
        (
            [
                cell(row.get("ts") or "", "n"),
                cell(row.get("from") or ""),
                cell(row.get("to") or ""),
                cell(row.get("version") or ""),
                cell(row.get("by") or ""),
                cell(f"forced: {row.get('reason')}" if row.get("forced") else "", "warn"),
            ]
            for row in reversed(rows[-SHOWN:])
        ),
    )


def _listed(value: object) -> str:
    if not is_array(value):
        return "not known"
    return ", ".join(map(str, value)) or "nobody"


def _older(rows: int) -> str:
    return (
        f"<p><small>… and {count(rows - SHOWN, 'earlier row')}</small></p>" if rows > SHOWN else ""
    )
