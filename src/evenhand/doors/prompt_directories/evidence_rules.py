"""Which rows of evidence count for a prompt as it is now, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import field

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.prompt_directories.content import Content
from evenhand.doors.prompt_directories.evidence import EvidenceRows, Row, oldest_first
from evenhand.doors.prompt_directories.prompt import Promotion
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.providers.addresses import is_vendors, origin, shown_host
from evenhand.providers.roster import JUDGE_VARIABLE


class Evidence(Record, frozen=True, kw_only=True):
    """All rows of a prompt, and what they have to be about to count.

    Attributes:
        model: The id of the model that it is sent to.
        own_model: The one that meta.yml names; those that eval.yml names are part of the content.
        asks: What meta.yml says of promotions.
        constant: Whether its text has no variables, so that every send of it is the same.
        project_judge: The id of the judge that the project names; empty for none.
        runs: Where rows are held against their runs; None for nowhere.
        must_be_here: Whether a row counts only if its run is on this machine and agrees.
    """

    usage: EvidenceRows
    evals: EvidenceRows
    promotions: EvidenceRows
    content: Content
    model: str
    own_model: str
    asks: Promotion = field(default_factory=Promotion)
    constant: bool = False
    project_judge: str = ""
    runs: KeptRuns | None = None
    must_be_here: bool = False


class Uses(MutableRecord):
    """The sends that count, one for each text, and how many do not, by the reason why.

    Attributes:
        rows: The rows that count.
        left_out: How many do not, by why.
        sent: How many were sent at all.
        reasons: Why each row of a send does not count, empty where it does, by the row's `id()`.
        alone: How many of the rows that count have no run here that says the same.
    """

    rows: list[Row] = field(default_factory=list["Row"])
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    sent: int = 0
    reasons: dict[int, str] = field(default_factory=dict[int, str])
    alone: int = 0


def uses(evidence: Evidence, *, verified_only: bool) -> Uses:
    """The sends that count.

    Args:
        verified_only: Whether only those count that verify.sh has verified.
    """
    counted, texts = Uses(), set[object]()
    for row in latest_of_runs(evidence.usage.rows):
        if row.get("sent") is not True:
            continue
        counted.sent += 1
        why = _not_a_use(row, evidence, verified_only=verified_only)
        text = row.get("text_hash")
        # A prompt without variables always sends the same text, so that each of its sends counts.
        if not why and text in texts and not evidence.constant:
            why = "of a text that counts already"
        # Last, since it opens the file of a run.
        why = why or _not_its_run(row, evidence)
        counted.reasons[id(row)] = why
        if why:
            counted.left_out[why] = counted.left_out.get(why, 0) + 1
        else:
            counted.rows.append(row)
            counted.alone += not has_its_run(row, evidence)
            texts.add(text)
    return counted


def _not_a_use(row: Row, evidence: Evidence, *, verified_only: bool) -> str:
    """Why a send does not count; empty where it may."""
    if row.get("exit_code") != 0:
        return "without an answer"
    if row.get("offline"):
        return "answered from offline.jsonl"
    if row.get("content") != evidence.content.sent:
        return "of an earlier version"
    model = row.get("model")
    if model != evidence.model:
        return f"to {model}" if isinstance(model, str) else "to an unknown model"
    if row.get("verified") is False:
        return "rejected by verify.sh"
    if verified_only and row.get("verified") is not True:
        return "not verified"
    if "address" not in row or not isinstance(row.get("text_hash"), str):
        return "from before rows said where they were sent, and what (not known)"
    return _elsewhere(evidence.model, row.get("address"), evidence.asks.addresses)


def full_evals(evidence: Evidence) -> list[tuple[Row, Sequence[str]]]:
    """The evals of the whole suite as it is now, oldest first, each with why it does not count, if it does not."""
    rows = [
        row
        for row in latest_of_runs(evidence.evals.rows)
        if row.get("content") == evidence.content.whole
        and row.get("partial") is False
        and row.get("offline") is False
    ]
    return [(row, not_an_eval(row, evidence)) for row in rows]


def not_an_eval(row: Row, evidence: Evidence) -> list[str]:
    """Why an eval does not count, in words; nothing where it does."""
    if "content" not in row:
        return ["does not say what of"]
    models = row.get("models")
    others = [m for m in models if m != evidence.model] if isinstance(models, list) else []
    reasons = {
        "of an earlier version": row.get("content") != evidence.content.whole,
        "partial": row.get("partial") is not False,
        "answered from offline.jsonl": row.get("offline") is not False,
        "with another model": row.get("model") != evidence.own_model,
        f"answered by {', '.join(map(str, others))}, and the prompt is sent to {evidence.model}": others,
    }
    objections = [reason for reason, holds in reasons.items() if holds]
    if objections:
        return objections
    objections = [*_other_judge(row, evidence)]
    places = row.get("addresses")
    if not is_mapping(places):
        objections.append("from before rows said where they were sent (not known)")
    else:
        for model, where in places.items():
            for place in where if is_array(where) else [where]:
                objections.append(_elsewhere(model, place, evidence.asks.addresses))
    objections.append(_not_its_run(row, evidence))
    return [why for why in dict.fromkeys(objections) if why]


def _other_judge(row: Row, evidence: Evidence) -> Iterable[str]:
    judges, judge, by = row.get("judges"), row.get("judge"), row.get("judge_named_by")
    if not judges:
        return
    if by is None:
        yield "from before rows said who named the judge (not known)"
    elif isinstance(judges, list) and judge in judges:
        if by == JUDGE_VARIABLE:
            yield f"judged by {judge}, which only {JUDGE_VARIABLE} names: name it in eval.yml"
        elif by == "pyproject.toml" and judge != evidence.project_judge:
            yield f"judged by {judge}, which pyproject.toml does not name any more"


def _elsewhere(model: str, address: object, allowed: Sequence[str]) -> str:
    """That a call went to a server that is not the vendor's, and that nobody allowed; empty where it did not."""
    if not isinstance(address, str) or not address or is_vendors(model, address):
        return ""
    if is_allowed(address, allowed):
        return ""
    return f"sent to {shown_host(address)}, which is not the vendor's address and not in promotion.addresses"


def is_allowed(address: str, allowed: Sequence[str]) -> bool:
    """Whether an address is one of those that meta.yml allows, as host, host:port, or from http(s):// on."""
    host = shown_host(address)
    bare = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return any((origin(one) or one) in (address, host, bare) for one in allowed)


def has_its_run(row: Row, evidence: Evidence) -> bool:
    """Whether its run is here and says the same, where rows are held against their runs at all."""
    return evidence.runs is None or evidence.runs.check(row).state == "agrees"


def _not_its_run(row: Row, evidence: Evidence) -> str:
    if evidence.runs is None:
        return ""
    checked = evidence.runs.check(row)
    if checked.state == "contradicts":
        return f"contradicted: {checked.why}"
    if checked.state == "agrees" or not evidence.must_be_here:
        return ""
    if checked.state == "missing":
        return "not backed by a run on this machine, as promotions require"
    return "from before rows were bound to runs (not known)"


def latest_of_runs(rows: Iterable[Row]) -> list[Row]:
    """The rows, oldest first, of each run the last: one that is gone on with is one run, and a copied row is none."""
    latest: dict[object, Row] = {}
    for place, row in enumerate(oldest_first(rows)):
        run = row.get("run")
        key = run if isinstance(run, str) else place
        latest.pop(key, None)  # its place is that of the last one
        latest[key] = row
    return list(latest.values())
