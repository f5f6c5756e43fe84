"""Broken input of every kind: one clear message with its place, exit code 2, nothing sent, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from evenhand.cli import main

BIG = "1" + "0" * 500
HEAD = "prompts: ['Say {{x}}']\nproviders: [echo]\n"
TESTS = HEAD + "tests:\n  - vars: {x: 1}\n"
EVALS = """from evenhand import *
from evenhand.scorers import *
import itertools
evals = EvalSet('a', %s)
@evals.eval
def says(case, expect):
    expect('x', Contains('x'))
"""
TOML = "[tool.evenhand]\njudge = 'echo'\n"
ONE = EVALS % "data=[{'id': 'a'}]"
META = "id: greet\nversion: 1.0.0\nsummary: Greets.\nmodel: echo\n"
CASES = "cases:\n  - name: a\n    inputs: {name: Ada}\n    assert:\n      - contains: Ada\n"

Files = Mapping[str, str | bytes]
Make = Callable[[Path], None]


def loop(name: str) -> Make:
    """Makes a link that leads to itself."""
    return lambda folder: (folder / name).symlink_to(Path(name).name)


def pipe(name: str) -> Make:
    """Makes a pipe that nobody writes to."""
    return lambda folder: os.mkfifo(folder / name)


def device(name: str) -> Make:
    """Makes a link to a file that never ends."""
    return lambda folder: (folder / name).symlink_to("/dev/zero")


def said(
    folder: Path,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    """The exit code of a command line in a folder, and what it wrote to stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0), capsys.readouterr().err


