"""What the wing `code_hosts` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="code_hosts",
    summary="A gate's verdict as a comment on GitHub or GitLab.",
    commands={
        "comment": Command(
            "evenhand.wings.code_hosts.commands.comment:comment",
            "Write a gate's result as one comment on a pull request.",
            (
                "evenhand comment gate.json",
                "evenhand comment gate.json --pr 12 --key support",
                "evenhand comment gate.json --print",
            ),
        )
    },
)
