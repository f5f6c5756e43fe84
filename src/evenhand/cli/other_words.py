"""Words of other tools on the command line, promptfoo's first, and what they are here; and names without a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from evenhand.core.names import nearest

CALLED: Mapping[str, str] = {
    "eval": "run",
    "evaluate": "run",
    "validate": "check",
    "list": "runs list",
    "debug": "doctor",
    "help": "--help",
    "share": "runs push",
    "optimize": "run, with the prompts to compare; then evenhand compare",
    "logs": "show --verbose",
}
"""Commands of promptfoo's with a counterpart: what it is called here."""

MISSING: Mapping[str, str] = {
    "redteam": "Red teaming isn't run here; the evaluation of a red-team config is: evenhand run.",
    "generate": "Cases are made by `evenhand data generate`, assertions by hand.",
    "auth": "There is no account to log in to: runs stay on this machine.",
    "config": "There is no account to set up; project-wide settings are in pyproject.toml.",
    "feedback": "Nothing is sent to anybody.",
    "code-scans": "Code isn't scanned here.",
    "scan-model": "Models' files aren't scanned here.",
}
"""Commands of promptfoo's without one."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "--share": "Nothing is uploaded; `evenhand runs push` copies runs to a folder, a bucket or a database.",
        "--remote": "Nothing is asked but the models that the config names.",
        "--suggest-prompts": "Write the prompts to compare into the config.",
        "--table-cell-max-length": "The table has the width of the terminal; --no-table leaves it out.",
        "--watch": "`evenhand watch` runs again what a saved file changed.",
        "-w": "`evenhand watch` runs again what a saved file changed.",
    },
    "view": {
        "-p": "It is called --port.",
        "-y": "The browser is opened without a question.",
        "--yes": "The browser is opened without a question.",
        "-n": "--no-browser leaves the browser alone.",
        "--no": "--no-browser leaves the browser alone.",
        "--no-open": "--no-browser leaves the browser alone.",
        "--filter-description": "The list of runs in the viewer has a search.",
        "--env-file": "The viewer asks no model.",
    },
    "export": {
        "-o": "It is called --to.",
        "--output": "It is called --to.",
        "--include-media": "Outputs are exported whole.",
    },
    "init": {"--no-interactive": "Nothing is asked.", "--example": "`evenhand init` has one."},
    "import": {
        "--new-id": "The same results are imported once.",
        "--force": "The same results are imported once; `evenhand runs delete` deletes a run.",
    },
    "check": {
        "--max-cost": "`evenhand check` prints the most that a run costs; --max-cost is for `evenhand run`.",
    },
    "resume": {
        "-c": "A run knows the config that it was made of.",
        "--config": "A run knows the config that it was made of.",
        "--share": "Nothing is uploaded; `evenhand runs push` copies runs.",
        "--no-share": "Nothing is uploaded.",
        "--delay": "A run knows its delay.",
    },
}
"""By our command: options that promptfoo's counterpart, or a neighbour of ours, has, and it doesn't."""

_OF_RUNS = {"show": "show", "export": "export", "delete": "runs delete"}


def _each(words: str, meant: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), meant)


_COMMANDS: Mapping[str, str] = {
    **_each("test tests evals exec execute start launch bench benchmark experiment pytest", "run"),
    **_each("eval-set evaluate-dataset score grade", "run"),
    **_each("lint verify dry-run estimate cost plan preview", "check"),
    **_each("ui web serve server dashboard open browse studio inspect", "view"),
    **_each("report results result summary print cat", "show"),
    **_each("ls log list-runs", "runs list"),
    **_each("diff ab versus", "compare"),
    **_each("rerun", "resume --errors"),
    **_each("continue", "resume"),
    **_each("trend trends stats", "runs history"),
    **_each("rm remove", "runs delete"),
    **_each("annotate review judge judges", "label"),
    **_each("rescore re-grade regrading", "regrade"),
    **_each("upload publish sync", "runs push"),
    **_each("save", "export"),
    **_each("models vendors targets", "info providers"),
    **_each("metrics assertions evaluators graders", "info scorers"),
    **_each("prompts", "prompt list"),
    **_each("datasets cases", "data show"),
    **_each("synthesize", "data generate"),
    **_each("convert", "data convert"),
    **_each("traces trace otel", "import traces"),
    **_each("create scaffold quickstart setup", "init"),
    **_each("login env diagnose health", "doctor"),
    **_each("clear-cache clean", "cache clear"),
    **_each("record", "run --record"),
    **_each("replay", "run --replay"),
    **_each("upgrade update install", ""),
    **_each("version", "--version"),
}
"""Commands of other tools', and ours; none for what pip does."""
_OR = {
    "run": "To look at what it would do, without sending anything: evenhand check.",
    "label": "`evenhand calibrate` then says how far judges can be trusted.",
}

