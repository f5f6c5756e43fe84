"""What the commands of the documentation find when they are run: a folder for each page, and who answers.

`world(page)` is what is written before the first command of a page, and the commands that somebody who reads on would
have typed by then. `NOT_RUN` are the lines that are not run, each with why.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from tests.e2e.s3 import bucket
from tests.e2e.test_plugins import NIGHTLY
from tests.e2e.test_rag_definitions import EVALS as RAG
from tests.e2e.test_traces_command import Backend
from tests.oracle.test_trace_dialects import SHOP
from tests.oracle.trace_writers import as_json, genai, written
from tests.unit.wings.interchange.test_recorded_evals import a_log

ROOT = Path(__file__).resolve().parents[2]
RUN_ELSEWHERE: Mapping[str, str] = {
    "docs/coming-from-deepeval.md": "tests/e2e/test_coming_from.py",
    "docs/coming-from-lm-eval.md": "tests/e2e/test_coming_from.py",
    "docs/coming-from-platforms.md": "tests/e2e/test_coming_from.py",
    "docs/coming-from-pydantic-evals.md": "tests/e2e/test_coming_from.py",
    "docs/coming-from-ragas.md": "tests/e2e/test_coming_from.py",
    "docs/leaving-openai-evals.md": "tests/e2e/test_leaving_openai_evals.py",
}
"""Pages whose commands another test runs, one after the other."""

INSTALLS = "it installs packages, and no test reaches beyond this machine"
DATABASE = "it needs PostgreSQL: tests/e2e/test_remotes.py starts one where there is one"
CLUSTER = "it needs a Ray cluster: tests/faults starts one"
RELEASE = "it publishes a release"
PODMAN = "it needs podman, and builds from an image that it downloads"
WHOLE = "it is what runs this test"
NOT_RUN: Mapping[tuple[str, str], str] = {
    ("README.md", "python3 -m venv"): INSTALLS,
    ("README.md", "requirements/install"): INSTALLS,
    ("CONTRIBUTING.md", "requirements/install"): INSTALLS,
    ("docs/sharing-runs.md", "evenhand runs history postgresql:"): DATABASE,
    ("docs/scale.md", "evenhand run evals --ray"): CLUSTER,
    ("docs/scale.md", "pip install"): INSTALLS,
    ("docs/releasing.md", "TAG="): RELEASE,
    ("docs/releasing.md", "podman"): PODMAN,
    ("docs/how-we-test.md", ""): WHOLE,
}
"""By page and how the line begins: why it isn't run."""

