"""What the wing `audit` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="audit",
    summary="Mutation tests of eval suites: made answers that must fail, or pass.",
    commands={
        "audit": Command(
            "evenhand.wings.audit.commands.audit:audit",
            "Say which cases can't fail, with made answers.",
            (
                "evenhand audit",
                "evenhand audit my-evals --at-least 0.9",
                "evenhand audit --judges --max-cost 1 --json",
            ),
            section="CI",
        )
    },
    studies={"audit": "evenhand.wings.audit.commands.audit:study"},
    settings={"audit": "evenhand.wings.audit.allowing:Settings"},
    hooks={
        "cant_fail": "evenhand.wings.audit.commands.audit_request:mention",
        "cant_fail_in": "evenhand.wings.audit.commands.audit_request:mention_of",
    },
    documents={"evenhand.audit/1": "evenhand.wings.audit.report:AuditDocument"},
)