def refused(
    folder: Path,
    words: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is refused in words, and no run is kept."""
    code, text = said(folder, words, monkeypatch, capsys)
    assert code == 2, text
    assert says in text, text
    assert "Traceback" not in text
    assert not list(folder.rglob("*.db"))


def write(folder: Path, files: Files) -> None:
    """Writes these files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def config(text: str) -> Files:
    """A folder with this config alone."""
    return {"promptfooconfig.yaml": text}


def of_tests(name: str, content: str | bytes) -> Files:
    """A folder whose tests are in this file."""
    return {"promptfooconfig.yaml": f"{HEAD}tests: file://{name}\n", name: content}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            config(TESTS + "evaluateOptions: {repeat: 1000000000}\n"),
            "repeat is 1000000000, not a whole number from 1 to",
        ),
        (config(TESTS + f"evaluateOptions: {{repeat: {BIG}}}\n"), "yaml:5:19: repeat is"),
        (
            config(TESTS + "evaluateOptions: {repeat: 1e11}\n"),
            "not a whole number from 1 to 1,000,000",
        ),
        (config(TESTS + "evaluateOptions: {repeat: 2.5}\n"), "repeat is 2.5, not a whole"),
        (config(TESTS + "evaluateOptions: {maxConcurrency: 1e300}\n"), "maxConcurrency is 1e+300"),
        (
            config(TESTS + "evaluateOptions: {delay: 1000000000000}\n"),
            "delay is 1000000000000, not a number",
        ),
        (
            config(TESTS + "evaluateOptions: {timeoutMs: 1e308}\n"),
            "timeoutMs is 1e+308, not a number",
        ),
        (config(TESTS + "evaluateOptions: {cache: maybe}\n"), "cache is 'maybe'"),
        (
            config(TESTS + "    options: {repeat: 1000000000}\n"),
            "repeat is 1000000000, not a whole number from 1 to",
        ),
        (config(TESTS + f"    threshold: {BIG}\n"), "yaml:5:5: threshold is"),
        (config(TESTS + "env: 5\n"), "env is 5, not an object"),
        (config(TESTS + "commandLineOptions: text\n"), "commandLineOptions is 'text', not an"),
        (
            config(HEAD + "tests: [{vars: {$ref: '#/a'}}]\na: {$ref: '#/b'}\nb: {$ref: '#/a'}\n"),
            "#/a → #/b → #/a",
        ),
        (config(HEAD + "tests: [{vars: {$ref: '#/tests/0/vars'}}]\n"), "leads back to itself"),
        (config(TESTS + "metadata: {$ref: '#'}\n"), "leads back to itself"),
        (
            config(
                HEAD
                + "tests: [{vars: {$ref: '#/a0'}}]\n"
                + "".join(
                    f"a{i}: [{{$ref: '#/a{i + 1}'}}, {{$ref: '#/a{i + 1}'}}]\n" for i in range(40)
                )
                + "a40: x\n"
            ),
            "$ref stand for more than 200,000 values",
        ),
        (
            {
                "promptfooconfig.yaml": HEAD + "tests: {$ref: 'a.yaml#/t'}\n",
                "a.yaml": "t: {$ref: 'b.yaml#/t'}\n",
                "b.yaml": "t: {$ref: 'a.yaml#/t'}\n",
            },
            "a.yaml#/t → b.yaml#/t → a.yaml#/t",
        ),
        (
            {
                "promptfooconfig.yaml": "prompts: [hi]\nproviders: file://p.yaml\n",
                "p.yaml": "- file://p.yaml\n",
            },
            "file://p.yaml leads back to itself",
        ),
        (
            config(
                "prompts: [hi]\nproviders: [{id: 'openai:m', config: {apiKey: k, headers: [a]}}]\n"
            ),
            "headers of provider openai:m are list",
        ),
        (
            config("prompts: [hi]\nproviders: [{id: echo, delay: 1.0e+308}]\n"),
            "delay of provider echo is 1e+308, not a number",
        ),
        (
            config("prompts: [hi]\nproviders: [{id: echo, delay: soon}]\n"),
            "delay of provider echo is 'soon'",
        ),
        ({**config(TESTS), ".env": b"A=x\0y\n"}, "the value of A has a NUL in it"),
        (of_tests("t.json", '[{"vars":{"x":NaN}}]'), "t.json:1:15: NaN is not a number"),
        (of_tests("t.json", '[{"vars":{"x":-Infinity}}]'), "-Infinity is not a number"),
        (
            of_tests("t.json", '[{"vars":\n{"x":1e999}}]'),
            "t.json:2:6: 1e999 is larger than any number",
        ),
        (of_tests("t.json", f'[{{"vars":{{"x":{BIG}}}}}]'), "(501 digits) is larger than any"),
        (of_tests("t.json", f'[{{"vars":{{"x":1{"0" * 5000}}}}}]'), "(5001 digits) is larger"),
        (
            of_tests("t.jsonl", '{"vars":{"x":1e999}}\n'),
            "t.jsonl:1: the variables cannot be kept: inf",
        ),
        (of_tests("t.jsonl", '{"vars":{"x":1,"x":2}}\n'), "t.jsonl:1: is not JSON: the key 'x'"),
        (of_tests("t.jsonl", '{"vars":{"x":NaN}}\n'), "t.jsonl:1: is not JSON: NaN"),
        (
            of_tests("t.py", "def generate_tests():\n    return [{'vars': {'x': float('nan')}}]\n"),
            "nan",
        ),
        (
            {**of_tests("t.csv/x", ""), "promptfooconfig.yaml": HEAD + "tests: file://t.csv\n"},
            "is a folder, not a file",
        ),
        ({"promptfooconfig.yaml/x": ""}, "promptfooconfig.yaml: is a folder, not a file"),
    ],
)
def test_a_broken_config_is_refused_in_words(
    tmp_path: Path,
    files: Files,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Numbers that nothing can be, references in circles, files that are none."""
    write(tmp_path, files)
    refused(tmp_path, ["run"], says, monkeypatch, capsys)


@pytest.mark.parametrize("kind", [loop, pipe, device])
@pytest.mark.parametrize(
    "name",
    [
        "promptfooconfig.yaml",
        *(f"t.{e}" for e in ("csv", "tsv", "json", "jsonl", "yaml", "xlsx")),
        "a.txt",
        "p.yaml",
        "e.env",
    ],
)
def test_a_link_to_itself_a_pipe_and_a_device_are_refused_at_once(
    tmp_path: Path,
    name: str,
    kind: Callable[[str], Make],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Wherever a config names a file, and in the place of the config itself."""
    texts = {
        "a.txt": HEAD + "tests: [{vars: file://a.txt}]\n",
        "p.yaml": "prompts: [hi]\nproviders: [file://p.yaml]\n",
        "e.env": TESTS + "commandLineOptions: {envPath: e.env}\n",
    }
    if name != "promptfooconfig.yaml":
        write(tmp_path, config(texts.get(name, f"{HEAD}tests: file://{name}\n")))
    kind(name)(tmp_path)
    says = {loop: "leads back to itself", pipe: "is a pipe", device: "is a device"}[kind]
    refused(tmp_path, ["check"], says, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("data=[{'id': 'a', 'input': float('nan')}]", "case 'a': input cannot be kept: nan"),
        ("data=[{'input': float('nan')}]", "the case cannot be kept: nan"),
        ("data=[{'id': 'a', 'v': float('inf')}]", "case 'a': v cannot be kept: inf"),
        ("data=[{'id': 'a', 'metadata': {'v': [float('inf')]}}]", "metadata cannot be kept"),
        ("data=[{'id': 'a', 'expected': [1, float('nan')]}]", "expected cannot be kept"),
        ("data=[{'id': 'a', 'input': object()}]", "input cannot be kept: Encoding objects"),
        ("data=[{'id': 'a', 'input': {(1, 2): 3}}]", "input cannot be kept"),
        ("data=[{'id': 'a', 'input': 10**5000}]", "input cannot be kept: Exceeds the limit"),
        ("data=[Case('a', vars={'x': float('nan')})]", "case 'a': x cannot be kept: nan"),
        ("data=[Case(5)]", "the id of a case is 5, not a text"),
        ("data=[Case('a', tags='x')]", "tags and context are lists of texts"),
        ("repeats=10**9", "repeats is 1000000000, not a whole number from 1 to 1,000,000"),
        ("repeats=10**500", "not a whole number from 1 to 1,000,000"),
        ("repeats=1.5", "repeats is 1.5, not a whole number"),
        ("repeats=float('nan')", "repeats is nan, not a whole number"),
        ("repeats='3'", "repeats is '3', not a whole number"),
        ("repeats=True", "repeats is True, not a whole number"),
        (
            "over={'p': range(300), 'q': range(300), 'r': range(300)}",
            "300 of p × 300 of q × 300 of r variants",
        ),
        ("over={'p': itertools.count()}", "no more than 10,000"),
        ("data=[{'id': str(i)} for i in range(100)], repeats=1_000_000", "100,000,000 trials"),
    ],
)
def test_a_set_of_evals_that_cannot_be_is_refused_in_words(
    tmp_path: Path,
    argument: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Values that nothing can hold, and more trials or columns than can be run: counted, not walked."""
    write(tmp_path, {"evals/a_evals.py": EVALS % argument})
    refused(tmp_path, ["run", "evals"], says, monkeypatch, capsys)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("d.jsonl", '{"id":"a","input":1e999}\n', "d.jsonl:1: case 'a': input cannot be kept: inf"),
        ("d.jsonl", '{"id":"a","input":NaN}\n', "d.jsonl:1: is not JSON: NaN"),
        ("d.csv", "id,input:json\na,1e999\n", "d.csv:2: case 'a': input cannot be kept: inf"),
        ("d.json", '[{"id":"a","input":1e999}]', "d.json:1: case 'a': input cannot be kept: inf"),
        ("d.jsonl", '{"id":"a","input":"x: y","input":2}\n', "'input' appears twice"),
        ("d.json", '[{"id":"a", "m" : {"k": 1, "k": 2}}]', "the key 'k' appears twice"),
        ("d.yaml", "- id: a\n  input: 1\n  input: 2\n", "d.yaml:3:3: is not YAML: the key 'input'"),
        ("d.yaml", "- {id: a, input: .nan}\n", "d.yaml:1: case 'a': input cannot be kept: nan"),
        ("d.yaml", "- {id: a, input: [.inf]}\n", "d.yaml:1: case 'a': input cannot be kept: inf"),
    ],
)
def test_a_number_in_a_dataset_that_cannot_be_kept_is_refused_with_its_row(
    tmp_path: Path,
    name: str,
    content: str,
    says: str,
    stream: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In every format, read whole or as it is asked for."""
    if stream and name.endswith((".json", ".yaml")):
        pytest.skip("read whole")
    data = EVALS % f"data=Dataset.read('../{name}', stream={stream})"
    write(tmp_path, {"evals/a_evals.py": data, name: content})
    refused(tmp_path, ["run", "evals"], says, monkeypatch, capsys)


@pytest.mark.parametrize("kind", [loop, pipe, device])
@pytest.mark.parametrize(
    "name", ["d.csv", "d.jsonl", "d.yaml", "evals/a_evals.py", "evals/setup.py"]
)
def test_a_dataset_and_an_eval_file_that_are_no_files_are_refused(
    tmp_path: Path,
    name: str,
    kind: Callable[[str], Make],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Links to themselves, pipes, devices."""
    data = EVALS % (f"data=Dataset.read('../{name}')" if name.startswith("d.") else "")
    write(tmp_path, {"evals/a_evals.py": data, "evals/other_evals.py.txt": ""})
    (tmp_path / name).unlink(missing_ok=True)
    kind(name)(tmp_path)
    says = {loop: "leads back to itself", pipe: "is a pipe", device: "is a device"}[kind]
    refused(tmp_path, ["run", "evals"], says, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("tool = 'evenhand'\njudge = nan\nx = " + "[" * 5000 + "]" * 5000, "is nested too deep"),
        ("[tool.evenhand]\njudge = 1" + "0" * 5000 + "\n", "is not TOML: Exceeds the limit"),
        ("[tool.evenhand]\njudge = nan\n", "judge is nan, not a model's id"),
        (b"[tool.evenhand]\njudge = 'ech\xfc'\n", "pyproject.toml:2: is not UTF-8"),
    ],
)
def test_a_broken_pyproject_is_refused_in_words(
    tmp_path: Path,
    content: str | bytes,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where it may hold a table of ours."""
    write(tmp_path, {"pyproject.toml": content, "evals/a_evals.py": ONE})
    refused(tmp_path, ["run", "evals"], says, monkeypatch, capsys)


@pytest.mark.parametrize("content", ["tool = 'evenhand'\n", "tool = ['evenhand']\n"])
def test_a_pyproject_without_tables_of_tools_says_nothing(
    tmp_path: Path,
    content: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is another program's business."""
    write(tmp_path, {"pyproject.toml": content, "evals/a_evals.py": ONE})
    code, text = said(tmp_path, ["run", "evals"], monkeypatch, capsys)
    assert code == 0, text


def test_combinations_of_variables_are_counted_and_refused_with_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the place of the test, whatever is selected."""
    words = ",".join(f"w{i}" for i in range(300))
    lists = f"{{a: &l [{words}], b: *l, c: *l}}"
    write(
        tmp_path, config(f"prompts: ['{{{{a}}}}']\nproviders: [echo]\ntests:\n - vars: {lists}\n")
    )
    says = (
        "promptfooconfig.yaml:4:4: the lists of variables come to 27,000,000 combinations (300 of a"
    )
    refused(tmp_path, ["run"], says, monkeypatch, capsys)
    refused(tmp_path, ["check", "--first", "1"], says, monkeypatch, capsys)


def test_all_problems_of_a_broken_config_are_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers, files and references in one go."""
    text = HEAD + "tests: [file://t.csv, {vars: {x: 1}, threshold: 1e999}]\n"
    write(tmp_path, config(text + "evaluateOptions: {repeat: 1e11, delay: -1}\nenv: [5]\n"))
    pipe("t.csv")(tmp_path)
    code, told = said(tmp_path, ["check"], monkeypatch, capsys)
    assert code == 2
    for says in ("t.csv is a pipe", "threshold is", "repeat is", "delay is -1", "env is [5]"):
        assert says in told
    assert "5 problems; nothing was sent" in told


@pytest.mark.parametrize("file", ["a_evals.py", "setup.py"])
def test_an_import_that_never_ends_is_given_up_and_says_where(
    tmp_path: Path,
    file: str,
) -> None:
    """An eval file, or the setup before it, with a loop in it; in a process of its own, for the alarm's sake."""
    write(tmp_path, {"evals/a_evals.py": ONE, f"evals/{file}": "x = 1\nwhile True: pass\n"})
    code = (
        "from evenhand.engine import importing; importing.LIMIT_S = 0.5\n"
        "from evenhand.cli import main; main(['run', 'evals'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2, ended
    says = f"evals/{file}:2: it took longer than 0.5 s to import and was given up"
    assert says in ended.stderr


def test_an_import_that_raises_what_is_no_exception_is_a_problem_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its line."""
    write(tmp_path, {"evals/a_evals.py": "class Odd(BaseException): pass\nraise Odd('so')\n"})
    says = "a_evals.py:2: cannot be imported: Odd: so"
    refused(tmp_path, ["run", "evals"], says, monkeypatch, capsys)


def test_a_pattern_meets_each_file_once_though_links_lead_round_in_circles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is linked into itself has not forty copies of its prompts."""
    write(tmp_path, {**config("prompts: file://**/*.txt\nproviders: [echo]\n"), "p.txt": "hi"})
    (tmp_path / "again").symlink_to(".")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["check"])
    assert "1 prompt ×" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["meta.yml", "eval.yml"])
@pytest.mark.parametrize("kind", [loop, pipe])
def test_a_prompt_directory_with_a_file_that_is_none_is_refused(
    tmp_path: Path,
    name: str,
    kind: Callable[[str], Make],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Links to themselves, and pipes."""
    folder = "prompts/greet"
    files = {"meta.yml": META, "PROMPT.md": "Hello {{ name }}\n", "eval.yml": CASES}
    write(tmp_path, {f"{folder}/{other}": text for other, text in files.items() if other != name})
    kind(f"{folder}/{name}")(tmp_path)
    refused(tmp_path, ["run", folder], "", monkeypatch, capsys)


def test_a_path_that_no_file_can_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Longer than a name may be."""
    says = "no file has a name as long as this one"
    refused(tmp_path, ["check", "f" * 300], says, monkeypatch, capsys)