_OPTIONS: Mapping[str, str] = {
    **_each(
        "--limit --max-samples --num-samples --samples --max-cases --max-tests --head", "--first"
    ),
    **_each("--epochs --repeats --runs --trials --num-trials --iterations --times", "--repeat"),
    **_each(
        "--parallel --jobs --max-connections --num-workers --max-workers --threads --num-threads --batch-workers",
        "--concurrency",
    ),
    **_each("--max-budget --cost-limit --max-spend --max-usd", "--max-cost"),
    **_each("--timeout --request-timeout", "--time-limit"),
    **_each("--max-retries --retry --retry-count --num-retries", "--retries"),
    **_each("--judge --judge-model --grader-model --critic --evaluator", "--grader"),
    **_each("--provider --models --llm --target", "--model"),
    **_each(
        "--output-file --out --output-path --results --report --save --junitxml --log-file",
        "--output",
    ),
    **_each("--format --output-format", "--output"),
    **_each("--keyword --match --select --only --grep --name --test", "-k"),
    **_each("--tags --mark --marker --label --labels", "--tag"),
    **_each("--quiet --silent --no-ui --display", "--no-progress"),
    **_each("--debug --vv", "--verbose"),
    **_each("--cache-off --disable-cache --refresh --fresh --rerun", "--no-cache"),
    **_each("--ignore-errors --no-fail --soft-fail", "--exit-zero"),
    **_each(
        "--min-score --threshold --pass-threshold --min-pass-rate --pass-rate --fail-under",
        "--at-least",
    ),
    **_each("--last-failed --lf --failed --only-failed --rerun-failed", "--filter-failing"),
    **_each("--continue --resume-from", "--resume"),
    **_each("--mock --fake --no-network --dry", "--offline"),
    **_each("--environment --dotenv --env", "--env-file"),
    **_each("--random-seed", "--seed"),
    **_each("--tolerance --epsilon --delta", "--margin"),
    **_each("--limit-random --sample-size --random", "--sample"),
    **_each("--message --run-name --experiment --experiment-name", "--description"),
}
"""Options of other tools', and ours."""
_PREVIEWS = ("--dry-run", "--estimate", "--plan", "--validate")
"""`check` looks at what `run` takes, and not at what other commands would do."""
_SENTENCES: Mapping[str, str] = {
    **dict.fromkeys(_PREVIEWS, "`evenhand check` says what a run would do and cost."),
    **_each("--draw", "`evenhand gate` has it: --sample 200 --draw flips."),
    **_each("--watch", "`evenhand watch` runs again what a saved file changed."),
    **_each(
        "--view --open --ui --share --web", "`evenhand view` opens the latest run in the browser."
    ),
    **_each(
        "--log-dir --output-dir --results-dir --cache-dir", "EVENHAND_HOME is the folder of runs."
    ),
    **_each(
        "--temperature --max-tokens --top-p --system --system-prompt --api-key --base-url --model-args",
        "It is a setting of the model, in the config or the eval set; keys are environment variables.",
    ),
    **_each(
        "--maxfail --fail-fast --exitfirst -x",
        "--stop-when-decided ends a run as soon as its verdict is known.",
    ),
    **_each("--compare --diff", "`evenhand compare A B` compares two runs."),
    **_each(
        "--tasks --task --eval --evals --dataset --data --file",
        "What to run is named without an option: evenhand run PATH.",
    ),
    **_each("--num-fewshot --num_fewshot --fewshot", "Examples are a part of the prompt."),
    **_each("--html --csv --markdown", "-o FILE writes the format that its ending says."),
}
"""Options of other tools' that are something else here."""


_FILTERS: Mapping[str, str] = {
    **_each(
        "--failed --failures --failing --fails --only-failed --only-failures --filter-failing",
        "status:fail",
    ),
    **_each("--errors --errored --only-errors --filter-errors-only", "status:error"),
    **_each("--passed --passing --only-passed", "status:pass"),
    **_each("--status --filter --query", "status:fail"),
}
"""Options of other tools', and filters of ours."""


