"""How many planted faults `evenhand audit` finds, and how often it is wrong.

`python bench/audits_of_suites.py [N [KIND…]]` plants N faults of each kind (40 by default) in suites of configs, eval
sets and earlier runs, one in every third case; the cases between them have none. It prints the share of each kind that
is found, and how many of the cases without a fault something is said of. VERBOSE=1 prints what is missed, too.
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

from evenhand.store.catalogue import SUFFIX
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.audit.commands.audit_request import AuditRequest
from evenhand.wings.audit.report import AuditReport

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
LABELS = ("billing", "returns", "delivery", "account")
Planted = tuple[str, str]
"""The kind of a finding, and the subject that shows it; empty for none."""
Found = tuple[int, int, int, list[str]]
"""Faults that were found, faults, cases without a fault, and what was said of these."""
Test = tuple[dict[str, Any], Planted | None]


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


def clean(draw: Draw, number: int) -> dict[str, Any]:
    """A test without a fault, of one of a dozen forms."""
    question, amount = draw.question(), draw.amount()
    label = LABELS[number % len(LABELS)]
    city = CITIES[number % len(CITIES)]
    forms: list[dict[str, Any]] = [
        {"vars": {"question": question}, "assert": [{"type": "equals", "value": label}]},
        {
            "vars": {"question": question, "expected": amount},
            "assert": [{"type": "contains", "value": "{{expected}}"}],
        },
        {
            "vars": {"question": question},
            "assert": [
                {"type": "icontains", "value": f"{city} {amount}"},
                {"type": "not-icontains", "value": "as an AI"},
                {"type": "latency", "threshold": 5000},
            ],
        },
        {
            "vars": {"question": question},
            "assert": [{"type": "regex", "value": f"^{amount.replace('.', '[.]')}$"}],
        },
        {
            "vars": {"question": question, "expected": json.dumps({"city": city, "price": amount})},
            "assert": [
                {"type": "is-json", "value": {"type": "object", "required": ["city"]}},
                {
                    "type": "python",
                    "value": f"json.loads(output)['price'] == '{amount}' if output.startswith('{{') else False",
                },
            ],
        },
        {"vars": {"question": question}, "assert": [{"type": "is-refusal"}]},
        {
            "vars": {"question": question, "expected": f"Yes, for {amount} in {city}."},
            "assert": [{"type": "equals", "value": "{{expected}}"}],
        },
        {
            "vars": {"question": question},
            "assert": [
                {"type": "contains-all", "value": [city, amount]},
                {"type": "word-count", "value": {"max": 30}},
            ],
        },
        {"vars": {"question": question}, "assert": [{"type": "not-contains", "value": amount}]},
        {"vars": {"question": question}, "assert": [{"type": "equals", "value": ""}]},
        {
            "vars": {
                "question": question,
                "document": f"{'Some words about the shop. ' * 30} It costs {amount}.",
            },
            "assert": [
                {"type": "contains", "value": amount},
                {"type": "word-count", "value": {"max": 20}},
            ],
        },
    ]
    test = forms[number % len(forms)]
    if test["assert"][0]["type"] == "is-refusal":
        test["description"] = "It declines what is out of scope."
    return test


def planted(kind: str, draw: Draw, number: int) -> Test:  # noqa: C901, PLR0912, PLR0915 (one kind after the other)
    """A test with a fault of a kind."""
    question, amount = draw.question(), draw.amount()
    city = CITIES[number % len(CITIES)]
    variables: dict[str, Any] = {"question": question}
    name = kind.partition(":")[2]

    def test(*asserts: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"vars": {**variables, **more}, "assert": list(asserts)}

    any_ = {"type": "python", "value": "True"}
    match kind:
        case "passes:nothing":
            forms = (
                test({"type": "python", "value": f"output == '' or '{amount}' in output"}),
                test({"type": "regex", "value": f"^(.*{amount}.*)?$"}),
                test({"type": "word-count", "value": {"max": 0}}, expected=""),
                test({"type": "javascript", "value": f"!output || output.includes('{amount}')"}),
            )
            one = forms[number % 2]
        case "passes:refusal":
            one = test({"type": "regex", "value": f"{amount}|(sorry|can't help)"})
        case "passes:echo":
            word = question.split()[-1].strip("?")
            one = test(
                {"type": "icontains", "value": word}, {"type": "word-count", "value": {"max": 40}}
            )
        case "passes:prompt":
            one = test({"type": "contains", "value": "support of a shop"})
        case "passes:constant":
            one = test({"type": "regex", "value": f"OK|{amount}"})
        case "passes:other":
            one = test({"type": "regex", "value": r"\d+\.\d\d euros"}, expected=amount)
        case "passes:labels":
            one = test(
                {"type": "contains", "value": LABELS[number % 4]}, expected=LABELS[number % 4]
            )
        case "passes:negated":
            one = test(
                {"type": "icontains", "value": f"allowed in {city}"},
                expected=f"It is allowed in {city}.",
            )
        case "passes:numbers":
            one = test(
                {"type": "icontains", "value": f"euros in {city}"},
                expected=f"It costs {amount} in {city}",
            )
        case "passes:names":
            one = test(
                {"type": "contains", "value": amount},
                expected=f"It costs {amount} in {city} for Anna",
            )
        case "passes:instructions":
            one = test({"type": "regex", "value": f"{amount}|correct"})
        case "cant_fail:case":
            forms = (
                test(),
                test(any_),
                test({"type": "regex", "value": ".*"}),
                test({"type": "word-count", "value": {"max": 5000}}),
                test({"type": "javascript", "value": "output.length >= 0"}),
            )
            one = forms[number % 4]
        case "cant_fail:expectation":
            forms = (
                test({"type": "contains", "value": amount}, any_),
                test({"type": "contains", "value": amount}, {"type": "regex", "value": ".*"}),
                test(
                    {"type": "contains", "value": amount},
                    {"type": "python", "value": "len(output) >= 0"},
                ),
            )
            one = forms[number % 3]
        case "cant_pass":
            forms = (
                test(
                    {"type": "contains", "value": f"{amount} in {city}"},
                    {"type": "not-contains", "value": city},
                ),
                test({"type": "equals", "value": amount}, {"type": "equals", "value": city}),
                test({"type": "equals", "value": amount}, {"type": "contains", "value": city}),
                test({"type": "contains", "value": city + " 9"}, expected=amount),
                test({"type": "equals", "value": amount.upper()}, expected=amount),
            )
            one = forms[number % 5]
        case "fails_good:reference":
            one = test(
                {"type": "contains", "value": city},
                {"type": "contains", "value": "only"},
                expected=f"{amount} in {city}",
            )
            one["assert"] = [
                *one["assert"][:1],
                {"type": "not-contains", "value": amount.split()[0]},
            ]
        case "in_prompt":
            forms = (
                test(
                    {"type": "contains", "value": "Case"},
                    {"type": "python", "value": f"'{amount}' in output"},
                ),
                test({"type": "equals", "value": amount}, hint=amount),
                test({"type": "icontains", "value": question.split("the ")[1].split()[0]}),
            )
            one = forms[number % 3]
        case "flaky":
            code = f"import random\nreturn random.random() < .5 if '{amount}' in output else random.random() < .3"
            one = test({"type": "python", "value": code})
        case "one_decides":
            forms = (
                test(
                    {"type": "contains", "value": amount},
                    any_,
                    {"type": "word-count", "value": {"min": 0}},
                ),
                {
                    **test(
                        {"type": "contains", "value": amount, "weight": 10},
                        {"type": "contains", "value": city, "weight": 1},
                        expected=f"{amount} in {city}",
                    ),
                    "threshold": 0.5,
                },
            )
            one = forms[number % 2]
        case _:
            raise ValueError(kind)
    return one, (kind.partition(":")[0], name if kind.startswith(("passes", "fails_good")) else "")


KINDS = (
    *(
        f"passes:{name}"
        for name in "nothing refusal echo prompt constant other labels negated numbers names".split()
    ),
    "passes:instructions",
    *(
        "cant_fail:case",
        "cant_fail:expectation",
        "cant_pass",
        "fails_good:reference",
        "in_prompt",
        "flaky",
        "one_decides",
    ),
)


def written(folder: Path, tests: list[dict[str, Any]]) -> Path:
    """A config of these tests."""
    folder.mkdir(parents=True)
    config = {
        "prompts": ["You are the support of a shop.{{document}} {{hint}}\n{{question}}"],
        "providers": ["openai:gpt-5-mini"],
        "tests": [{**test, "metadata": {"number": number}} for number, test in enumerate(tests)],
    }
    (folder / "promptfooconfig.yaml").write_text(
        yaml.safe_dump(config, allow_unicode=True), "utf-8"
    )
    return folder


def audited(folder: Path) -> AuditReport:
    """The audit of a folder."""
    request = AuditRequest.of((str(folder),), None, (), offline=False)
    with request.ready(judges=False):
        return request.report()


def in_configs(kind: str, count: int, folder: Path, seed: int) -> Found:
    """Faults that were found, faults, cases without a fault, and what was said of these."""
    draw = Draw(seed)
    tests: list[dict[str, Any]] = []
    faults: dict[int, Planted] = {}
    for number in range(count):
        one, fault = planted(kind, draw, number)
        faults[len(tests)] = fault  # pyright: ignore[reportArgumentType]
        tests.append(one)
        tests += [clean(draw, 2 * number), clean(draw, 2 * number + 1)]
    return scored(audited(written(folder, tests)), tests, faults)


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
    name = kind.partition(":")[2]
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
            faults[len(tests)] = (kind.partition(":")[0], name)
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
                case "fails_good:accepted":
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
        elif fault[0] == finding.kind and fault[1] in ("", finding.subject):
            hits.add(number)
    missed = [str(tests[number]) for number in faults if number not in hits]
    if missed and os.environ.get("VERBOSE"):
        print("  missed", *missed[:4], sep="\n    ")
    return len(hits), len(faults), len(tests) - len(faults), list(alarms.values())


HISTORICAL = (
    *("ranks_backwards", "says_nothing", "passes:longest", "passes:shortest", "passes:rejected"),
    *("fails_good:labelled", "fails_good:accepted"),
)

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
    faults = dict.fromkeys(range(0, 3 * count, 3), ("passes", name))
    return scored(audited(folder), tests, faults)


def twins(kind: str, count: int, folder: Path, seed: int) -> Found:
    """The same, of cases that ask the same."""
    del kind
    draw = Draw(seed)
    tests: list[dict[str, Any]] = []
    faults: dict[int, Planted] = {}
    for number in range(count):
        tests += [clean(draw, 3 * number), clean(draw, 3 * number + 1)]
        question = tests[-2]["vars"]["question"]
        other = (
            question.upper().replace("?", " ?"),
            question.replace("may I", "could I please"),
            question.replace("with a", "with the"),
            question,
            question.replace("Case", "case").replace("?", ""),
            "Hello, " + question + " Thanks!",
        )[number % 6]
        test = clean(draw, 3 * number + 1)
        test["vars"]["question"] = other
        faults[len(tests)] = ("twin", "")
        tests.append(test)
    return scored(audited(written(folder, tests)), tests, faults)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    only = sys.argv[2:]
    said_of_clean = clean_cases = 0
    with tempfile.TemporaryDirectory() as folder:
        every = [
            *((kind, in_configs) for kind in KINDS),
            *((kind, with_history) for kind in HISTORICAL),
            *((f"passes:{name}", of_agents) for name in ("idle", "claims", "busy", "undoes")),
            ("twin", twins),
        ]
        for number, (kind, plant) in enumerate(every):
            if only and kind not in only:
                continue
            place = Path(folder) / f"{number}-{kind.replace(':', '-')}"
            hits, faults, others, alarms = plant(kind, count, place, number)
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
