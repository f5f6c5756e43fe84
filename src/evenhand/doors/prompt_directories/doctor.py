"""Looks at every prompt of a repository: what is wrong with it, and what is worth a look, with file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from evenhand.core.errors import AuthError, EvenhandError, Problem
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.eval_yml import read_eval
from evenhand.doors.prompt_directories.evidence import PROMOTIONS, EvidenceRows
from evenhand.doors.prompt_directories.evidence_rules import Evidence, latest_of_runs
from evenhand.doors.prompt_directories.hooks import is_hook
from evenhand.doors.prompt_directories.library import (
    ALIASES,
    GUARD,
    TEMPLATE,
    VERIFY,
    Library,
    links_out,
)
from evenhand.doors.prompt_directories.markup import parsed, where_broken
from evenhand.doors.prompt_directories.promotion_rules import (
    Standing,
    evidence_of,
    lowered,
    standing,
)
from evenhand.doors.prompt_directories.prompt import LEADS_OUT, PromptFolder, read_prompt
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.doors.prompt_directories.suite import hint_at_other_models
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.templates.plain import NAMES_ONLY, names_in, richer_tag
from evenhand.providers.roster import Roster

ALIAS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
FILE_CONTENTS = "file_contents"
LONGEST_DESCRIPTION = 1024
RESERVED = ("claude", "anthropic")
MANY_WORDS, TOO_MANY_WORDS, MANY_LINES = 3500, 5000, 200


class Looked(Record, frozen=True, kw_only=True):
    """One prompt, looked at.

    Attributes:
        standing: Whether its evidence holds; None where it cannot be said.
        audit: What the runs say to its rows; None where nobody asked them.
    """

    id: str
    problems: Sequence[Problem]
    warnings: Sequence[Problem]
    standing: Standing | None
    status: str = ""
    audit: Audit | None = None

    @property
    def stale(self) -> bool:
        """Whether the prompt is called ready on evidence that is about something else."""
        return (
            self.status == "ready" and self.standing is not None and self.standing.state == "stale"
        )


def look(
    library: Library,
    ids: Sequence[str] | None = None,
    runs: KeptRuns | None = None,
    *,
    env: Mapping[str, str] | None = None,
) -> list[Looked]:
    """Looks at these prompts, at all of them by default. Aliases are compared over all of them in any case.

    Args:
        runs: Where each row of evidence is held against its run; None for nowhere.
        env: The environment, for models that assertions name; the process's by default.
    """
    roster = Roster(library.root, os.environ if env is None else env)
    owners: dict[str, str] = {}
    selection = None if ids is None else set(ids)
    looks: list[Looked] = []
    for id_ in library.ids():
        findings = Findings()
        prompt = read_prompt(library, id_, findings)
        _aliases(prompt, owners, findings)
        if selection is not None and id_ not in selection:
            continue
        looks.append(_looked(prompt, findings, roster, runs))
    return looks


def _looked(
    prompt: PromptFolder, findings: Findings, roster: Roster, runs: KeptRuns | None
) -> Looked:
    for path in links_out(prompt.path):
        findings.problem(Place(path), LEADS_OUT, "Copy it here.")
    suite = read_eval(prompt, findings, roster)
    if suite is not None:
        hint_at_other_models(prompt, suite, findings)
    if prompt.template:
        _variables(prompt, findings)
        _markup(prompt, findings)
    skill_shape(prompt, findings)
    for name in (GUARD, VERIFY):
        path = prompt.path / name
        if path.exists() and not is_hook(path):
            findings.hint(Place(path), "is not run: it is not executable", f"chmod +x {path}")
    stands = audit = None
    try:
        evidence = evidence_of(prompt, suite, runs)
        if runs is not None:
            audit = audited(prompt, evidence, runs, findings)
        for rows in (evidence.usage, evidence.evals, evidence.promotions):
            rows.tell(findings)
        stands = standing(prompt, evidence)
        if stands.state in ("stale", "forced"):
            state = "but its evidence is from an earlier version"
            if stands.state == "forced":
                state = f"and was promoted without its evidence, see {PROMOTIONS}"
            what = f"is marked {prompt.meta.status}, {state}"
            findings.hint(prompt.at("status"), what, "; ".join(stands.missing))
        _lowered(prompt, findings)
    except EvenhandError as error:
        findings.problem(Place(prompt.path), error.message, error.hint)
    # That a key is not set here says nothing of the prompt.
    parts = [problem for problem in findings.broken_parts if problem.slug != AuthError.slug]
    problems, warnings = _unique([*findings.problems, *parts]), sorted(findings.hints)
    return Looked(
        id=prompt.id,
        problems=problems,
        warnings=warnings,
        standing=stands,
        status=prompt.meta.status,
        audit=audit,
    )


def _lowered(prompt: PromptFolder, findings: Findings) -> None:
    """Tells what weakens the gates: it stays in place until somebody takes it out of meta.yml."""
    less = lowered(prompt.meta.promotion, "ready")
    if less:
        what = f"promotion weakens the gates: {', '.join(less)}"
        findings.hint(prompt.at("promotion"), what, "Remove it once you no longer need it.")


def _unique(problems: Sequence[Problem]) -> list[Problem]:
    once: Mapping[str, Problem] = {str(problem): problem for problem in problems}
    return sorted(once.values())


def _variables(prompt: PromptFolder, findings: Findings) -> None:
    used = names_in(prompt.template)
    richer = richer_tag(prompt.template)
    if richer is not None:
        findings.problem(Place(prompt.path / TEMPLATE, richer[0]), richer[1], NAMES_ONLY)
    declared = {i.name: i for i in prompt.meta.inputs}
    for name, line in used.items():
        if not {name, name.partition(".")[0]} & {*declared, FILE_CONTENTS}:
            what, hint = f"'{name}' is not declared", "Add it to the inputs of meta.yml."
            findings.problem(Place(prompt.path / TEMPLATE, line), what, hint)
    for i, item in enumerate(prompt.meta.inputs):
        if item.required and item.name not in used:
            what = f"the required input '{item.name}' is not in {TEMPLATE}"
            findings.problem(prompt.at("inputs", i), what, "Use it, or say required: false.")


def _markup(prompt: PromptFolder, findings: Findings) -> None:
    broken = where_broken(prompt.template)
    if broken is not None:
        line, column, why = broken
        place = Place(prompt.path / TEMPLATE, line, column)
        hint = "It is sent as it is; a skill is made of it as one block."
        findings.hint(place, f"is not XML: {why}", hint)


def _aliases(prompt: PromptFolder, owners: dict[str, str], findings: Findings) -> None:
    for alias, line in prompt.aliases(findings):
        place = Place(prompt.path / ALIASES, line)
        if not ALIAS.fullmatch(alias):
            hint = "Letters, digits, _ and -, not a digit or - first."
            findings.problem(place, f"{alias!r} cannot be a shell verb", hint)
            continue
        owner = owners.setdefault(alias, prompt.id)
        if owner != prompt.id:
            findings.problem(place, f"'{alias}' is taken already, by {owner}", "Choose another.")


def skill_shape(prompt: PromptFolder, findings: Findings) -> None:
    """Notes what keeps a prompt from being a good skill."""
    meta = prompt.meta
    for word in RESERVED:
        if word in prompt.id.lower():
            what = f"the id has {word!r} in it, which is reserved"
            findings.problem(prompt.at("id"), what, "A skill cannot be called so; rename it.")
    place = prompt.at("description")
    if len(meta.description) > LONGEST_DESCRIPTION:
        what = f"the description has {len(meta.description):,} characters"
        findings.problem(place, what, f"At most {LONGEST_DESCRIPTION:,} are read.")
    if "<" in meta.description or ">" in meta.description:
        findings.problem(place, "the description has '<' or '>' in it", "Say it in words.")
    if meta.description and "use when" not in meta.description.lower():
        what = "the description does not say when to use it"
        findings.hint(place, what, "Write 'Use when …': a skill is found by that.")
    number, lines = len(prompt.template.split()), prompt.template.splitlines()
    body = Place(prompt.path / TEMPLATE)
    if number >= TOO_MANY_WORDS:
        findings.problem(
            body, f"has {number:,} words", f"Fewer than {TOO_MANY_WORDS:,} are wanted."
        )
    elif number >= MANY_WORDS:
        findings.hint(body, f"has {number:,} words", f"Fewer than {MANY_WORDS:,} are better.")
    if sum(bool(line.strip()) for line in lines) >= MANY_LINES:
        findings.hint(
            body, f"has {MANY_LINES} lines or more", "Shorter prompts are kept to better."
        )


def shape_problems(prompt: PromptFolder) -> Findings:
    """What keeps a prompt from being exported as a skill, and what is worth a look."""
    findings = Findings()
    if not prompt.meta.description.strip():
        findings.problem(prompt.at(), "there is no description", "A skill is found by it.")
    skill_shape(prompt, findings)
    if parsed(prompt.template) is None:
        _markup(prompt, findings)
    return findings


class Audit(Record, frozen=True, kw_only=True):
    """How many rows the runs agree with, and how many not.

    Attributes:
        agree: The run says the same.
        missing: The run is not on this machine, or cannot be read.
        contradict: The run says something else.
        unbound: The row names no run: it is from before rows did, or was written by hand.
        superseded: The run was gone on with, and a later row is of it; or the row is a copy.
    """

    agree: int = 0
    missing: int = 0
    contradict: int = 0
    unbound: int = 0
    superseded: int = 0

    def __str__(self) -> str:
        parts = {
            "agree with their runs": self.agree,
            "contradict them": self.contradict,
            "name runs that are not here": self.missing,
            "name no run (not known)": self.unbound,
            "are copies, or superseded by a later row of the same run": self.superseded,
        }
        rows = sum(parts.values())
        details = ", ".join(f"{n} {what}" for what, n in parts.items() if n)
        return f"{count(rows, 'row')} of evidence{': ' if details else ''}{details}"


def audited(prompt: PromptFolder, evidence: Evidence, runs: KeptRuns, findings: Findings) -> Audit:
    """Holds each row against its run. A contradiction is a problem, with its line; what cannot be said is a hint."""
    counts: dict[str, int] = dict.fromkeys(
        ("agrees", "missing", "contradicts", "unbound", "superseded"), 0
    )
    named: set[object] = set()
    for rows in (evidence.usage, evidence.evals):
        _audit(rows, runs, findings, counts)
        named.update(row.get("run") for row in rows.rows)
    rowless = tuple(run for run in runs.of(prompt.id) if run not in named)
    if rowless:
        names = ", ".join(rowless[:5]) + (" …" if len(rowless) > 5 else "")
        what = f"{count(len(rowless), 'finished run')} of it here, and no row: {names}"
        findings.hint(
            Place(prompt.path), what, "Was a row deleted, or a file put back to an earlier version?"
        )
    return Audit(
        agree=counts["agrees"],
        missing=counts["missing"],
        contradict=counts["contradicts"],
        unbound=counts["unbound"],
        superseded=counts["superseded"],
    )


def _audit(rows: EvidenceRows, runs: KeptRuns, findings: Findings, counts: dict[str, int]) -> None:
    counted = {id(row) for row in latest_of_runs(rows.rows)}
    missing: list[int] = []
    unbound: list[int] = []
    for row, line in zip(rows.rows, rows.lines, strict=True):
        if row.get("sent") is False:  # a dry row has no run, and opens no gate
            continue
        if id(row) not in counted:
            counts["superseded"] += 1
            continue
        checked = runs.check(row)
        counts[checked.state] += 1
        if checked.state == "contradicts":
            hint = "It meets no gate. Remove the line, and run or send it again."
            findings.problem(
                Place(rows.path, line), f"a row that its run contradicts: {checked.why}", hint
            )
        elif checked.state == "missing":
            missing.append(line)
        elif checked.state == "unbound":
            unbound.append(line)
    if missing:
        what = (
            f"{count(len(missing), 'row')} of runs that are not in {runs.home}, or cannot be read"
        )
        findings.hint(
            Place(rows.path, missing[0]), what, "They were made on another machine, or deleted."
        )
    if unbound:
        what = f"{count(len(unbound), 'row')} that name no run: what they rest on is not known"
        hint = "They are from before rows were bound to runs, or were written by hand; they meet no gate."
        findings.hint(Place(rows.path, unbound[0]), what, hint)
