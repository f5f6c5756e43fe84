"""What the wing `coding_agents` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="coding_agents",
    summary="Tools for coding agents over MCP, and skills with and without.",
    extra="evenhand[mcp]",
    commands={
        "mcp": Command(
            "evenhand.wings.coding_agents.commands.mcp:mcp",
            "Serve check, run, failures and compare to coding agents.",
            ("evenhand mcp --max-cost 2", "evenhand mcp --root my-evals"),
        ),
        "skill": Command(
            "evenhand.wings.coding_agents.commands.skill:skill",
            "Say whether a skill helps: its evals with and without it.",
            (
                "evenhand skill skills/refunds --agent 'claude -p'",
                "evenhand skill skills/refunds --model $MODEL --repeat 5",
            ),
        ),
    },
    studies={"skill": "evenhand.wings.coding_agents.commands.skill:study"},
)
