"""The examples at the end of each command's help: command lines that can be typed. A wing has its own."""

from __future__ import annotations

from collections.abc import Sequence

import click

from evenhand.core.wing import command_of

_LINES: dict[str, tuple[str, ...]] = {
    "run": (
        "run my-evals --offline",
        "run evals/refunds_evals.py:12 -v",
        "run . --max-cost 2 -o report.html",
        "run evals --batch --detach",
    ),
    "resume": ("resume", "resume 01M7YPHZRR -j 4", "resume --errors --no-cache"),
    "watch": ("watch my-evals --offline", "watch evals --max-cost 1"),
    "runs status": ("runs status", "runs status 01M7YPHZRR --json"),
    "show": ("show", "show better:3", "show 01M7YPHZRR --where 'status:fail'"),
    "review": ("review draw -n 60", "review notes --by ann"),
    "runs": ("runs list", "runs history --last 10"),
    "runs list": ("runs list", "runs list --json"),
    "info": ("info scorers", "info providers"),
    "info power": (
        "info power --rate 0.8 --difference 0.05",
        "info power latest --half-width 0.04",
    ),
    "label": (
        "label latest --draw 60",
        "label --draw 60 --seed 1 --to draw.csv",
        "label --from draw.csv --by ann",
    ),
    "runs rename": ("runs rename 01M7YPHZRR 'shorter prompt'", "runs rename 01M7YPHZRR ''"),
    "runs tag": ("runs tag 01M7YPHZRR release", "runs tag 01M7YPHZRR --remove release"),
    "runs note": ("runs note 01M7YPHZRR 'new judge'", "runs note 01M7YPHZRR"),
    "runs delete": ("runs delete 01M7YPHZRR", "runs delete 01M7YPHZRR 01M83FG1EM --yes"),
    "check": ("check .", "check evals --first 10 --json"),
    "export": (
        "export --to results.csv",
        "export 01M7YPHZRR --to report.html",
        "export --to - --format jsonl",
    ),
    "import": (
        "import results.json",
        "import openai-evals openai-evals.jsonl",
        "import inspect logs/*.eval",
        "import traces traces.jsonl spans.pb.gz",
    ),
    "compare": (
        "compare",
        "compare :first :second --metric passed",
        "compare 01M7YPHZRR latest --margin 0.05",
    ),
    "baseline": (
        "baseline latest --to evals/baseline.evn",
        "baseline 01M7YPHZRR --to baseline.evn --outputs",
    ),
    "runs cassette": (
        "runs cassette latest --to evals/shop.cassette",
        "runs cassette --to c.cassette --max-age 30d",
    ),
    "regrade": ("regrade latest --with evals", "regrade 01M7YPHZRR --with . --max-cost 1"),
    "runs merge": (
        "runs merge a.db b.db c.db --to whole.db",
        "runs merge shards/*.db --to whole.db --json",
    ),
    "gate": (
        "gate --baseline evals/baseline.evn --margin .03",
        "gate my-evals --metric passed --json",
        "gate . --undecided fail --max-cost 2",
    ),
    "runs history": ("runs history", "runs history my-evals --last 10", "runs history --json"),
    "init": (
        "init my-evals",
        "init my-evals --python",
        "init --from promptfooconfig.yaml",
        "init --from openai-evals saved.jsonl my-evals",
    ),
    "prompt": ("prompt new refunds", "prompt send refunds --case first", "prompt promote refunds"),
    "prompt new": ("prompt new refunds", "prompt new refunds-v2 --from refunds"),
    "prompt edit": ("prompt edit refunds", "prompt edit refunds --file eval.yml"),
    "prompt promote": ("prompt promote refunds", "prompt promote refunds --force --reason pilot"),
    "prompt index": ("prompt index", "prompt index --shell verbs.sh"),
    "prompt site": ("prompt site", "prompt site --out public"),
    "prompt export-skill": ("prompt export-skill refunds", "prompt export-skill refunds --force"),
    "prompt migrate": ("prompt migrate", "prompt migrate --write"),
    "prompt list": ("prompt list --status ready", "prompt list --check"),
    "prompt show": ("prompt show refunds", "prompt show refunds --json"),
    "prompt log": ("prompt log refunds --last 3", "prompt log refunds --evals"),
    "prompt doctor": (
        "prompt doctor",
        "prompt doctor refunds --check",
        "prompt doctor --evidence --quiet",
    ),
    "prompt render": (
        "prompt render refunds --case first",
        "prompt render refunds --var tone=kind",
    ),
    "prompt send": (
        "prompt send refunds --case first",
        "prompt send refunds --var tone=kind --json",
        "prompt send refunds --case first --offline",
    ),
    "new": ("new eval refunds", "new judge tone"),
    "new eval": ("new eval refunds", "new eval shop/refunds"),
    "new judge": ("new judge tone", "new judge support/tone"),
    "new prompt-function": ("new prompt-function reply", "new prompt-function support/reply"),
    "data": ("data show cases.csv", "data convert cases.csv cases.jsonl"),
    "data show": ("data show cases.csv", "data show cases.jsonl"),
    "data convert": ("data convert cases.csv cases.jsonl", "data convert cases.jsonl cases.yaml"),
    "data split": (
        "data split cases.csv --into dev=0.2,test=0.8",
        "data split c.csv --into a=1,b=1 --by tags",
    ),
    "data enrich": (
        "data enrich cases.csv --to facts.jsonl",
        "data enrich cases.csv --to f.csv -j 4",
    ),
    "data generate": (
        "data generate docs --to c.csv --model $MODEL",
        "data generate a.md --to c.csv --model $MODEL",
    ),
    "doctor": ("doctor", "prompt doctor"),
    "info scorers": ("info scorers", "info scorers --json"),
    "info providers": ("info providers", "info providers | grep azure"),
    "cache": ("cache stats", "cache explain"),
    "cache stats": ("cache stats", "cache --of my-evals stats"),
    "cache clear": ("cache clear", "cache --of my-evals clear"),
    "cache explain": ("cache explain", "cache explain 4f2a"),
    "info schema": ("info schema promptfoo --to config.json", "info schema eval"),
    "info completion": ('eval "$(evenhand info completion bash)"', "info completion fish"),
}
"""The lines of each command, without `evenhand` but where a shell takes more than the command."""
EXAMPLES = {
    name: [line if "evenhand" in line else f"evenhand {line}" for line in lines]
    for name, lines in _LINES.items()
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
