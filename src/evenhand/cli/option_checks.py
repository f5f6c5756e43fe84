"""Options that say something of one kind of evaluation alone: for another one they are refused, never ignored."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.errors import UsageError

CONFIGS, PROMPTS, EVALS = "promptfoo configs", "prompt directories", "eval sets"

_IN_EVAL_YML = "Models, judges and cases are named in eval.yml and meta.yml."
_ENVIRONMENT = "Set the variables before: `set -a; . FILE`."
_NOT_SLOWER = "For fewer calls at a time, use --concurrency."
_RECORD = "`evenhand runs cassette RUN --to FILE` makes a cassette of a run."
_INSTEAD = {
    CONFIGS: {
        "-k": "Use --filter.",
        "--tag TAG": "Use --filter-metadata.",
        "--case": "Use --filter-pattern.",
        "--model": "Use --providers.",
        "--record": _RECORD,
    },
    PROMPTS: {
        "-k": "Use --filter.",
        "--tag TAG": "Use --filter-metadata tags=TAG.",
        "--prompts": _IN_EVAL_YML,
        "--providers": _IN_EVAL_YML,
        "--tests": _IN_EVAL_YML,
        "--prompt-prefix": "What is sent stands in prompt.xml.",
        "--prompt-suffix": "What is sent stands in prompt.xml.",
        "--description": "",
        "--tag NAME=VALUE": "Tags stand in meta.yml.",
        "--grader": _IN_EVAL_YML,
        "--model-outputs": _IN_EVAL_YML,
        "--assertions": _IN_EVAL_YML,
        "--delay": _NOT_SLOWER,
        "--env-file": _ENVIRONMENT,
        "--extension": "",
        "--strict-prompts": "",
        "--model": _IN_EVAL_YML,
        "--record": _RECORD,
        "--at-least": "Write pass_rate: below defaults: in eval.yml; evidence goes by it.",
    },
    EVALS: {
        "--case": "Use --filter.",
        "--prompts": "Write over={'prompt': [...]} in the EvalSet.",
        "--providers": "Use --model for another one; or write over={'model': [...]} in the EvalSet.",
        "--tests": "Write data=Dataset.read(…) in the EvalSet.",
        "--var": "Variables stand in the rows of data=….",
        "--prompt-prefix": "Prompts stand in the eval file.",
        "--prompt-suffix": "Prompts stand in the eval file.",
        "--description": "The EvalSet has a name.",
        "--tag NAME=VALUE": "Write tags=[...] in the EvalSet; --tag NAME runs the evals that have it.",
        "--grader": "Write judge=… in the EvalSet, or set EVENHAND_JUDGE.",
        "--model-outputs": "Use evenhand.score_batch for outputs that are there already.",
        "--assertions": "Use evenhand.score_batch for outputs that are there already.",
        "--delay": _NOT_SLOWER,
        "--env-file": _ENVIRONMENT,
        "--extension": "Use a fixture.",
        "--strict-prompts": "",
    },
}
"""What to do instead, where an option says nothing. One that stands below none of these works for all three."""


def refuse(selection: Mapping[str, object], these: str) -> None:
    """Refuses what was given and says nothing of what is run.

    Args:
        selection: The options of `_INSTEAD`, with what was given; empty for what was not.
        these: What is run: `CONFIGS`, `PROMPTS` or `EVALS`.

    Raises:
        UsageError: All such options, and what to do instead.
    """
    instead = _INSTEAD[these]
    wrong = [option for option, value in selection.items() if value and option in instead]
    if not wrong:
        return
    meant: dict[str, list[str]] = {}
    for option in wrong:
        doors = [door for door, refused in _INSTEAD.items() if option not in refused]
        meant.setdefault(" and ".join(doors), []).append(option)
    what = "; ".join(
        f"{', '.join(options)} {'is' if len(options) == 1 else 'are'} for {doors}"
        for doors, options in meant.items()
    )
    hints = dict.fromkeys(instead[option] for option in wrong if instead[option])
    raise UsageError(f"{what}, and these are {these}", hint=" ".join(hints))
