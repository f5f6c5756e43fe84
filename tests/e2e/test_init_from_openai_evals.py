"""Evals of OpenAI's, written out as eval sets and run: forty graders with verdicts that were worked out by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.unit.wings.interchange.openai_evals.conftest import (
    EQUAL,
    a_result,
    a_run,
    a_sample,
    an_eval,
    an_item,
    saved,
)

from evenhand.store.runfile import RunFile

JSON = dict[str, Any]
OUTPUT, RIGHT = "{{ sample.output_text }}", "{{ item.right }}"
ROWS = (
    ({"q": "Capital of France?", "right": "Paris", "n": 4}, "Paris"),
    ({"q": "Capital of Spain?", "right": "Madrid", "n": 6}, "I think madrid."),
)


def string_check(operation: str, text: str = OUTPUT, wanted: str = RIGHT) -> JSON:
    """A comparison of two templates."""
    return {"type": "string_check", "operation": operation, "input": text, "reference": wanted}


def similar(metric: str, threshold: float, text: str = OUTPUT, wanted: str = RIGHT) -> JSON:
    """A similarity of two templates."""
    return {
        "type": "text_similarity", "evaluation_metric": metric, "input": text, "reference": wanted,
        "pass_threshold": threshold,
    }  # fmt: skip


def python(line: str, **more: Any) -> JSON:
    """A function of one line."""
    source = f"def grade(sample, item) -> float:\n    {line}\n"
    return {"type": "python", "source": source, "image_tag": "2025-05-08", **more}


def judged(kind: str, ask: str, **more: Any) -> JSON:
    """A grader that asks a model."""
    said = [
        {"role": "developer", "content": ask},
        {"role": "user", "content": {"type": "input_text", "text": f"{{{{ item.q }}}}\n{OUTPUT}"}},
    ]
    return {"type": kind, "model": "gpt-4.1-mini", "input": said, **more}


SCORES = {"how good": (0.9, 0.2), "how good of five": (5, 3)}
LABELS = {"is it right": ("yes", "no"), "which kind": ("short", "wordy")}
GRADERS: Mapping[str, tuple[JSON, tuple[bool, bool]]] = {
    "equal": (string_check("eq"), (True, False)),
    "a number": (string_check("eq", "{{ item.n }}", "4"), (True, False)),
    "unequal": (string_check("ne"), (False, True)),
    "has it": (string_check("like"), (True, False)),
    "has it in any case": (string_check("ilike"), (True, True)),
    "asks for a capital": (string_check("like", "{{ item.q }}", "Capital"), (True, True)),
    "equal in brackets": (string_check("eq", f"[{OUTPUT}]", f"[{RIGHT}]"), (True, False)),
    "constants": (string_check("ne", "a", "b"), (True, True)),
    "has nothing": (string_check("like", OUTPUT, ""), (True, True)),
    "thinks": (string_check("ilike", OUTPUT, "THINK"), (False, True)),
    "no spaces": (string_check("eq", "{{sample.output_text}}", "{{item.right}}"), (True, False)),
    "the other way": (string_check("like", RIGHT, OUTPUT), (True, False)),
    # "adrid" is common: 2 · 5 of 15 + 6 characters, 0.476
    "fuzzy .8": (similar("fuzzy_match", 0.8), (True, False)),
    "fuzzy .47": (similar("fuzzy_match", 0.47), (True, True)),
    "fuzzy .48": (similar("fuzzy_match", 0.48), (True, False)),
    "bleu .5": (similar("bleu", 0.5), (True, False)),
    "bleu 0": (similar("bleu", 0), (True, True)),
    "gleu .5": (similar("gleu", 0.5), (True, False)),
    # 3 of 6 n-grams
    "gleu half": (similar("gleu", 0.5, "the cat sat", "the cat ran"), (True, True)),
    "gleu more": (similar("gleu", 0.51, "the cat sat", "the cat ran"), (False, False)),
    # one word in one run: 1 · (1 - 0.5)
    "meteor .5": (similar("meteor", 0.5), (True, False)),
    "meteor .51": (similar("meteor", 0.51), (False, False)),
    # 2 · 1 of 3 + 1 words
    "rouge 1": (similar("rouge_1", 0.5), (True, True)),
    "rouge 1 more": (similar("rouge_1", 0.51), (True, False)),
    "rouge 2 of one word": (similar("rouge_2", 0.1), (False, False)),
    "rouge 2": (similar("rouge_2", 0.8, "the cat sat on", "the cat sat"), (True, True)),
    "rouge 3": (similar("rouge_3", 0.66, "the cat sat on", "the cat sat"), (True, True)),
    "rouge 3 more": (similar("rouge_3", 0.67, "the cat sat on", "the cat sat"), (False, False)),
    "rouge 4": (similar("rouge_4", 0.1, "the cat sat on", "the cat sat"), (False, False)),
    "rouge 5": (similar("rouge_5", 1, "a b c d e", "a b c d e"), (True, True)),
    "rouge l": (similar("rouge_l", 0.5), (True, True)),
    "rouge l with a gap": (similar("rouge_l", 0.8, "a x b", "a b"), (True, True)),
    "python equal": (
        python("return 1.0 if sample['output_text'] == item['right'] else 0.0", pass_threshold=1.0),
        (True, False),
    ),
    "python length": (
        python("return len(sample['output_text']) / 20", pass_threshold=0.3),
        (False, True),
    ),
    "python choices": (
        python("return 'think' in sample['choices'][0]['message']['content']", pass_threshold=0.5),
        (False, True),
    ),
    "python bool": (python("return True", pass_threshold=1.0), (True, True)),
    "is it right": (
        judged("label_model", "Is it right?", labels=["yes", "no"], passing_labels=["yes"]),
        (True, False),
    ),
    "which kind": (
        judged(
            "label_model", "Which kind?", labels=["short", "wordy", "no answer"],
            passing_labels=["short", "wordy"],
        ),
        (True, True),
    ),
    "how good": (judged("score_model", "How good?", pass_threshold=0.7), (True, False)),
    "how good of five": (
        judged("score_model", "How good, of five?", pass_threshold=3, range=[1, 5]),
        (True, True),
    ),
}  # fmt: skip


def test_the_forty_graders_are_such_as_the_types_of_the_openai_package_say():
    """Each parses as one of its graders and comes back as it is; all types, operations and metrics are among them."""
    from openai.types.eval_create_response import TestingCriterion
    from openai.types.graders import StringCheckGrader, TextSimilarityGrader
    from pydantic import TypeAdapter

    kinds: set[str] = set()
    for name, (one, _) in GRADERS.items():
        wanted = {"name": name, **one}
        parsed = TypeAdapter(TestingCriterion).validate_python(wanted)
        kinds.add(parsed.type)
        written = parsed.model_dump(mode="json", exclude_unset=True)
        assert {key: written[key] for key in wanted if key != "input"} == {
            key: value for key, value in wanted.items() if key != "input"
        }, name
    assert kinds == {"string_check", "text_similarity", "label_model", "score_model", "python"}
    graders = [one for one, _ in GRADERS.values()]
    operations = StringCheckGrader.model_fields["operation"].annotation
    metrics = TextSimilarityGrader.model_fields["evaluation_metric"].annotation
    assert {one.get("operation") for one in graders} - {None} == set(get_args(operations))
    named = {one.get("evaluation_metric") for one in graders} - {None}
    assert named == set(get_args(metrics)) - {"cosine"}  # which asks a model: a test of its own


def evenhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command line in a folder."""
    command = [sys.executable, "-c", "from evenhand.cli import main; main()", *words]
    env = {**os.environ, "COLUMNS": "200"}
    env.pop("OPENAI_API_KEY", None)
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def recorded(number: int) -> JSON:
    """What OpenAI would have recorded of a row."""
    item, answer = ROWS[number]
    results: list[JSON] = []
    for name, (_, verdicts) in GRADERS.items():
        more: JSON = {"name": name, "passed": verdicts[number]}
        if name in SCORES:
            more["score"] = SCORES[name][number]
        if name in LABELS:
            more["sample"] = a_sample(json.dumps({"result": LABELS[name][number]}))
        results.append(a_result(**more))
    return an_item(number, results=results, sample=a_sample(answer), datasource_item=item)