GREETING = """\
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Contains, Passes

evals = EvalSet(
    "{name}",
    data=Dataset([Case(f"{name} {{i}}", input=f"What about {{i}}?", tags=["billing"]) for i in range(12)]),
    model="openai:chat:gpt-5-mini",
    judge="openai:chat:gpt-5-mini",
    tags=["slow"],
    cassette={cassette},
)


@evals.eval
async def refund_is_polite(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(str(case.input))
    expect(reply.text, Contains("a"))
    expect(reply.text, Passes("is polite"), metric="polite")
    return reply.text
"""
FIRST = """\
from evenhand import EvalSet, Expect

shop = EvalSet("{name} first", tags=["slow"])


# The lines of the evals are those that the pages name.



@shop.eval
def refund_arrives(expect: Expect) -> None:
    expect(True, "arrives")
"""
PADDING = "\n" * 15
CONFIG = """\
prompts:
  - {label: plain, raw: 'Say it: {{message}}'}
  - {label: strict, raw: 'Say it strictly: {{message}}'}
  - {label: better, raw: 'Say it better: {{message}}'}
providers: [openai:chat:gpt-5-mini]
defaultTest:
  options: {provider: openai:chat:gpt-5-mini}
  assert: [{type: llm-rubric, metric: faithfulness, value: is polite}, {type: icontains, value: a}]
tests: tests.csv
"""
FAQ = "id,input,expected,tags\n" + "".join(
    f"q{i},What is {i}?,It is {i}.,{'billing' if i % 2 else 'shop'}\n" for i in range(20)
)
AGENT = """\
import os, pathlib, sys
skill = list(pathlib.Path(".").rglob("SKILL.md"))
print("with the skill" if skill else "without it")
"""
SKILL = "---\nname: refunds\ndescription: Refunds.\n---\nAnswer kindly.\n"


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files, with their folders."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def tests_csv() -> str:
    """Twenty-four rows."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["message"])
    rows.writerows([f"What about parcel {i}?"] for i in range(24))
    return out.getvalue()


def two_parts(folder: Path) -> None:
    """The other part of a split."""
    write(folder, {"train.csv": "question\nWhat about parcel 3?\n"})


def eval_sets(folder: Path) -> None:
    """Evals of a shop, each in a file of more than 41 lines."""
    write(
        folder,
        {
            f"evals/{name}_evals.py": FIRST.format(name=name)
            + PADDING
            + GREETING.format(name=name, cassette=None)
            for name in ("refunds", "shipping", "shop")
        },
    )


def config(folder: Path, name: str = "my-evals") -> None:
    """A promptfoo config with three prompts and a judge."""
    write(
        folder,
        {
            f"{name}/promptfooconfig.yaml": CONFIG,
            f"{name}/tests.csv": tests_csv(),
            f"{name}/offline.jsonl": json.dumps(
                {"reply": json.dumps({"reason": "a", "pass": True, "score": 1})}
            )
            + "\n",
        },
    )


def skill(folder: Path) -> None:
    """A skill with two tasks."""
    tasks = [{"id": i, "prompt": f"task {i}", "assertions": ["It is kind"]} for i in range(2)]
    text = json.dumps({"skill_name": "refunds", "evals": tasks})
    write(folder, {"skills/refunds/SKILL.md": SKILL, "skills/refunds/evals/evals.json": text})


def examples(folder: Path) -> None:
    """What the repository has."""
    shutil.copytree(
        ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns(".evenhand")
    )


def spans(folder: Path) -> None:
    """Traces of an application."""
    write(
        folder, {"spans.jsonl": json.dumps(as_json(written([SHOP], genai, service="shop"))) + "\n"}
    )


def team(folder: Path) -> None:
    """A team that a proxy signs in: the provider of the page isn't there."""
    settings = '[tool.evenhand.viewer]\nroles = { read = ["*"] }\nproxy = { header = "X-User", from = ["127.0.0.1"] }\n'
    write(folder, {"pyproject.toml": settings})


def inspect_log(folder: Path) -> None:
    """A log of Inspect's."""
    (folder / "logs").mkdir()
    a_log(folder / "logs/a.eval", {"name": "includes", "options": {}})


def promptfoo(folder: Path) -> None:
    """A promptfoo config in the folder itself, and what it takes to grade stored outputs."""
    config(folder, ".")
    outputs = json.dumps(["a", "b"])
    write(folder, {"outputs.json": outputs, "asserts.yaml": "- {type: icontains, value: a}\n"})


def datasets(folder: Path) -> None:
    """Questions, and documents to make more of."""
    write(
        folder,
        {"faq.csv": FAQ, "docs/a.md": "Paris is the capital of France. It lies on the Seine.\n"},
    )


def own_skill(folder: Path) -> None:
    """A skill, and an agent that is called like one that people have."""
    skill(folder)
    write(folder, {"bin/claude": "#!/bin/sh\necho done\n"})
    (folder / "bin/claude").chmod(0o755)


def recorded_shop(folder: Path) -> None:
    """Eval sets and a config, as a repository may have both."""
    eval_sets(folder)
    config(folder)
    write(folder, {"app.py": "print('served')\n", "judges.yml": JUDGES, "pyproject.toml": PROJECT})
    shutil.copy(ROOT / "examples/openai-evals/openai-evals.jsonl", folder)


def program(folder: Path, name: str, text: str) -> None:
    """A program that is found by its name."""
    write(folder, {f"bin/{name}": f"#!/bin/sh\n{text}\n"})
    (folder / "bin" / name).chmod(0o755)


def python(folder: Path) -> None:
    """The Python that runs the tests, and its pytest."""
    program(folder, "python", f'exec {sys.executable} "$@"')
    program(folder, "pytest", f'exec {sys.executable} -m pytest "$@"')


def code_of(page: str, language: str, has: str) -> str:
    """The block of code on a page that has these words in it."""
    every = re.findall(
        rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL
    )
    return next(block for block in every if has in block)