def command_hint(name: str, commands: Mapping[str, str]) -> str:
    """What is said of a word that is no command; empty where nothing is near.

    Args:
        commands: Words for commands, earlier names among them, each with what to type.
    """
    if name in CALLED:
        return f"promptfoo's '{name}' is evenhand {CALLED[name]}."
    if name in MISSING:
        return MISSING[name]
    meant = _COMMANDS.get(name.lower().replace("_", "-"))
    if meant == "":
        return "pip installs and updates it."
    if meant is not None:
        return f"Did you mean `evenhand {meant}`? {_OR.get(meant, '')}".rstrip()
    near = nearest(name, commands)
    return f"Did you mean '{commands[near]}'?" if near else ""


def words_hint(words: Sequence[str]) -> str:
    """What to write in place of `export eval ID`; empty for other command lines."""
    if len(words) < 3 or words[0] not in _OF_RUNS or words[1] != "eval":
        return ""
    name = words[2]
    if name.startswith("-") or name.isdigit():
        return ""
    return f"promptfoo's '{words[0]} eval {name}' is evenhand {_OF_RUNS[words[0]]} {name}."


def with_an_example(error: click.MissingParameter) -> click.UsageError:
    """What is missing from a command line, and one that is whole: the first example of the command's help."""
    from evenhand.cli.examples import examples_of

    text = error.format_message()
    path = error.ctx.command_path.partition(" ")[2] if error.ctx is not None else ""
    for example in examples_of(path)[:1]:
        text += f"\n  For example: {example}"
    return click.UsageError(text, error.ctx)


def with_our_option(error: click.NoSuchOption) -> click.UsageError:
    """The error with the option of ours that was probably meant, instead of those whose letters are alike."""
    written = error.option_name.lower()
    bare = written.lstrip("-")
    # Other tools spell their options with underscores.
    plain = "-" * (len(written) - len(bare)) + bare.replace("_", "-")
    of_promptfoo = OPTIONS.get((error.ctx.info_name if error.ctx else None) or "", {})
    if error.option_name in of_promptfoo:
        hint = of_promptfoo[error.option_name]
        return click.UsageError(f"No such option: '{error.option_name}'. {hint}", error.ctx)
    command = error.ctx.command if error.ctx is not None else None
    parameters = command.params if command is not None else []
    known = [opt for one in parameters for opt in (*one.opts, *one.secondary_opts)]
    meant = _OPTIONS.get(plain, "")
    if plain in _FILTERS and "--where" in known:
        hint = f"Did you mean '--where {_FILTERS[plain]}'?"
    elif meant in known:
        hint = f"Did you mean '{meant}'?"
    elif meant and isinstance(command, click.Group):
        hint = f"`evenhand run` has '{meant}'."
    elif plain in _PREVIEWS and not any(one.name == "paths" for one in parameters):
        hint = "--max-cost USD limits what it spends." if "--max-cost" in known else ""
    elif plain in _SENTENCES:
        hint = _SENTENCES[plain]
    else:
        near = nearest(plain, [opt for opt in known if opt.startswith("--")])
        hint = f"Did you mean '{near}'?" if near else ""
    return click.UsageError(f"{error.message} {hint}".rstrip(), error.ctx)


def meant_path(path: Path) -> str:
    """What a path that does not exist was probably meant for, as it is written from the current folder; empty for none.

    `refunds` is `prompts/refunds` where there is such a prompt, or `evals/refunds_evals.py`.
    """
    folder, name = path.parent, path.name.partition(":")[0]
    stem = name
    for end in (".py", ".yaml", ".yml", "_evals", "_eval"):
        stem = stem.removesuffix(end)
    places = [
        *(folder / inner / stem for inner in ("prompts", "evals")),
        *(
            folder / inner / f"{stem}{end}"
            for inner in ("", "evals")
            for end in ("_evals.py", "_eval.py")
        ),
        *(folder / f"{stem}{end}" for end in (".yaml", ".yml")),
    ]
    there = next((one for one in places if one.exists() and one != path), None)
    if there is None:
        near = [one for inner in ("prompts", "evals", "") for one in _inside(folder / inner)]
        by_name = {one.name.removesuffix("_evals.py"): one for one in reversed(near)}
        by_file = {one.name: one for one in reversed(near)}
        there = by_name.get(nearest(stem, by_name)) or by_file.get(nearest(name, by_file))
    if there is None:
        return ""
    here = Path.cwd()
    return str(there.relative_to(here) if there.is_relative_to(here) else there)


def _inside(folder: Path) -> list[Path]:
    """What may be run in a folder: folders and eval files."""
    try:
        each = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        one
        for one in each
        if not one.name.startswith((".", "_")) and (one.is_dir() or one.name.endswith("_evals.py"))
    ]
