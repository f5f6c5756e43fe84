"""Promotes a prompt where its evidence is enough, and keeps who did it, from what, and on what grounds.

What each step needs is in `promotion_rules`.

How this works: a promotion is a row and a new status in meta.yml. While it is under way, the row stands in a file of
its own, too. If it is killed, that file is left. Where meta.yml wasn't changed yet, the row doesn't count then, and the
next promotion takes it back.
"""

from __future__ import annotations

import getpass

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.doors.prompt_directories.evidence import (
    PENDING,
    PROMOTIONS,
    append,
    now,
    today,
    withdraw,
)
from evenhand.doors.prompt_directories.library import META
from evenhand.doors.prompt_directories.promotion_rules import (
    Gate,
    evidence_of,
    gates,
    grounds,
    lowered,
    next_status,
    standing,
)
from evenhand.doors.prompt_directories.prompt import STATUSES, PromptFolder, Status
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.doors.prompt_directories.writing import meta_with, write
from evenhand.store.run_lookup import home_for


class Promoted(Record, frozen=True):
    """What became of a promotion.

    Attributes:
        target: The status that was asked for.
        done: Whether it has that status now.
    """

    target: Status
    missing: tuple[str, ...]
    done: bool
    gates: tuple[Gate, ...] = ()


def promote(prompt: PromptFolder, *, force: bool = False, reason: str = "") -> Promoted:
    """Gives a prompt the next status, if its evidence is enough, or if somebody says why not to wait for it.

    Args:
        force: Whatever its evidence lacks. Needs a reason, which is kept.

    Raises:
        UsageError: It is ready already, there is no reason, or its meta.yml can't be changed.
        StoreError: It cannot be written.
    """
    withdraw(prompt.path, prompt.meta.status)
    if prompt.meta.status == STATUSES[-1]:
        held = standing(prompt, evidence_of(prompt))
        if held.state == "stale":
            raise UsageError(
                f"{prompt.id} is ready already, but its evidence falls short: {'; '.join(held.missing)}",
                hint="`evenhand prompt list` says what renews it.",
            )
    target = next_status(prompt)
    if force and not reason.strip():
        raise UsageError(
            "--force needs a reason",
            hint=f"Write --reason '…': it is kept in {prompt.path.name}/{PROMOTIONS}.",
        )
    runs = KeptRuns(home_for(prompt.library.root))
    evidence = evidence_of(prompt, runs=runs, must_be_here=True)
    checked = tuple(gates(prompt, target, evidence))
    missing = tuple(gate.line for gate in checked if not gate.met)
    if missing and not force:
        return Promoted(target, missing, done=False, gates=checked)
    row = {
        "ts": now(),
        "from": prompt.meta.status,
        "to": target,
        "forced": bool(missing),
        "reason": reason.strip() or None,
        "unmet": list(missing),
        "gates": [str(gate) for gate in checked],
        "lowered": lowered(prompt.meta.promotion, target),
        "runs": grounds(prompt, target, evidence),
        "content": evidence.content.whole,
        "template": prompt.template,
        "model": evidence.model,
        "version": prompt.meta.version,
        "by": _who(),
    }
    text = meta_with(prompt, updated=today(), status=target)
    pending = prompt.path / PENDING
    append(pending, row)
    append(prompt.path / PROMOTIONS, row)  # first: a promotion without its row would leave no trace
    write(prompt.path / META, text)
    pending.unlink(missing_ok=True)
    return Promoted(target, missing, done=True, gates=checked)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without users
        return "unknown"