def export(folder: Path) -> Path:
    """All graders in one eval, its run and its output items."""
    criteria = [{"name": name, **one} for name, (one, _) in GRADERS.items()]
    source = {
        "type": "completions",
        "model": "gpt-4o-mini",
        "source": {"type": "file_content", "content": [{"item": item} for item, _ in ROWS]},
        "input_messages": {
            "type": "template",
            "template": [{"type": "message", "role": "user", "content": "Answer: {{ item.q }}"}],
        },
        "sampling_params": {"temperature": 0.5, "max_completion_tokens": 50, "seed": 7},
    }
    run = a_run(data_source=source, total=2)
    objects = [an_eval(*criteria, name="Capitals"), run, recorded(0), recorded(1)]
    return saved(folder / "export.jsonl", *objects)


def verdicts(folder: Path) -> dict[str, dict[str, str]]:
    """Of the newest run: by grader what it came to in each case."""
    with RunFile.open(max((folder / ".evenhand" / "runs").glob("*.db"))) as run:
        found: dict[str, dict[str, str]] = {}
        for trial in run.trials():
            for one in trial.outcomes:
                found.setdefault(one.name, {})[str(trial.vars["right"])] = one.outcome
    return found


def test_forty_graders_come_to_the_verdicts_that_were_worked_out_by_hand(tmp_path: Path):
    """In the import, and when the eval set that was written grades the recorded answers."""
    assert len(GRADERS) == 40
    by_hand = {
        name: {
            str(item["right"]): "pass" if ok else "fail"
            for (item, _), ok in zip(ROWS, two, strict=True)
        }
        for name, (_, two) in GRADERS.items()
    }
    export(tmp_path)
    imported = evenhand(tmp_path, "import", "openai-evals", "export.jsonl")
    assert imported.returncode == 0, imported.stderr
    assert verdicts(tmp_path) == by_hand
    written = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".")
    assert written.returncode == 0, written.stderr
    assert "not translated" not in written.stdout
    ran = evenhand(tmp_path, "run", "evals/capitals_evals.py", "--offline", "--json")
    document = json.loads(ran.stdout)
    assert document["totals"]["errors"] == 0, ran.stdout
    assert verdicts(tmp_path) == by_hand
    reasons = {one["name"]: one["reason"] for one in document["trials"][1]["outcomes"]}
    assert reasons["unequal"] == "'I think madrid.' is not 'Madrid'"
    assert reasons["has it"] == "'I think madrid.' doesn't have 'Madrid'"
    assert reasons["thinks"] == "'I think madrid.' has 'THINK'"
    assert "looks for the empty text, which every answer has" in written.stdout + written.stderr
    history = json.loads(evenhand(tmp_path, "runs", "history", "--json").stdout)
    (line,) = history["lines"]
    assert [run["columns"][0]["rate"] for run in line["runs"]] == [0.0, 0.0]
    assert [
        change["kind"] for change in line["runs"][1]["changes"] if change["kind"] == "data"
    ] == []
    ids = [run["run"] for run in line["runs"]]
    compared = json.loads(evenhand(tmp_path, "compare", *ids, "--json").stdout)
    assert {one["n"] for one in compared["results"]} == {2}
    assert {one["difference"] for one in compared["results"] if one["metric"] == "passed"} <= {0.0}


