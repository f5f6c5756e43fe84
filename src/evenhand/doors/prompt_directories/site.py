"""A static site of a repository's prompts, each with its evidence: `evenhand prompt site`.

What is written depends on the repository and its runs alone: written again without a change, every file is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.evidence_rules import Evidence
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
from evenhand.doors.prompt_directories.site_evidence import (
    eval_table,
    last_results,
    promotion_table,
    use_table,
)
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
from evenhand.store.catalogue import home_for

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
                f"{shown_path(path)} is there already, and is not a page of this site; nothing was written",
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
        yield f'<p class="note">meta.yml asks for less than gates ordinarily do: {text(", ".join(less))}</p>'
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
