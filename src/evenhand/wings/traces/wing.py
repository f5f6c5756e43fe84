"""What the wing `traces` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Importer, Wing

WING = Wing(
    name="traces",
    summary="Traces of applications, received or read from files.",
    needs=("viewer",),
    commands={
        "data from-traces": Command(
            "evenhand.wings.traces.commands.from_traces:from_traces",
            "Write cases from the traces of a run.",
            (
                "evenhand data from-traces --to cases.jsonl",
                "evenhand data from-traces --to c.yaml --draw 40",
            ),
        ),
        "runs listen": Command(
            "evenhand.wings.traces.commands.listen:listen",
            "Receive an application's traces, and keep them as a run.",
            (
                "evenhand runs listen",
                "evenhand runs listen -- python app.py",
                "evenhand runs listen --idle 10",
            ),
        ),
    },
    importers={"traces": Importer("evenhand.wings.traces.run:read", "traces.jsonl")},
    destinations={"otlp": "evenhand.wings.traces.verdicts:send"},
)