def bot(folder: Path) -> None:
    """The tests that the page on pytest begins with."""
    python(folder)
    parts = ("test_refund_policy", "test_faq", "test_picks_the_right_tool")
    write(folder, {f"{name}.py": code_of("docs/pytest.md", "python", name) for name in parts})


def traced_shop(folder: Path) -> None:
    """An application that sends traces, and the evals of the page on them."""
    python(folder)
    other = json.dumps(as_json(written([SHOP], genai, service="live")))
    write(
        folder,
        {
            "live.json": re.sub(r'"traceId": "..', '"traceId": "ff', other),
            "app.py": SENDER,
            "evals/shop_evals.py": code_of("docs/traces.md", "py", "Dataset.read"),
        },
    )


def ranked(folder: Path) -> None:
    """Evals, and beside them the ranking of the page, of more questions."""
    eval_sets(folder)
    code = code_of("docs/comparing.md", "python", "Ranking(")
    more = "QUESTIONS = [str(n) for n in range(50)]"
    write(
        folder,
        {"ranking/replies_evals.py": re.sub(r"^QUESTIONS = .*$", more, code, flags=re.MULTILINE)},
    )


def rag(folder: Path) -> None:
    """Questions, and an eval of answers with their passages."""
    datasets(folder)
    write(folder, {"evals/rag_evals.py": RAG})


def nightly(folder: Path) -> None:
    """The results of a package's tool."""
    write(folder, {"results.json": json.dumps(NIGHTLY)})


def signed_in(folder: Path) -> None:
    """The tool of a cloud, that has an account."""
    program(folder, "gcloud", "echo a-token")


def signing(folder: Path) -> None:
    """A program that signs whatever it is given."""
    program(folder, "gpg", "cat > /dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo signature")


@contextmanager
def collector() -> Iterator[Mapping[str, str]]:
    """A backend for OpenTelemetry."""
    with Backend() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


@contextmanager
def team_bucket() -> Iterator[Mapping[str, str]]:
    """A bucket that a team pushes its runs to."""
    with bucket() as held:
        yield held.env()


SENDER = """\
import os
from urllib.parse import unquote
from urllib.request import Request, urlopen

pairs = os.environ["OTEL_EXPORTER_OTLP_HEADERS"].split(",")
headers = {name: unquote(value) for name, _, value in (pair.partition("=") for pair in pairs)}
url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
headers["Content-Type"] = "application/json"
urlopen(Request(url, open("live.json", "rb").read(), headers)).close()
"""
JUDGES = "sharper:\n  model: openai:chat:gpt-5-mini\n"
PROJECT = '[tool.evenhand.gate]\nbaseline = "my-evals/baseline.evn"\nmargin = 0.05\n'


@dataclass(frozen=True, slots=True)
class World:
    """What is there before the first command of a page.

    Attributes:
        files: Write the files.
        before: Commands that are typed first.
        meanwhile: Commands that are typed before the first line that begins so: what another section tells to do.
        beside: Serves while the commands run; the variables that lead to it, over those of the page.
    """

    files: Sequence[Callable[[Path], None]] = (recorded_shop,)
    before: Sequence[str] = ()
    meanwhile: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    beside: Callable[[], AbstractContextManager[Mapping[str, str]]] = nullcontext[Mapping[str, str]]


