"""What the wing `remotes` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="remotes",
    summary="Runs in a folder, a bucket, a database or an MLflow server that a team shares.",
    commands={
        "push": Command(
            "evenhand.wings.remotes.commands.push:push",
            "Push runs to a folder, a bucket or a database.",
            (
                "evenhand push --to s3://team-runs/evals",
                "evenhand push latest --to postgresql://db.example/evals",
                "evenhand view s3://team-runs/evals",
            ),
        ),
    },
    run_names={"remote": "evenhand.wings.remotes.commands.remote_runs:RUN_NAMES"},
)
