"""A function or a program whose code has changed is another model; its secrets are nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt
from evenhand.core.provider import ReadsFiles, Request
from evenhand.doors.prompt_directories.loaded_files import reached_by_id
from evenhand.providers.bridge import LiteLlm
from evenhand.providers.catalog import create

CALLED = "def call_api(p, o, c):\n    "


def key(id_: str, folder: Path, **config: object) -> str:
    """The name of a request to this provider."""
    return create(id_, config=config, env={}, base=folder).request(Prompt.of("x")).key


def test_a_change_in_what_a_function_imports_makes_it_another_model(tmp_path: Path):
    """So that no answer of the old code stands for the new."""
    (tmp_path / "model.py").write_text("import helper\ndef call_api(p, o, c): return helper.V\n")
    (tmp_path / "helper.py").write_text("V = 'v1'\n")
    before = key("python:model.py", tmp_path)
    assert key("python:model.py", tmp_path) == before
    (tmp_path / "helper.py").write_text("V = 'v2'\n")
    assert key("python:model.py", tmp_path) != before


def test_a_change_in_the_script_that_a_program_runs_makes_it_another_model(tmp_path: Path):
    """Whatever runs it."""
    (tmp_path / "app.sh").write_text("echo v1\n")
    before = key("exec:sh app.sh", tmp_path)
    (tmp_path / "app.sh").write_text("echo v2\n")
    assert key("exec:sh app.sh", tmp_path) != before


@pytest.mark.parametrize(
    "command",
    [
        "python -m app",
        "python -m app.main",
        "python app",
        "sh -c 'python app/main.py'",
        'sh -c "cd app && python main.py"',
        "make -s ask",
        "npm run ask",
        "uv run app",
    ],
)
def test_a_change_in_what_a_command_runs_makes_it_another_model_whether_or_not_it_names_a_file(
    command: str, tmp_path: Path
):
    """A module, a folder, a line for a shell, a recipe: no answer of the old code stands for the new."""
    (tmp_path / "app").mkdir()
    for name in ("__init__.py", "__main__.py", "main.py"):
        (tmp_path / "app" / name).write_text("import app.main\n")
    before = key(f"exec:{command}", tmp_path)
    (tmp_path / "app" / "main.py").write_text("print('v2')\n")
    assert key(f"exec:{command}", tmp_path) != before


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("python app.py", {"app.py"}),
        ("python -m app", {"app.py", "app/__init__.py", "app/__main__.py"}),
        ("python -m app.judge", {"app/judge.py"}),
        ("node app", {"app/__init__.py", "app/__main__.py", "app/judge.py"}),
        ("bash -c 'cd . && python app/judge.py'", {"app/judge.py", "app.py"}),
        ("make judge", {"Makefile"}),
        ("echo", set[str]()),
    ],
)
def test_the_files_of_a_command_are_those_that_it_runs(
    command: str, files: set[str], tmp_path: Path
):
    """By them a judge that is a program is known to be another one, and evidence to be stale."""
    (tmp_path / "app").mkdir()
    for name in ("app.py", "app/__init__.py", "app/__main__.py", "app/judge.py", "Makefile"):
        (tmp_path / name).write_text("# code\n")
    (tmp_path / "app" / "notes.txt").write_text("no code\n")
    provider = create(f"exec:{command}", config={}, env={}, base=tmp_path)
    assert isinstance(provider, ReadsFiles)
    assert {str(path.relative_to(tmp_path)) for path in provider.files} == files
    assert {
        str(path.relative_to(tmp_path))
        for path in reached_by_id(f"exec:{command}", tmp_path, tmp_path)
    } >= files


@pytest.mark.parametrize(
    ("model", "code", "other"),
    [
        ("model.js", "const h = require('./helper');\nmodule.exports = () => h", "helper.js"),
        ("model.py", "p = Path(__file__).parent / 'prompts' / 'system.txt'", "prompts/system.txt"),
        ("model.py", "settings = json.load(open('settings.json'))", "settings.json"),
        ("model.js", "fs.readFileSync(path.join(__dirname, 'system.md'))", "system.md"),
    ],
)
def test_a_change_in_code_of_any_language_or_in_a_text_that_code_names_makes_it_another_model(
    tmp_path: Path, model: str, code: str, other: str
):
    """A prompt in a file beside the code is part of what answers."""
    (tmp_path / model).write_text(f"{CALLED if model.endswith('.py') else ''}{code}\n")
    file = tmp_path / other
    file.parent.mkdir(exist_ok=True)
    file.write_text("one\n")
    before = key(f"file://{model}", tmp_path)
    file.write_text("two\n")
    assert key(f"file://{model}", tmp_path) != before


@pytest.mark.parametrize(
    "code",
    [
        "print('nothing of it')",
        "open('state.json', 'a').write(p)",
        "open('state.json', mode='w')",
        "Path('state.json').write_text(p)",
        "(HERE / 'state.json').open('w')",
    ],
)
def test_a_text_that_code_writes_or_does_not_name_is_no_part_of_it(tmp_path: Path, code: str):
    """A log would make it another model with each call."""
    (tmp_path / "model.py").write_text(f"{CALLED}{code}\n")
    (tmp_path / "state.json").write_text("1\n")
    before = key("python:model.py", tmp_path)
    (tmp_path / "state.json").write_text("2\n")
    assert key("python:model.py", tmp_path) == before


def test_folders_full_of_data_keep_no_code_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They are looked through up to a limit of their own."""
    monkeypatch.setattr("evenhand.providers.local_code.MOST_FILES", 5)
    (tmp_path / "model.py").write_text(f"{CALLED}import src.helper\n")
    for folder in ("data", "src"):
        (tmp_path / folder).mkdir()
    for i in range(20):
        (tmp_path / "data" / f"{i}.json").write_text("1\n")
    (tmp_path / "src" / "helper.py").write_text("V = 1\n")
    before = key("python:model.py", tmp_path)
    (tmp_path / "src" / "helper.py").write_text("V = 2\n")
    assert key("python:model.py", tmp_path) != before


