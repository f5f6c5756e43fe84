"""Who judges where a case names nobody: the one place that decides it, and says who named that judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evenhand.registry.models import model_id

NamedBy = Literal["eval.yml", "pyproject.toml", "EVENHAND_JUDGE", "the model that answers", ""]
ENVIRONMENT: NamedBy = "EVENHAND_JUDGE"


@dataclass(frozen=True, slots=True)
class DefaultJudge:
    """A judge, and who named it.

    Attributes:
        id: Its id; empty for nobody.
        written: As it is written.
    """

    id: str = ""
    written: str = ""
    named_by: NamedBy = ""


def default_judge(
    named: str, project: str, env: Mapping[str, str], answers: str = ""
) -> DefaultJudge:
    """Who judges by default: what `defaults` of eval.yml says, the project, EVENHAND_JUDGE, or the model that answers.

    Args:
        named: The judge of `defaults`; empty for none.
        project: The judge of `[tool.evenhand]`; empty for none.
        answers: The model that answers; empty for none.
    """
    candidates: tuple[tuple[str, NamedBy], ...] = (
        (named, "eval.yml"),
        (project, "pyproject.toml"),
        (env.get("EVENHAND_JUDGE", "").strip(), ENVIRONMENT),
        (answers, "the model that answers"),
    )
    for written, by in candidates:
        if written:
            return DefaultJudge(model_id(written), written, by)
    return DefaultJudge()
