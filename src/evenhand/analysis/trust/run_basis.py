"""What a run's numbers depend on: its config, cases and system, and who judged it."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.analysis.trust.calibration_file import place_of
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.core.encoding import digest
from evenhand.store.runfile import RunFile


def basis_of(run: RunFile) -> dict[str, str]:
    """What a run's numbers depend on, as digests by name."""
    judged = judgements(run)
    basis = judged.parts.basis()
    calibration = place_of(run.meta)
    bound = {"config": run.meta.fingerprint, "data": basis.data, "system": basis.system}
    for (metric, model), judge in sorted(judged.metrics.items()):
        parts = [*sorted(judge.instruments), "", *sorted(judge.criteria)]
        parts.append(basis.settings.get(model, ""))
        bound[f"judge of {metric}, {model}"] = digest(*parts)[:16]
        if settings := basis.settings.get(model):
            bound[f"judge settings of {model}"] = settings
    if judged.metrics and calibration.is_file():
        bound["calibration"] = digest(calibration.read_bytes())[:16]
    script = run.meta.settings.get("script")
    if isinstance(script, str) and script:
        bound["script"] = script[:16]
    return bound


def system_of(run: RunFile) -> Mapping[str, str]:
    """What makes two runs runs of one system, whatever their cases are, as digests by name."""
    basis = judgements(run).parts.basis()
    script = run.meta.settings.get("script")
    return {"written": basis.written, "models": basis.models, "script": str(script or "")}
