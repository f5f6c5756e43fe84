"""What the wing `fleet` brings."""

from __future__ import annotations

from evenhand.core.wing import Command, Wing

WING = Wing(
    name="fleet",
    summary="Runs that several processes or machines settle.",
    extra="evenhand[ray]",
    commands={
        "info workers": Command(
            "evenhand.wings.fleet.commands.workers:workers",
            "Print a job for Kubernetes or Slurm that runs a fleet.",
            (
                "evenhand info workers --for slurm | tee evenhand.sbatch",
                "evenhand info workers --for kuberay --workers 8",
            ),
        )
    },
    hooks={"fleet": "evenhand.wings.fleet.commands.fleet_settings:with_fleet"},
)
