"""What the wing `failures` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="failures",
    summary="Reviews of outputs, kinds of failure with their shares, and scorers that watch for them.",
    commands={
        "review draw": Command(
            "evenhand.wings.failures.commands.review:draw",
            "Draw outputs at random for people to review.",
            ("evenhand review draw", "evenhand review draw latest -n 100 --seed 1"),
        ),
        "review notes": Command(
            "evenhand.wings.failures.commands.review:notes",
            "Say which drawn outputs failed, with a note on each.",
            (
                "evenhand review notes --by ann",
                "evenhand review notes --to notes.csv",
                "evenhand review notes --from notes.csv --by ann",
            ),
        ),
        "review list": Command(
            "evenhand.wings.failures.commands.review:list_",
            "List reviews, those that people disagree about first.",
            ("evenhand review list", "evenhand review list latest --json"),
        ),
        "review propose": Command(
            "evenhand.wings.failures.commands.propose:propose",
            "Let a model propose kinds of failure from the notes.",
            (
                "evenhand review propose --model openai:gpt-5",
                "evenhand review propose latest --model openai:gpt-5",
            ),
        ),
        "review count": Command(
            "evenhand.wings.failures.commands.count:count",
            "Count the kinds of failure, with the share of each.",
            (
                "evenhand review count",
                "evenhand review count --judge openai:gpt-5 --json",
                "evenhand review count --html kinds.html",
            ),
        ),
        "review cases": Command(
            "evenhand.wings.failures.commands.cases:cases",
            "Write cases of what failed to a dataset.",
            (
                "evenhand review cases --to failures.jsonl",
                "evenhand review cases latest --to f.csv",
            ),
        ),
        "review label": Command(
            "evenhand.wings.failures.commands.label:label",
            "Label outputs of `avoids` metrics by people's codes.",
            ("evenhand review label", "evenhand review label latest --reviewed 01M7YPHZRR"),
        ),
        "review ratify": Command(
            "evenhand.wings.failures.commands.count:ratify",
            "Accept kinds of failure in your name.",
            (
                "evenhand review ratify --by ann",
                "evenhand review ratify 'invents a policy' --by ann",
            ),
        ),
    },
    studies={
        "failure_kinds": "evenhand.wings.failures.commands.count:study",
        "failure_proposal": "evenhand.wings.failures.commands.propose:study",
    },
    documents={
        "evenhand.failures/1": "evenhand.wings.failures.counting:FailuresDocument",
        "evenhand.review/1": "evenhand.analysis.reviews.reviewed:ReviewDocument",
    },
)
