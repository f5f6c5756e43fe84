"""How many planted faults `evenhand audit` finds, and how often it is wrong.

`python bench/audits_of_suites.py [N [KIND…]]` plants N faults of each kind in each of two dozen kinds of suites
(`audits_of_suites.yml`; 2 by default), and 20 × N among agents, twins and what earlier runs show. Two of three cases
have no fault. It prints the share of each kind that is found, and how many of the others something is said
of. VERBOSE=1 prints what is missed, too.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.run_lookup import SUFFIX
from evenhand.store.runfile import RunFile
from evenhand.wings.audit.commands.audit_request import AuditRequest
from evenhand.wings.audit.report import AuditReport

SUITES: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yml").read_text("utf-8")
)
FAMILIES, FAULTS = SUITES["families"], SUITES["faults"]
KINDS = tuple(FAULTS)
WORDS = (
    "parcel refund delivery invoice shoe lamp desk chair account password street voucher colour carpet kettle"
    " battery camera printer mirror pillow blanket candle hammer ladder bucket garden window curtain ticket"
    " bicycle helmet saddle tunnel bridge harbour island valley meadow forest glacier desert volcano planet"
).split()
VERBS = "return repair replace cancel collect deliver inspect exchange upgrade insure store label pack weigh".split()
CITIES = (
    "Paris Madrid Lisbon Vienna Prague Oslo Helsinki Dublin Athens Warsaw Zagreb Sofia Bern Riga Tallinn Vilnius"
    " Budapest Bucharest Brussels Berlin Rome Stockholm Copenhagen London Ankara Cairo Tunis Rabat Lima Quito"
).split()
NAMES = "Ada Bruno Chloe Dmitri Elena Farid Greta Hugo Ines Jonas Kenji Lucia Marco Nadia Oskar Priya Rosa Sven".split()
FILES = {
    "grader.py": """
def get_assert(output, context):
    words = context["vars"]["want"].split()
    share = sum(word in output.split() for word in words) / len(words)
    return {"pass": share >= .9, "score": share, "reason": f"{share:.0%} of the words"}
""",
    "lenient.py": "def get_assert(output, context):\n    return len(output) * 0 >= 0\n",
    "counting.py": """
import itertools

calls = itertools.count()


def get_assert(output, context):
    return next(calls) % 2 == 0
""",
}
Found = tuple[int, int, int, list[str]]
"""Faults that were found, faults, cases without a fault, and what was said of these."""
Planted = tuple[str, ...]
"""The findings of which each shows the fault: a kind, or a kind and a subject."""


class Draw:
    """Questions and answers, each different from all others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0

    def question(self) -> str:
        """A question that no other is like."""
        self.number += 1
        a, b, c = self.random.sample(WORDS, 3)
        return f"Case {self.number * 7 + 1000}: may I {self.random.choice(VERBS)} the {a} with a {b} and a {c}?"

    def amount(self) -> str:
        """An amount of money that no other answer has."""
        return f"{self.number * 3 + 11}.{self.random.randint(10, 99)} euros"

    def places(self, family: dict[str, Any]) -> dict[str, str]:
        """What stands for what in the texts of a family's case."""
        self.number += 1
        n, m = self.random.sample(WORDS, 2)
        labels = family.get("labels", [""])
        a, b = self.random.randint(12, 89), self.random.randint(102, 989)
        places = {
            "<n>": n,
            "<m>": m,
            "<a>": str(a),
            "<b>": str(b),
            "<c>": str(a * b),
            "<i>": str(self.number),
            "<d>": str(self.random.randint(0, 9)),
            "<town>": self.random.choice(CITIES),
            "<name>": self.random.choice(NAMES),
            "<label>": labels[self.number % len(labels)],
        }
        right = filled(str(family["right"]), places)
        word = max(right.replace('"', "").replace("'", "").split() or ["zz"], key=len)
        more = {
            "<right>": right,
            "<word>": word,
            "<json>": json.dumps(right),
            "<lower>": right.lower(),
        }
        return {**places, **more}


def filled(value: Any, places: dict[str, str]) -> Any:
    """A value with texts in the place of what stands for them."""
    if isinstance(value, str):
        for name, text in places.items():
            value = value.replace(name, text)
        return value
    if isinstance(value, dict):
        return {key: filled(one, places) for key, one in value.items()}
    return [filled(one, places) for one in value] if isinstance(value, list) else value


