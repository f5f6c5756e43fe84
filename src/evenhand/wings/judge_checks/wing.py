"""What the wing `judge_checks` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="judge_checks",
    summary="Calibrations of judges, attacks on them, canaries, and tryouts of others.",
    commands={
        "calibrate": Command(
            "evenhand.wings.judge_checks.commands.calibrate:calibrate",
            "Compare a run's judges with people's labels.",
            (
                "evenhand calibrate",
                "evenhand calibrate 01M7YPHZRR --json",
                "evenhand calibrate --try judges.yml --max-cost 2",
            ),
        ),
        "probe": Command(
            "evenhand.wings.judge_checks.commands.probe:probe",
            "Attack a run's judges, and say what fools them.",
            (
                "evenhand probe latest --dry-run",
                "evenhand probe latest --max-cost 2",
                "evenhand probe --kind instructions --kind empty",
            ),
        ),
        "runs canaries": Command(
            "evenhand.wings.judge_checks.commands.canaries:canaries",
            "Ask a run's judges about outputs whose verdicts are known.",
            (
                "evenhand runs canaries --keep 40",
                "evenhand runs canaries latest",
                "evenhand runs canaries --file judge/canaries.json --json",
            ),
        ),
    },
    studies={
        "probe": "evenhand.wings.judge_checks.commands.probe:study",
        "canaries": "evenhand.wings.judge_checks.commands.canaries:study",
        "tryout": "evenhand.wings.judge_checks.commands.tryout:study",
    },
    hooks={"canaries": "evenhand.wings.judge_checks.commands.canaries_of_run:CANARIES"},
)
