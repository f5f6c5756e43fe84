"""What the wing `coding_agents` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="coding_agents",
    summary="Tools for coding agents over MCP, and skills with and without.",
    extra="evenhand[mcp]",
    commands={
        "info mcp": Command(
            "evenhand.wings.coding_agents.commands.mcp:mcp",
            "Serve check, run, failures and compare to coding agents.",
            ("evenhand info mcp --max-cost 2", "evenhand info mcp --root my-evals"),
        ),
        "prompt skill": Command(
            "evenhand.wings.coding_agents.commands.skill:skill",
            "Say whether a skill helps: its evals with and without it.",
            (
                "evenhand prompt skill skills/refunds --agent 'claude -p'",
                "evenhand prompt skill skills/refunds --model $MODEL",
            ),
        ),
    },
    studies={"skill": "evenhand.wings.coding_agents.commands.skill:study"},
)