def test_of(
    family: dict[str, Any], form: Any, places: dict[str, str], *, reference: bool
) -> dict[str, Any]:
    """A test of a family, in one of its forms."""
    more = form if isinstance(form, dict) else {"assert": form}
    variables = {"question": family["question"], **family.get("vars", {})}
    if reference:
        variables["expected"] = "<right>"
    whole = {**more, "vars": {"note": "", **variables, **more.get("vars", {})}}
    if "description" in family:
        whole["description"] = family["description"]
    return {key: one for key, one in filled(whole, places).items() if one is not None}


def in_families(kind: str, count: int, folder: Path, seed: int) -> Found:
    """Faults that were found, faults, cases without a fault, and what was said of these."""
    fault = FAULTS[kind]
    total: list[Found] = []
    planted = 0
    for name, family in FAMILIES.items():
        if name in fault.get("skip", ()) or ("only" in fault and name not in fault["only"]):
            continue
        draw = Draw(seed * 100 + len(total))
        tests: list[dict[str, Any]] = []
        faults: dict[int, Planted] = {}
        examples: list[str] = []
        often = fault.get("reference", family.get("reference", "half"))
        if family.get("reference") == "never":
            often = "never"
        for number in range(3 * count):
            reference = often == "always" or (often == "half" and number % 2 == 1)
            places = draw.places(family)
            clean = family["forms"][number % len(family["forms"])]
            if number % 3 != 2:
                tests.append(test_of(family, clean, places, reference=reference))
                continue
            form = fault["forms"][planted % len(fault["forms"])]
            planted += 1
            if fault.get("beside"):
                own = clean if isinstance(clean, dict) else {"assert": clean}
                form = {**own, "assert": [*own["assert"], *form], "threshold": None}
            with_one = (reference and not fault.get("without")) or name == "defaults"
            test = test_of(family, form, places, reference=with_one)
            if test.pop("example", False):
                examples.append(f"{test['vars']['question']} {places['<right>']}")
            if kind == "passes:names":
                test["vars"]["question"] += f" Say it of {places['<name>']} and {places['<town>']}."
            faults[len(tests)] = tuple(fault["found"])
            tests.append(test)
        prompt = "\n".join(["{% raw %}", *examples, "{% endraw %}", family["prompt"], "{{note}}"])
        if not examples:
            prompt = family["prompt"] + "{{note}}"
        place = written(folder / name.replace(" ", "-"), tests, prompt, family.get("config", {}))
        total.append(scored(audited(place), tests, faults))
    hits, made, others = (sum(one[part] for one in total) for part in (0, 1, 2))  # type: ignore[misc]
    return hits, made, others, [text for one in total for text in one[3]]


def written(
    folder: Path,
    tests: list[dict[str, Any]],
    prompt: str = "{{question}}",
    config: dict[str, Any] | None = None,
) -> Path:
    """A config of these tests."""
    folder.mkdir(parents=True)
    for name, code in FILES.items():
        (folder / name).write_text(code, "utf-8")
    whole = {
        "prompts": [prompt],
        "providers": ["openai:gpt-5-mini"],
        **(config or {}),
        "tests": [{**test, "metadata": {"number": number}} for number, test in enumerate(tests)],
    }
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(whole, allow_unicode=True), "utf-8")
    return folder


def audited(folder: Path) -> AuditReport:
    """The audit of a folder."""
    request = AuditRequest.of((str(folder),), None, (), offline=False)
    with request.ready(judges=False):
        return request.report()


SYSTEMS = 10
PROVIDER = """
import hashlib, json, os, re
TABLE = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "answers.json")))

def call_api(prompt, options, context):
    number = int(re.search(r"Case (\\d+)", prompt)[1])
    strength = int(os.environ["SYSTEM"]) / 10 + 0.05
    luck = int(hashlib.sha256(f"{number} {os.environ['SYSTEM']}".encode()).hexdigest()[:6], 16) / 16**6
    right, wrong, kind = TABLE[str(number)]
    good = luck < strength
    if kind == 'backwards':
        good = strength < 0.3 + 0.4 * (number * 37 % 100) / 100
    if kind == 'both':
        good = strength > 0.7
    text = right if good else wrong
    return {"output": f"{text} #{os.environ['SYSTEM']}"}
"""