def test_recorded_outputs_are_graded_again_and_other_verdicts_and_scores_are_said(tmp_path: Path):
    """Two outputs; one grader agrees, one has another score, one another verdict."""
    close = similar("fuzzy_match", 0.9)
    checks = {"same": EQUAL, "score": close, "verdict": close}
    criteria = [{**check, "name": name} for name, check in checks.items()]
    items = [
        an_item(
            i,
            results=[
                a_result(name="same"),
                a_result(name="score", score=0.95 if i else 1.0),
                a_result(name="verdict", passed=not i, score=0.5 if i else 1.0),
            ],
        )
        for i in range(2)
    ]
    saved(tmp_path / "export.jsonl", an_eval(*criteria), a_run(total=2), *items)
    told = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".").stdout
    assert "grader 'same': OpenAI's verdict and score on all 2 recorded outputs" in told
    assert (
        "'score': OpenAI's verdicts on all 2 recorded outputs, and another score on 1, e.g." in told
    )
    assert "'outputitem_1': 1 here and 0.95 there" in told
    assert (
        "grader 'verdict': another verdict than OpenAI's on 1 of 2 recorded outputs, e.g." in told
    )
    assert "'outputitem_1': 1 here and 0.5 there" in told


def test_the_model_is_asked_as_openai_asked_it(tmp_path: Path):
    """Prompt, model and sampling settings are in the set; nothing is added."""
    export(tmp_path)
    assert evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".").returncode == 0
    text = (tmp_path / "evals" / "capitals_evals.py").read_text("utf-8")
    for part in (
        'model="openai:chat:gpt-4o-mini"',
        '("user", "Answer: {{ item.q }}")',
        '"temperature": 0.5',
        '"max_completion_tokens": 50',
        '"seed": 7',
        '"omitDefaults": True',
    ):
        assert part in text
    dataset = (tmp_path / "evals" / "capitals.jsonl").read_text("utf-8")
    rows = list(map(json.loads, dataset.splitlines()))
    assert [row["right"] for row in rows] == ["Paris", "Madrid"]
    before = (tmp_path / "openai_templates.py").read_bytes()
    again = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".")
    assert again.returncode == 2
    assert "nothing was written" in again.stderr
    assert (tmp_path / "openai_templates.py").read_bytes() == before


