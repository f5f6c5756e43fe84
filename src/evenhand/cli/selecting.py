"""The options that say what is run: which configs, which part of them, and what goes over them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.completing import complete_runs
from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag, number_option, repeatable, text_option
from evenhand.core.ranges import MILLISECONDS, REPEATS, ROWS, SEED
from evenhand.scorers.rag.definitions import SYSTEMS

if TYPE_CHECKING:
    from evenhand.cli.run_request import Asked

_WHICH = (
    repeatable(
        "-c",
        "--config",
        "configs",
        metavar="PATH",
        help="A promptfoo config, a glob pattern, or a folder. Several are combined into one.",
    ),
    text_option(
        "--filter",
        "filter_",
        metavar="REGEX",
        help="Run only cases whose description or variables match REGEX.",
    ),
    text_option(
        "--filter-pattern",
        metavar="REGEX",
        help="Run only cases whose description matches REGEX; --filter looks at variables, too.",
    ),
    repeatable(
        "--filter-metadata",
        metavar="KEY=VALUE",
        help="Run only cases with this metadata. Repeat it to require several.",
    ),
    text_option(
        "--filter-range", metavar="START:END", help="Run only cases START to END-1, counted from 0."
    ),
    number_option(
        "--first",
        "--filter-first-n",
        "-n",
        "first",
        within=ROWS,
        metavar="N",
        help="Run only the first N cases of each eval set, prompt or config.",
    ),
    number_option(
        "--sample",
        "--filter-sample",
        "sample",
        within=ROWS,
        metavar="N",
        help="Run only N cases of each, drawn at random. With a baseline, N in all, and the others are predicted.",
    ),
    number_option(
        "--seed",
        "--filter-sample-seed",
        "seed",
        within=SEED,
        help="Seed for --sample and --stop-when-decided.  [default: 0]",
    ),
    text_option(
        "--filter-prompts",
        metavar="REGEX",
        help="Run only prompts whose label matches REGEX (eval sets: variants whose name does).",
    ),
    text_option(
        "--filter-providers",
        "--filter-targets",
        "filter_providers",
        metavar="REGEX",
        help="Run only models whose id or label matches REGEX.",
    ),
    text_option(
        "--filter-failing",
        metavar="RUN",
        shell_complete=complete_runs,
        help="Run only cases that failed or ended in an error in RUN: an id, `latest`, or a results file.",
    ),
    text_option(
        "--filter-failing-only",
        metavar="RUN",
        shell_complete=complete_runs,
        help="Run only cases that failed in RUN.",
    ),
    text_option(
        "--filter-errors-only",
        metavar="RUN",
        shell_complete=complete_runs,
        help="Run only cases that ended in an error in RUN.",
    ),
    text_option(
        "-k", "names", metavar="NAME", help="Run only evals whose name contains NAME (eval sets)."
    ),
    text_option(
        "--case", metavar="NAME", help="Run only the case called NAME (prompt directories)."
    ),
    number_option("--repeat", within=REPEATS, metavar="N", help="Repeat each case N times."),
)

_OVER = (
    repeatable(
        "-p",
        "--prompts",
        metavar="PROMPT",
        help="Use this prompt instead of the config's. With --providers, no config is needed.",
    ),
    repeatable(
        "-r", "--providers", metavar="ID", help="Ask this model instead of the config's providers."
    ),
    text_option(
        "-t",
        "--tests",
        "--vars",
        "tests",
        metavar="FILE",
        help="Use the tests in FILE instead of the config's.",
    ),
    text_option(
        "--model-outputs",
        metavar="FILE",
        help="Evaluate the outputs in FILE, a JSON list, and ask no model. Needs --assertions.",
    ),
    text_option(
        "-a",
        "--assertions",
        metavar="FILE",
        help="Assertions for each of --model-outputs: a list in YAML or JSON.",
    ),
    repeatable("--var", metavar="NAME=VALUE", help="Set a variable in every case."),
    text_option("--prompt-prefix", metavar="TEXT", help="Put TEXT before every prompt."),
    text_option("--prompt-suffix", metavar="TEXT", help="Put TEXT after every prompt."),
    text_option("--description", metavar="TEXT", help="Name the run."),
    repeatable("--tag", metavar="NAME", help="Run only evals with this tag (eval sets)."),
    repeatable(
        "--run-tag",
        "run_tags",
        metavar="NAME=VALUE",
        help="Tag the run, as `evenhand runs tag` does. promptfoo's --tag NAME=VALUE does the same.",
    ),
    text_option(
        "--grader", metavar="ID", help="Judge with this model where the config names none."
    ),
    number_option(
        "--delay",
        within=MILLISECONDS,
        metavar="MS",
        help="Wait MS milliseconds before each call, and make one call at a time.",
    ),
    repeatable(
        "--env-file",
        "--env-path",
        "env_files",
        metavar="FILE",
        help="Load environment variables from FILE.",
    ),
    repeatable(
        "-x",
        "--extension",
        "extensions",
        metavar="FILE:NAME",
        help="Call this hook beside the config's: file://hooks.py:afterAll.",
    ),
    flag(
        "--strict-prompts",
        help="Call every prompt function with promptfoo's single context argument.",
    ),
)

selecting = OptionSet(*_WHICH, *_OVER)
"""What is run, and what goes over it. They come as one dict, which `asked_for` understands."""


answering = OptionSet(
    flag(
        "--strict",
        help="Treat warnings as errors: hints about what is run, evals that expect nothing.",
    ),
    flag(
        "--offline",
        help="Take models' replies from the folder's offline.jsonl: no key, no cost. Model calls that your code makes "
        "by itself are answered from it, or refused, where they are recorded: not with --no-record-calls, and in "
        "promptfoo folders only with --record-calls.",
    ),
    click.option(
        "--definitions",
        type=click.Choice(SYSTEMS),
        metavar="TOOL",
        help=f"Use this tool's definitions of the RAG metrics: {', '.join(SYSTEMS)}.",
    ),
    text_option(
        "--model",
        metavar="ID",
        help="Ask this model instead of those that the eval sets name, also on the axis `model`.",
    ),
)
"""Who answers, and by which rules; `asked_for` understands them."""


stop_when_decided = flag(
    "--stop-when-decided",
    help="Run the cases in random order, and stop as soon as the verdict is decided.",
)
"""Ends a run before its last case."""


_FAILING = {
    "filter_failing": ("fail", "error"),
    "filter_failing_only": ("fail",),
    "filter_errors_only": ("error",),
}
"""The outcomes that each of these options means."""


def asked_for(paths: tuple[str, ...], options: Mapping[str, Any]) -> Asked:
    """What these options ask for.

    Raises:
        UsageError: One of them cannot be read.
    """
    from evenhand.cli.run_request import Asked, Failing, absolute
    from evenhand.core.errors import UsageError
    from evenhand.core.plan import Selection
    from evenhand.doors.promptfoo.overrides import Overrides, range_of, split_paths

    if bool(options["assertions"]) != bool(options["model_outputs"]):
        raise UsageError(
            "--assertions and --model-outputs belong together", hint="Give both, or neither."
        )
    tags, names = _pairs("--tag", options["tag"], bare=True)
    tags.update(_pairs("--run-tag", options["run_tags"])[0])
    failing = None
    for option, outcomes in _FAILING.items():
        # Of several such options the first of this list holds, but that failures and errors of one run add up.
        if failing is None and options[option]:
            failing = Failing(_run_file(options[option]), outcomes)
    if options["filter_failing_only"] and options["filter_errors_only"]:
        if _run_file(options["filter_errors_only"]) != _run_file(options["filter_failing_only"]):
            raise UsageError(
                "--filter-failing-only and --filter-errors-only name two runs",
                hint="Name the same run in both, or give one of them.",
            )
        failing = Failing(_run_file(options["filter_failing_only"]), ("fail", "error"))
    sources = (*paths, *options["configs"])
    part, files = options["filter_range"], options["env_files"]
    request = Asked(
        paths=tuple(map(absolute, sources or (".",))),
        selection=Selection(
            metadata=options["filter_metadata"],
            filter=options["filter_"],
            pattern=options["filter_pattern"],
            range=range_of(part) if part else None,
            first=options["first"],
            sample=options["sample"],
            seed=options["seed"] or 0,
            repeats=options["repeat"],
            prompts=options["filter_prompts"],
            models=options["filter_providers"],
        ),
        failing=failing,
        over=Overrides(
            prompts=tuple(_prompt_source(text) for text in options["prompts"]),
            providers=options["providers"],
            tests=_file(options["tests"]),
            variables=_pairs("--var", options["var"])[0],
            prefix=options["prompt_prefix"],
            suffix=options["prompt_suffix"],
            description=options["description"],
            tags=tags,
            grader=options["grader"],
            model_outputs=_file(options["model_outputs"]),
            assertions=_file(options["assertions"]),
            extensions=options["extensions"],
            delay_ms=options["delay"],
            env_files=tuple(map(absolute, split_paths(files))) if files else (),
        ),
        names=options["names"],
        tag=names[-1] if names else "",
        case=options["case"],
        strict_prompts=options["strict_prompts"],
        offline=options.get("offline", False),
        strict=options.get("strict", False),
        definitions=options.get("definitions") or "",
        model=options.get("model", ""),
        at_least=options.get("at_least"),
        record_anew=options.get("record_anew", False),
        record_calls=options.get("record_calls"),
    )
    request.check_offline()
    return request


def _pairs(
    option: str, texts: tuple[str, ...], *, bare: bool = False
) -> tuple[dict[str, str], list[str]]:
    """`name=value`s by name, and, where they may be, names without a value."""
    pairs: dict[str, str] = {}
    names: list[str] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name:
            pairs[name] = value
        elif bare and name:
            names.append(name)
        else:
            raise click.UsageError(f"{option}: {text!r} is not NAME=VALUE.")
    return pairs, names


def _run_file(ref: str) -> str:
    """The file of the run meant, absolute, so that the same is meant when it is asked again."""
    if ref.endswith(".json") and Path(ref).is_file():
        return os.path.abspath(ref)
    from evenhand.store.run_lookup import find

    return str(find(Path.cwd(), ref))


def _file(name: str) -> str:
    """A file that is named where one stands, not in the config's folder."""
    if not name or "://" in name.removeprefix("file://"):
        return name
    return os.path.abspath(name.removeprefix("file://"))


def _prompt_source(text: str) -> str:
    """A prompt: a file where one stands, or else text."""
    name = text.removeprefix("file://")
    path = name.rpartition(":")[0] if ".py:" in name else name
    # A prompt may be a long text of several lines, which stat() refuses.
    there = len(path) < 400 and "\n" not in path and os.path.exists(path)
    return f"file://{os.path.abspath(name)}" if there else text