def with_history(kind: str, count: int, folder: Path, seed: int) -> Found:  # noqa: C901, PLR0912, PLR0915 (the same)
    """The same, where earlier runs show the faults."""
    draw = Draw(seed)
    tests: list[dict[str, Any]] = []
    answers: dict[str, tuple[str, str, str]] = {}
    faults: dict[int, Planted] = {}
    # A third of the cases would turn the order of the systems round.
    every = 8 if kind == "ranks_backwards" else 3
    for number in range(every * count):
        question, amount = draw.question(), draw.amount()
        right, wrong = (
            f"It costs {amount}.",
            f"I think about {draw.random.randint(1000, 9999)} crowns, {number}.",
        )
        key = question.split(":")[0].removeprefix("Case ")
        asserts: list[dict[str, Any]] = [{"type": "contains", "value": amount}]
        answered = ""
        if number % every == 0:
            faults[len(tests)] = (kind,)
            answered = "both"
            match kind:
                case "ranks_backwards":
                    answered = "backwards"
                case "says_nothing":
                    asserts.append({"type": "regex", "value": "[a-z]"})
                case "passes:longest":
                    asserts = [
                        {"type": "python", "value": f"len(output) > 280 or '{amount}' in output"}
                    ]
                case "passes:shortest":
                    asserts = [{"type": "regex", "value": f"^Go|{amount}"}]
                case "passes:rejected":
                    asserts = [{"type": "regex", "value": f"{amount}|{wrong[:30]}"}]
                case "fails_good:labelled":
                    asserts = [{"type": "contains", "value": amount + "!"}]
                case _:  # its expectations are another one's later
                    pass
        if number == 1:
            right, wrong = right + " Hm." * 100, "Hm. " * 100
        if number == 2:
            wrong = "Go"
        answers[key] = (right, wrong, answered)
        tests.append({"vars": {"question": question}, "assert": asserts})
    written(folder, tests)
    (folder / "provider.py").write_text(PROVIDER, "utf-8")
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    config = (folder / "promptfooconfig.yaml").read_text("utf-8")
    (folder / "promptfooconfig.yaml").write_text(
        config.replace("openai:gpt-5-mini", "file://provider.py"), "utf-8"
    )
    systems = SYSTEMS if kind in ("ranks_backwards", "says_nothing") else 2
    for system in range(systems):
        env = {**os.environ, "SYSTEM": str(system if systems == SYSTEMS else 4 * system + 5)}
        subprocess.run(
            [sys.executable, "-m", "evenhand", "run", ".", "--no-table", "--no-progress", "--no-cache"],
            cwd=folder, env=env, capture_output=True, check=False,
        )  # fmt: skip
    if kind in ("passes:rejected", "fails_good:labelled"):
        for path in (folder / ".evenhand" / "runs").glob(f"*{SUFFIX}"):
            with RunFile.open(path) as opened:
                labels = [
                    NewLabel(
                        one.index, "verdict", "pass" if "It costs" in str(one.output) else "fail"
                    )
                    for one in opened.trials()
                ]
            append_labels(path, labels)
    if kind == "fails_good:accepted":
        for number in faults:
            tests[number]["assert"].append({"type": "not-contains", "value": "It costs"})
        again = written(folder / "again", tests)
        (again / "promptfooconfig.yaml").replace(folder / "promptfooconfig.yaml")
    return scored(audited(folder), tests, faults)


def scored(report: AuditReport, tests: list[dict[str, Any]], faults: dict[int, Planted]) -> Found:
    """Faults that were found, faults, cases without a fault, and what was said of these."""
    hits: set[int] = set()
    alarms: dict[int, str] = {}
    for finding in report.findings:
        number = report.audits[finding.case].material.case.metadata["number"]
        fault = faults.get(number)
        if fault is None:
            alarms[number] = (
                f"{finding.kind}:{finding.subject} {finding.expectation} {tests[number]}"
                f" {finding.answer!r:.80} {finding.detail}"
            )
        elif finding.kind in fault or f"{finding.kind}:{finding.subject}" in fault:
            hits.add(number)
    missed = [str(tests[number]) for number in faults if number not in hits]
    if missed and os.environ.get("VERBOSE"):
        print("  missed", *missed[:4], sep="\n    ")
    return len(hits), len(faults), len(tests) - len(faults), list(alarms.values())


HISTORICAL = (
    *("ranks_backwards", "says_nothing", "passes:longest", "passes:shortest", "passes:rejected"),
    *("fails_good:labelled", "fails_good:accepted"),
)

AGENTS = tuple(f"passes:{name}" for name in ("idle", "claims", "busy", "undoes"))
AGENT = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.core.message import Prompt
from evenhand.scorers import CallsTools, Contains, LeavesState, NeverFails, NeverSucceeds, StepCount, Succeeds

def tool(name):
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {"id": {"type": "integer"}}}}}

TOOLS = [tool("find_order"), tool("refund_order"), tool("cancel_order")]
CASES = __import__("json").loads(CASES_JSON)
evals = EvalSet("agent", data=[Case(str(n), input=c["input"], metadata={"number": n, "form": c["form"]})
                               for n, c in enumerate(CASES)], model="openai:gpt-5-mini")

