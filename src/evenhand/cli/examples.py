"""The examples at the end of each command's help: command lines that can be typed. A wing has its own."""

from __future__ import annotations

from collections.abc import Sequence

import click

from evenhand.core.wing import command_of

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "evenhand run my-evals --offline",
        "evenhand run evals/refunds_evals.py:12 -v",
        "evenhand run . --max-cost 2 -o report.html",
        "evenhand run evals --batch --detach",
    ),
    "resume": (
        "evenhand resume",
        "evenhand resume 01M7YPHZRR -j 4",
        "evenhand resume --errors --no-cache",
    ),
    "watch": ("evenhand watch my-evals --offline", "evenhand watch evals --max-cost 1"),
    "runs status": ("evenhand runs status", "evenhand runs status 01M7YPHZRR --json"),
    "show": (
        "evenhand show",
        "evenhand show better:3",
        "evenhand show 01M7YPHZRR --where 'status:fail'",
    ),
    "review": ("evenhand review draw -n 60", "evenhand review notes --by ann"),
    "runs": ("evenhand runs list", "evenhand runs history --last 10"),
    "runs list": ("evenhand runs list", "evenhand runs list --json"),
    "info": ("evenhand info scorers", "evenhand info providers"),
    "info power": (
        "evenhand info power --rate 0.8 --difference 0.05",
        "evenhand info power latest --half-width 0.04",
    ),
    "label": (
        "evenhand label latest --draw 60",
        "evenhand label --draw 60 --seed 1 --to draw.csv",
        "evenhand label --from draw.csv --by ann",
    ),
    "runs rename": (
        "evenhand runs rename 01M7YPHZRR 'shorter prompt'",
        "evenhand runs rename 01M7YPHZRR ''",
    ),
    "runs tag": (
        "evenhand runs tag 01M7YPHZRR release",
        "evenhand runs tag 01M7YPHZRR --remove release",
    ),
    "runs note": ("evenhand runs note 01M7YPHZRR 'new judge'", "evenhand runs note 01M7YPHZRR"),
    "runs delete": ("evenhand runs delete 01M7YPHZRR", "evenhand runs delete 01M7YPHZRR --yes"),
    "check": ("evenhand check .", "evenhand check evals --first 10 --json"),
    "export": (
        "evenhand export --to results.csv",
        "evenhand export 01M7YPHZRR --to report.html",
        "evenhand export --to - --format jsonl",
    ),
    "import": (
        "evenhand import results.json",
        "evenhand import openai-evals openai-evals.jsonl",
        "evenhand import inspect logs/*.eval",
        "evenhand import traces traces.jsonl spans.pb.gz",
    ),
    "compare": (
        "evenhand compare",
        "evenhand compare :first :second --metric passed",
        "evenhand compare 01M7YPHZRR latest --margin 0.05",
    ),
    "baseline": (
        "evenhand baseline latest --to evals/baseline.evn",
        "evenhand baseline 01M7YPHZRR --to baseline.evn --outputs",
    ),
    "runs cassette": (
        "evenhand runs cassette latest --to evals/shop.cassette",
        "evenhand runs cassette --to c.cassette --max-age 30d",
    ),
    "regrade": (
        "evenhand regrade latest --with evals",
        "evenhand regrade 01M7YPHZRR --with . --max-cost 1",
    ),
    "runs merge": (
        "evenhand runs merge a.db b.db c.db --to whole.db",
        "evenhand runs merge shards/*.db --to whole.db --json",
    ),
    "gate": (
        "evenhand gate --baseline evals/baseline.evn --margin .03",
        "evenhand gate my-evals --metric passed --json",
        "evenhand gate . --undecided fail --max-cost 2",
    ),
    "runs history": (
        "evenhand runs history",
        "evenhand runs history my-evals --last 10",
        "evenhand runs history --json",
    ),
    "init": (
        "evenhand init my-evals",
        "evenhand init my-evals --python",
        "evenhand init --from promptfooconfig.yaml",
        "evenhand init --from openai-evals saved.jsonl my-evals",
    ),
    "prompt": (
        "evenhand prompt new refunds",
        "evenhand prompt send refunds --case first",
        "evenhand prompt promote refunds",
    ),
    "prompt new": ("evenhand prompt new refunds", "evenhand prompt new refunds-v2 --from refunds"),
    "prompt edit": ("evenhand prompt edit refunds", "evenhand prompt edit refunds --file eval.yml"),
    "prompt promote": (
        "evenhand prompt promote refunds",
        "evenhand prompt promote refunds --force --reason pilot",
    ),
    "prompt index": ("evenhand prompt index", "evenhand prompt index --shell verbs.sh"),
    "prompt site": ("evenhand prompt site", "evenhand prompt site --out public"),
    "prompt export-skill": (
        "evenhand prompt export-skill refunds",
        "evenhand prompt export-skill refunds --force",
    ),
    "prompt migrate": ("evenhand prompt migrate", "evenhand prompt migrate --write"),
    "prompt list": ("evenhand prompt list --status ready", "evenhand prompt list --check"),
    "prompt show": ("evenhand prompt show refunds", "evenhand prompt show refunds --json"),
    "prompt log": ("evenhand prompt log refunds --last 3", "evenhand prompt log refunds --evals"),
    "prompt doctor": (
        "evenhand prompt doctor",
        "evenhand prompt doctor refunds --check",
        "evenhand prompt doctor --evidence --quiet",
    ),
    "prompt render": (
        "evenhand prompt render refunds --case first",
        "evenhand prompt render refunds --var tone=kind",
    ),
    "prompt send": (
        "evenhand prompt send refunds --case first",
        "evenhand prompt send refunds --var tone=kind --json",
        "evenhand prompt send refunds --case first --offline",
    ),
    "new": ("evenhand new eval refunds", "evenhand new judge tone"),
    "new eval": ("evenhand new eval refunds", "evenhand new eval shop/refunds"),
    "new judge": ("evenhand new judge tone", "evenhand new judge support/tone"),
    "new prompt-function": (
        "evenhand new prompt-function reply",
        "evenhand new prompt-function support/reply",
    ),
    "data": ("evenhand data show cases.csv", "evenhand data convert cases.csv cases.jsonl"),
    "data show": ("evenhand data show cases.csv", "evenhand data show cases.jsonl"),
    "data convert": (
        "evenhand data convert cases.csv cases.jsonl",
        "evenhand data convert cases.jsonl cases.yaml",
    ),
    "data split": (
        "evenhand data split cases.csv --into dev=0.2,test=0.8",
        "evenhand data split c.csv --into a=1,b=1 --by tags",
    ),
    "data enrich": (
        "evenhand data enrich cases.csv --to facts.jsonl",
        "evenhand data enrich cases.csv --to f.csv -j 4",
    ),
    "data generate": (
        "evenhand data generate docs --to c.csv --model $MODEL",
        "evenhand data generate a.md --to c.csv --model $MODEL",
    ),
    "doctor": ("evenhand doctor", "evenhand prompt doctor"),
    "info scorers": ("evenhand info scorers", "evenhand info scorers --json"),
    "info providers": ("evenhand info providers", "evenhand info providers | grep azure"),
    "cache": ("evenhand cache stats", "evenhand cache explain"),
    "cache stats": ("evenhand cache stats", "evenhand cache --of my-evals stats"),
    "cache clear": ("evenhand cache clear", "evenhand cache --of my-evals clear"),
    "cache explain": ("evenhand cache explain", "evenhand cache explain 4f2a"),
    "info schema": ("evenhand info schema promptfoo --to config.json", "evenhand info schema eval"),
    "info completion": ('eval "$(evenhand info completion bash)"', "evenhand info completion fish"),
}


def examples_of(name: str) -> Sequence[str]:
    """Command lines of this command that can be typed; empty where there are none."""
    of_wing = command_of(name) if name not in EXAMPLES else None
    return of_wing.examples if of_wing is not None else EXAMPLES.get(name, ())


def with_examples(command: click.Command, *words: str) -> click.Command:
    """The command, and those below it, with their examples at the end of their help."""
    lines = examples_of(" ".join(words))
    if lines:
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            with_examples(inner, *words, name)
    return command
