"""What the wing `remotes` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="remotes",
    summary="Runs in a folder, a bucket, a database or an MLflow server that a team shares.",
    commands={
        "runs push": Command(
            "evenhand.wings.remotes.commands.push:push",
            "Push runs to a folder, a bucket or a database.",
            (
                "evenhand runs push --to s3://team-runs/evals",
                "evenhand runs push latest --to postgresql://db.test/e",
                "evenhand view s3://team-runs/evals",
            ),
        )
    },
    run_names={"remote": "evenhand.wings.remotes.commands.remote_runs:RUN_NAMES"},
)