def test_fields_of_an_answer_in_json_are_compared_and_judged(tmp_path: Path):
    """A judge sees the field that its prompt names, between marks. An item without an answer is an error again."""
    topic, why = "{{ sample.output_json.topic }}", "{{ sample.output_json.why }}"

    def asking(ask: str) -> JSON:
        text = f"{ask}\nWhy: {why}\nOf: {{{{ item.q }}}}"
        return {"model": "gpt-4.1", "input": [{"role": "user", "content": text}]}

    criteria = [
        {"name": "topic", **string_check("ilike", topic)},
        {"name": "good", "type": "score_model", "range": [1, 7], "pass_threshold": 5, **asking("How good?")},
        {
            "name": "tone", "type": "label_model", "labels": ["kind", "rude"],
            "passing_labels": ["kind"], **asking("Which tone?"),
        },
    ]  # fmt: skip
    answers = [{"topic": "PARIS", "why": "It says so."}, {"topic": "Rome", "why": "I guess."}]
    items = [
        an_item(
            number,
            results=[
                a_result(name="topic", passed=not number, score=float(not number)),
                a_result(name="good", passed=not number, score=2.0 if number else 6.0),
                a_result(name="tone", sample=a_sample(json.dumps({"result": "kind"}))),
            ],
            sample=a_sample(json.dumps(answer)),
            datasource_item=item,
        )
        for number, (answer, (item, _)) in enumerate(zip(answers, ROWS, strict=True))
    ]
    silent = a_sample("", output=[], error={"code": "rate_limit", "message": "Too many requests."})
    third = {"q": "Capital of Peru?", "right": "Lima", "n": 4}
    items.append(an_item(2, results=[], status="error", sample=silent, datasource_item=third))
    template = [{"type": "message", "role": "user", "content": "As JSON: {{ item.q }}"}]
    rows = [{"item": row} for row in (*(item for item, _ in ROWS), third)]
    run = a_run(
        data_source={
            "type": "completions", "model": "gpt-4o-mini",
            "source": {"type": "file_content", "content": rows},
            "input_messages": {"type": "template", "template": template},
        },
        total=3,
    )  # fmt: skip
    saved(tmp_path / "export.jsonl", an_eval(*criteria, name="Capitals"), run, *items)
    written = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".")
    assert written.returncode == 0, written.stderr
    assert "'topic': OpenAI's verdict and score on all 2 recorded outputs" in written.stdout
    assert "has no recorded answer: with --offline its trial is an error, too" in written.stdout
    ran = evenhand(tmp_path, "run", ".", "--offline")
    assert "1 error" in ran.stdout, ran.stdout
    seen = verdicts(tmp_path)
    for name, first, second in (
        ("topic", "pass", "fail"),
        ("good", "pass", "fail"),
        ("tone", "pass", "pass"),
    ):
        assert (seen[name]["Paris"], seen[name]["Madrid"]) == (first, second), name
    with RunFile.open(max((tmp_path / ".evenhand" / "runs").glob("*.db"))) as kept:
        asked = [
            call.start.identity.decode() for call in kept.calls() if call.start.role == "judge"
        ]
    assert len(asked) == 4
    assert all("PARIS" not in text and "Rome" not in text for text in asked)
    assert all("<output " in text for text in asked)