@evals.eval
async def acts(case: Case, model: Model, expect: Expect):
    order = int(case.input.split("order ")[1].split()[0])
    world = {str(order): "late", "1": "sent"}
    reply = await model.generate(Prompt.of(case.input, tools=TOOLS))
    if reply.tool_calls:
        for call in reply.tool_calls:
            with expect.step(call.name, dict(call.arguments)) as step:
                id_ = str(call.arguments.get("id"))
                if id_ not in world:
                    raise_ = "no such order"
                    step.error = raise_
                    continue
                if call.name != "find_order":
                    world[id_] = "refunded" if call.name == "refund_order" else "cancelled"
                step.result = {"id": id_, "state": world[id_]}
        reply = await model.generate("What did you do?")
    form = case.metadata["form"]
    if form == "clean":
        expect(reply.text, Succeeds("refund_order", {"id": order}))
        expect(world, LeavesState({str(order): "refunded", "1": "sent"}))
    elif form == "clean2":
        expect(reply.text, NeverSucceeds("refund_order"))
        expect(reply.text, NeverSucceeds("cancel_order"))
        expect(world, LeavesState({str(order): "late"}))
    elif form == "idle":
        expect(reply.text, NeverFails())
        expect(reply.text, StepCount("model"), at_most=5)
    elif form == "claims":
        expect(reply.text, Contains("refunded"))
    elif form == "busy":
        expect(reply.text, Succeeds("refund_order", {"id": order}))
        expect(world[str(order)] != "late", "the order is looked after")
    elif form == "undoes":
        expect(reply.text, CallsTools(["refund_order"], "subset"))
    return reply.text
"""


def of_agents(kind: str, count: int, folder: Path, seed: int) -> Found:
    """The same, of eval sets of agents."""
    draw = Draw(seed)
    name = kind.partition(":")[2]
    tests: list[dict[str, Any]] = []
    for number in range(3 * count):
        form = name if number % 3 == 0 else ("clean", "clean2")[number % 2]
        item, other = draw.random.sample(WORDS, 2)
        wish = "Do not touch it" if form == "clean2" else "I want my money back"
        text = f"My {item} and the {other}, order {number * 7 + 2000} : {wish}, {draw.random.choice(CITIES)}."
        tests.append({"input": text, "form": form})
    (folder / "evals").mkdir(parents=True)
    code = AGENT.replace("CASES_JSON", repr(json.dumps(tests)))
    (folder / "evals" / "agent_evals.py").write_text(code, "utf-8")
    faults: dict[int, Planted] = dict.fromkeys(range(0, 3 * count, 3), (kind,))
    return scored(audited(folder), tests, faults)


def twins(kind: str, count: int, folder: Path, seed: int) -> Found:
    """The same, of cases that ask the same."""
    draw = Draw(seed)
    tests: list[dict[str, Any]] = []
    faults: dict[int, Planted] = {}
    for number in range(count):
        first, second = draw.question(), draw.question()
        same = (
            first.upper().replace("?", " ?"),
            first.replace("may I", "could I please"),
            first.replace("with a", "with the"),
            first,
            first.replace("Case", "case").replace("?", ""),
            f"Hello, {first} Thanks!",
            f"Could you tell me: {first}",
            f"I would like to know: {first}",
            first.replace("a", "á", 1),
        )[number % 9]
        faults[len(tests) + 2] = (kind,)
        for question in (first, second, same):
            value = {"type": "contains", "value": f"{len(tests) + 11} crowns"}
            tests.append({"vars": {"question": question}, "assert": [value]})
    return scored(audited(written(folder, tests)), tests, faults)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    only = sys.argv[2:]
    said_of_clean = clean_cases = 0
    with tempfile.TemporaryDirectory() as folder:
        every = [
            *((kind, in_families, count) for kind in KINDS),
            *((kind, with_history, 20 * count) for kind in HISTORICAL),
            *((kind, of_agents, 20 * count) for kind in AGENTS),
            ("twin", twins, 20 * count),
        ]
        for number, (kind, plant, times) in enumerate(every):
            if only and kind not in only:
                continue
            place = Path(folder) / f"{number}-{kind.replace(':', '-')}"
            hits, faults, others, alarms = plant(kind, times, place, number)
            print(
                f"{kind:26} found {hits:3} of {faults:3}   false alarms {len(alarms):3} of {others}",
                flush=True,
            )
            said_of_clean += len(alarms)
            clean_cases += others
            if os.environ.get("VERBOSE"):
                for text in alarms[:6]:
                    print("    !", text[:400])
    print(f"false alarms: {said_of_clean} of {clean_cases} cases without a fault")


if __name__ == "__main__":
    main()