LABELLED = (
    "rm -f drawn.csv draw.csv",
    "evenhand run examples/judge --offline",
    "evenhand label latest --draw 60 --seed 1 --to drawn.csv",
    "evenhand label latest --from examples/judge/labels.csv --by ann",
    "evenhand calibrate latest",
)
RUN = ("evenhand run my-evals --first 12", "evenhand run my-evals")
ACCEPTED = (
    "evenhand run my-evals",
    "rm -f my-evals/baseline.evn",
    "evenhand baseline latest --to my-evals/baseline.evn",
    "git add my-evals",
    "git -c user.name=ann -c user.email=ann@shop.example commit -q -m accepted",
    "git branch -M main",
    "git clone -q --bare . origin.git",
    "git remote add origin ./origin.git",
    "export GITHUB_BASE_REF=main",
)
"""A repository whose main branch has a baseline, and the server that has it."""
SHARDS = (
    *(f"evenhand run evals --shard {shard}/3" for shard in (1, 2, 3)),
    "n=1; for run in $(ls -t .evenhand/runs/*.db | head -3); do cp $run shard-$n.db; n=$((n + 1)); done",
)
"""What three machines write."""
GONE = "evenhand runs delete RUN --yes"
"""So that its results can be imported."""
TAGGED = ("rm -rf .evenhand my-evals/.evenhand report.html", *["evenhand run evals"] * 2)
WORLDS: Mapping[str, World] = {
    "README.md": World((examples,), ("evenhand run examples/summaries --offline",)),
    "docs/agents.md": World((examples,)),
    "docs/audit.md": World((recorded_shop, two_parts)),
    "docs/batches.md": World((recorded_shop, examples)),
    "docs/ci.md": World((recorded_shop,), ("git init -q .",), {"git fetch": ACCEPTED}),
    "docs/coding-agents.md": World((own_skill,)),
    "docs/coming-from-inspect.md": World((inspect_log,)),
    "docs/coming-from-promptfoo.md": World(
        (promptfoo,),
        (),
        {
            "evenhand import results.json": (
                "rm -f results.json",
                "evenhand run -o results.json",
                GONE,
            )
        },
    ),
    "docs/command-line.md": World(
        (recorded_shop, examples),
        ("evenhand prompt new refunds", *RUN),
        {
            "evenhand show --where": RUN[1:],
            "evenhand runs merge": SHARDS,
            "evenhand gate --baseline": (
                "evenhand run evals",
                "evenhand baseline latest --to evals/baseline.evn",
                "evenhand run my-evals",
                "evenhand baseline latest --to my-evals/baseline.evn",
            ),
            "evenhand import results.json": ("evenhand run my-evals -o results.json", GONE),
        },
    ),
    "docs/comparing.md": World(
        (ranked,), (), {"evenhand label": ("evenhand run ranking/replies_evals.py",)}
    ),
    "docs/conversations.md": World((examples,)),
    "docs/datasets.md": World((datasets,)),
    "docs/editors.md": World(()),
    "docs/errors.md": World((recorded_shop,), RUN),
    "docs/eval-sets.md": World((eval_sets,)),
    "docs/fewer-calls.md": World((recorded_shop,), RUN),
    "docs/formats/run-file.md": World((recorded_shop,), RUN[:1]),
    "docs/judge-trust.md": World(
        (examples, recorded_shop),
        (),
        {
            "evenhand label latest --draw 60 --seed 1 --to draw.csv   #": LABELLED,
            "evenhand calibrate --try": LABELLED,
            "evenhand runs canaries": LABELLED,
        },
    ),
    "docs/coming-from-eva.md": World((examples,)),
    "docs/failure-kinds.md": World((examples,)),
    "docs/prompt-directories.md": World(
        (examples,),
        (),
        {
            "evenhand prompt new refunds": ("cd .",),
            "evenhand prompt export-skill": ("sed -i s/draft/ready/ prompts/refunds/meta.yml",),
        },
    ),
    "docs/promptfoo.md": World((promptfoo,)),
    "docs/providers.md": World((recorded_shop, signed_in)),
    "docs/pytest.md": World((bot,)),
    "docs/recording.md": World((eval_sets,)),
    "docs/rag.md": World((rag,)),
    "docs/releasing.md": World(
        (signing,),
        (
            "git init -q .",
            "git init -q --bare origin.git",
            "git remote add origin ./origin.git",
            "git config user.name ann",
            "git config user.email ann@shop.example",
            "git commit -q --allow-empty -m release",
        ),
    ),
    "docs/replay.md": World((recorded_shop, examples)),
    "docs/scale.md": World((eval_sets,)),
    "docs/sharing-runs.md": World(
        (examples,),
        ("evenhand run examples/summaries --offline",),
        {"evenhand compare": ("evenhand run examples/summaries --offline",)},
        team_bucket,
    ),
    "docs/team-viewer.md": World((team,)),
    "docs/traces.md": World((spans, traced_shop), beside=collector),
    "docs/tutorial.md": World((), ("evenhand init support", "evenhand run support --offline")),
    "docs/viewer.md": World(
        (recorded_shop,),
        RUN,
        {"evenhand export --to report.html --baseline": TAGGED, "evenhand show --where": RUN},
    ),
    "docs/write-an-importer.md": World(
        (nightly,), beside=lambda: nullcontext({"PYTHONPATH": str(ROOT / "tests" / "packages")})
    ),
}