def test_virtual_environments_beside_the_code_count_nothing(tmp_path: Path):
    """Installing something elsewhere does not empty the cache."""
    (tmp_path / "model.py").write_text("def call_api(p, o, c): return 'x'\n")
    before = key("python:model.py", tmp_path)
    for folder in (".venv", "node_modules"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("1\n")
    assert key("python:model.py", tmp_path) == before


def test_no_secret_of_a_function_or_a_program_is_in_what_is_kept_of_a_request(tmp_path: Path):
    """The function is given it; the run file and the cache are not."""
    (tmp_path / "model.py").write_text("def call_api(p, o, c): return 'x'\n")
    for id_ in ("python:model.py", "exec:echo"):
        provider = create(id_, config={"apiKey": "HUSH", "password": "HUSH"}, env={}, base=tmp_path)
        request = provider.request(Prompt.of("x"))
        assert b"HUSH" not in request.identity
        assert "HUSH" in str(request.payload)


@pytest.mark.parametrize(
    ("id_", "first", "second"),
    [
        ("python:model.py", {"token": "of-ann"}, {"token": "of-bob"}),
        ("exec:echo", {"settings": {"password": "1"}}, {"settings": {"password": "2"}}),
        ("http://h.test", {"headers": {"Authorization": "a"}}, {"headers": {"Authorization": "b"}}),
        ("http://h.test", {"auth": {"type": "bearer", "token": "a"}}, {"auth": {"type": "bearer", "token": "b"}}),
        ("http://h.test", {"body": {"session_token": "a"}}, {"body": {"session_token": "b"}}),
        ("http://h.test", {"url": "http://h.test/?key=a"}, {"url": "http://h.test/?key=b"}),
        ("http://h.test", {"url": "http://ann:1@h.test"}, {"url": "http://bob:2@h.test"}),
        ("openai:chat:m", {"headers": {"X-Virtual-Key": "a"}}, {"headers": {"X-Virtual-Key": "b"}}),
    ],
)  # fmt: skip
def test_what_answers_to_another_secret_shares_no_answer_and_is_found_in_a_replay(
    id_: str, first: dict[str, Any], second: dict[str, Any], tmp_path: Path
):
    """A service may show Ann what it hides from Bob; a recording is answered without either's key."""
    (tmp_path / "model.py").write_text("def call_api(p, o, c): return 'x'\n")
    env = {"OPENAI_API_KEY": "k"}

    def request(config: dict[str, Any]) -> Request:
        body = {"body": {"prompt": "{{prompt}}"}} if id_.startswith("http") else {}
        return create(id_, config={**body, **config}, env=env, base=tmp_path).request(
            Prompt.of("x")
        )

    ann, again, bob = request(first), request(first), request(second)
    assert ann.unsent == again.unsent != bob.unsent
    assert ann.key == bob.key
    assert len(ann.unsent) <= 4  # too few digits to find out a password by


@pytest.mark.parametrize("id_", ["python:model.py", "model.js", "exec:echo"])
@pytest.mark.parametrize("place", ["variable", "deep variable", "setting", "setting of a test"])
def test_a_change_in_a_file_that_a_variable_or_a_setting_names_shares_no_cached_answer(
    id_: str, place: str, tmp_path: Path
):
    """The code reads it: an answer about the old document must not stand for the new one."""
    (tmp_path / "model.py").write_text("def call_api(p, o, c): return 'x'\n")
    (tmp_path / "model.js").write_text("module.exports = async () => ({output: 'x'});\n")
    (tmp_path / "data").mkdir()
    document = tmp_path / "data" / "a.pdf"

    def unsent(name: str = "data/a.pdf") -> str:
        named: dict[str, Any] = {
            "document": name,
            "n": 1,
            "words": "A sentence. Another one.",
            "none": "no/b.txt",
        }
        variables = {"variable": named, "deep variable": {"all": [named]}}.get(place, {})
        config = named if place == "setting" else {}
        provider = create(
            f"file://{id_}" if id_.endswith("js") else id_, config=config, env={}, base=tmp_path
        )
        settings = named if place == "setting of a test" else {}
        prompt = replace(Prompt.of("x", **settings), vars=variables)
        return provider.request(prompt).unsent

    assert unsent() == ""  # there is no such file
    document.write_bytes(b"old")
    old = unsent()
    assert old == unsent() != ""
    assert unsent(str(document)) != ""
    document.write_bytes(b"other")
    assert unsent() not in (old, "")


def test_a_vendor_is_not_paid_again_for_another_key(tmp_path: Path):
    """A vendor's model answers alike, whoever pays."""

    def unsent(key: str) -> str:
        config = {"apiKey": key, "headers": {"Authorization": f"Bearer {key}"}}
        provider = create("openai:chat:m", config=config, env={}, base=tmp_path)
        return provider.request(Prompt.of("x")).unsent

    assert unsent("k-1") == unsent("k-2") == ""


def test_two_prompts_in_which_only_a_key_differs_are_two_through_litellm():
    """What looks like a key is in no run file, but it was asked about; the key of the account isn't part of it."""

    def request(text: str, key: str = "k") -> Request:
        provider = LiteLlm(
            id="litellm:openai/m",
            label="m",
            model="openai/m",
            embeds=False,
            config={"api_key": key},
            env={},
        )
        return provider.request(Prompt.of(text))

    one, two = (f"Is sk-{drawn} mine?" for drawn in ("a1" * 9, "b2" * 9))
    assert request(one).key == request(two).key
    assert request(one).unsent == request(one, "another").unsent != request(two).unsent


@pytest.mark.parametrize("id_", ["python:model.py", "exec:echo", "http://127.0.0.1:9/ask"])
def test_code_says_what_a_call_costs_at_most(id_: str, tmp_path: Path):
    """Nobody else knows; without `maxCost` the bound is unknown, and what is no price is refused."""
    (tmp_path / "model.py").write_text("def call_api(p, o, c): return 'x'\n")

    def bound(**config: object) -> float | None:
        body = {"body": {"prompt": "{{prompt}}"}} if id_.startswith("http") else {}
        provider = create(id_, config={**body, **config}, env={}, base=tmp_path)
        return provider.request(Prompt.of("x")).cost_bound_usd

    assert bound() is None
    assert bound(maxCost=0.02) == bound(maxCost="0.02") == 0.02
    with pytest.raises(UsageError, match="maxCost is 'much'"):
        bound(maxCost="much")