@pytest.mark.parametrize(
    ("criterion", "says"),
    [
        ({"type": "multi"}, "its type 'multi' is not known here"),
        (string_check("matches"), "its operation 'matches' is not known here"),
        (
            string_check("eq", "{{ item.tags[0] }}"),
            "is neither a field of the item nor the sample's",
        ),
        (string_check("eq", "{{ sample.output_tools }}"), "is neither a field of the item nor"),
        (string_check("eq", "{% if x %}"), "has a tag that is more than a name"),
        (string_check("eq") | {"input": 3}, "its input is 3, not text"),
        (similar("edits", 1), "its metric 'edits' is not known here"),
        (python("return (") | {}, "its source is not Python"),
        ({"type": "python", "source": "x = 1"}, "no function grade(sample, item)"),
        (judged("label_model", "?", labels=["a"], passing_labels=["b"]), "not among its labels"),
        (judged("score_model", "?", range=[1]), "its range is a list of 1, not two numbers"),
        (
            judged("score_model", "?")
            | {"input": [{"role": "user", "content": {"type": "input_image", "image_url": "x"}}]},
            "which is not text",
        ),
    ],
)
def test_a_grader_without_an_equal_is_named_with_its_path_and_the_others_are_written(
    tmp_path: Path, criterion: JSON, says: str
):
    """None is dropped without a word, and what is written can be checked."""
    definition = an_eval() | {"testing_criteria": [EQUAL, {"name": "odd", **criterion}]}
    saved(tmp_path / "export.jsonl", definition, a_run(), an_item())
    written = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".")
    assert written.returncode == 0, written.stderr
    assert "export.jsonl:1 $.testing_criteria[1]" in written.stdout
    assert says in written.stdout
    assert evenhand(tmp_path, "run", ".", "--offline").returncode == 0


def test_texts_of_an_export_never_become_code(tmp_path: Path):
    """Quotes, line breaks, braces and tags in names, prompts, labels and rows."""
    nasty = "\"\"\"\n'''\\{{x}}\nraise SystemExit(9)\x1b[2J <b>"
    criteria = [
        {"name": nasty, **string_check("eq", nasty.replace("{{x}}", ""), OUTPUT)},
        {"name": nasty, **judged("label_model", "?", labels=[nasty], passing_labels=[nasty])},
    ]
    item = an_item(datasource_item={"sum": nasty, nasty: 1, "right": "4"})
    saved(tmp_path / "export.jsonl", an_eval(*criteria, name=nasty), a_run(model=nasty), item)
    written = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", ".")
    assert written.returncode == 0, written.stderr
    assert "\x1b" not in written.stdout
    (file,) = (tmp_path / "evals").glob("*_evals.py")
    compile(file.read_text("utf-8"), "file", "exec")
    ran = evenhand(tmp_path, "run", ".", "--offline")
    assert ran.returncode != 9
    assert "Traceback" not in ran.stderr


def test_outputs_in_the_rows_are_graded_without_a_model(tmp_path: Path):
    """As in an eval of outputs that were made elsewhere; cosine asks for embeddings."""
    checks = [EQUAL | {"input": "{{ item.answer }}"}, {"name": "near", **similar("cosine", 0.8)}]
    content = [{"item": {"answer": "5", "right": "4"}}, {"item": {"answer": "4", "right": "4"}}]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": content}}
    saved(tmp_path / "export.jsonl", an_eval(*checks), a_run(data_source=source, model=""))
    written = evenhand(tmp_path, "init", "--from", "openai-evals", "export.jsonl", "mine")
    assert written.returncode == 0, written.stderr
    text = (tmp_path / "mine" / "evals" / "sums_evals.py").read_text("utf-8")
    assert 'embedder="openai:embedding:text-embedding-3-large"' in text
    assert "model=" not in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "there is no file to read"),
        (("no.jsonl", "mine"), "no.jsonl cannot be read"),
        (("items.jsonl",), "holds no eval"),
    ],
)
def test_what_cannot_be_written_out_is_refused_with_one_message(
    tmp_path: Path, words: tuple[str, ...], says: str
):
    """Exit code 2, and nothing is written."""
    saved(tmp_path / "items.jsonl", an_item())
    refused = evenhand(tmp_path, "init", "--from", "openai-evals", *words)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl"]
