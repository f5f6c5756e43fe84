"""Secrets of a run that a model or a vendor repeats: redacted everywhere, by one rule, before anything is scored."""

from __future__ import annotations

import base64
import json
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.core.secrets import HIDDEN, known
from evenhand.render.export import formats
from evenhand.testing import FakeProvider, Rule, Script

KEY = "config-key-of-nobody-0123456789"
HEADER = "header/secret-0123456789"
SECRETS = {
    "apiKey": KEY,
    "X-Api-Secret": HEADER,
    "Authorization": "authorized-0123456789abcdef",
    "Cookie": "cookie-0123456789abcdef",
    "password in the address": "address-0123456789abcdef",
    "query of the address": "query-0123456789abcdef",
    "apiKeyEnvar": "innocently-named-0123456789",
}


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """What one test's configs hold is not known to the next."""
    known.forget()
    yield
    known.forget()


def ran(*words: str) -> int:
    """The exit code of a command line."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def written(
    folder: Path, url: str, asserts: Sequence[object] = (), says: str = "keys", **more: Any
) -> None:
    """A config whose provider has secrets in every place that there is."""
    settings = {
        "apiBaseUrl": f"{url}/v1",
        "homes": [
            f"https://ada:{SECRETS['password in the address']}@elsewhere.test/",
            f"https://elsewhere.test/?api_key={SECRETS['query of the address']}",
        ],
        "apiKey": KEY,
        "apiKeyEnvar": "SHOP_THING",
        "headers": {
            "X-Api-Secret": HEADER,
            "Authorization": f"Bearer {SECRETS['Authorization']}",
            "Cookie": f"sid={SECRETS['Cookie']}; theme=dark",
        },
        "cost": 0.0001,
        **more,
    }
    config = {
        "prompts": ["Say {{x}}"],
        "providers": [{"id": "openai:chat:m", "config": settings}],
        "tests": [{"vars": {"x": says}, "assert": list(asserts)}],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")


@contextmanager
def repeating_server() -> Iterator[str]:
    """A server that refuses everything, and says again what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"])).decode()
            said = json.dumps({"error": {"message": f"no: {dict(self.headers)} {sent}"}}).encode()
            self.send_response(400)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as the class has it)
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def nothing_left(folder: Path, said: str) -> None:
    """No secret is in what was said, nor in any file but the config."""
    for name, value in SECRETS.items():
        assert value not in said, name
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "promptfooconfig.json":
                assert value.encode() not in path.read_bytes(), (name, path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, whose runs stay in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHOP_THING", SECRETS["apiKeyEnvar"])
    return tmp_path


def test_a_secret_of_a_config_that_the_model_repeats_is_in_no_run_cache_or_export(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keys, headers, cookies, passwords and queries of addresses, in every format, in the cache and on the screen."""
    text = "I was told: " + " and ".join(SECRETS.values())
    with FakeProvider(Script([Rule((), text)])) as fake:
        written(folder, fake.url)
        assert ran("run", "-v") == 0
        for format_ in formats():
            assert ran("export", "--format", format_, "--to", str(folder / f"as-{format_}")) == 0
        for words in (["show"], ["show", "--json"], ["cache", "explain"], ["check"]):
            ran(*words)
    said = capsys.readouterr()
    nothing_left(folder, said.out + said.err)
    assert HIDDEN in said.out
    assert list(folder.rglob("answers.db"))


def test_a_secret_that_is_written_in_another_way_is_redacted_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escaped for an address, and in base64."""
    forms = [urllib.parse.quote(HEADER, safe=""), base64.b64encode(KEY.encode()).decode()]
    with FakeProvider(Script([Rule((), " ".join(forms))])) as fake:
        written(folder, fake.url)
        ran("run", "--no-cache")
        ran("show", "--json")
    out = capsys.readouterr().out
    assert f"{HIDDEN} {HIDDEN}" in out
    assert not any(form in out for form in forms)


def test_a_secret_header_that_a_vendor_repeats_in_its_error_is_redacted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the screen and in the run file; so is one that a variable holds."""
    with repeating_server() as url:
        written(folder, url, says=f"{HEADER} {KEY}")
        assert ran("run", "-v") == 3
        ran("show", "--json")
    said = capsys.readouterr()
    nothing_left(folder, said.out + said.err)


def test_a_leaked_key_fails_not_contains_live_from_the_cache_and_on_resume(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is scored is what is stored: the verdict is the same however the reply comes."""
    asserts = [{"type": "not-contains", "value": KEY}, {"type": "contains", "value": "told"}]
    verdicts: list[Any] = []
    with FakeProvider(Script([Rule((), f"I was told {KEY}")])) as fake:
        written(folder, fake.url, asserts)
        for words in (["run"], ["run"], ["resume"], ["run", "--no-cache"]):
            ran(*words)
            capsys.readouterr()
            ran("show", "--json")
            (row,) = json.loads(capsys.readouterr().out)["trials"]
            verdicts.append(
                (row["outcome"], row["output"], [o["outcome"] for o in row["outcomes"]])
            )
        assert len(fake.requests) == 2
    assert verdicts == [("fail", f"I was told {HIDDEN}", ["fail", "pass"])] * 4


def test_short_and_common_values_are_left_in_outputs(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key called `test` does not take half of an answer away."""
    words = {"A_KEY": "test", "B_TOKEN": "1234", "C_SECRET": "true", "D_PASSWORD": "localhost"}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    text = "A test of 1234 on localhost is true, says k."
    with FakeProvider(Script([Rule((), text)])) as fake:
        written(folder, fake.url, apiKey="k")
        ran("run", "--no-cache")
        ran("show", "--json")
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("where", ["config", "yaml", "default", "scenario"])
def test_a_secret_of_the_environment_in_a_tests_variable_is_refused_before_anything_is_sent(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Wherever the variable is written; with its place and what to do."""
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    test = "{vars: {x: 'yaml {{ env.SHOP_API_KEY | upper }}'}}"
    tests = {
        "config": f"tests: [{test}]",
        "yaml": "tests: file://tests.yaml",
        "default": f"defaultTest: {test}\ntests: [{{vars: {{y: 1}}}}]",
        "scenario": f"scenarios: [{{config: [{test}], tests: [{{vars: {{y: 1}}}}]}}]",
    }
    (folder / "tests.yaml").write_text(f"- {test}\n", "utf-8")
    text = f"prompts: ['Say {{{{x}}}}']\nproviders: [echo]\n{tests[where]}\n"
    (folder / "promptfooconfig.yaml").write_text(text, "utf-8")
    assert ran("run") == 2
    said = capsys.readouterr().err
    assert "variable 'x' names {{ env.SHOP_API_KEY }}, which looks like a secret" in said
    assert "nothing was sent" in said
    assert KEY not in said


def test_what_is_no_secret_is_filled_into_variables_and_a_key_into_a_providers_config(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in promptfoo."""
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    monkeypatch.setenv("SHOP_TOWN", "Genoa")
    with FakeProvider(Script([Rule(("Genoa",), "There.")]), api_key=KEY) as fake:
        (folder / "promptfooconfig.yaml").write_text(
            "prompts: ['Say {{x}}']\n"
            f"providers: [{{id: 'openai:chat:m', config: {{apiBaseUrl: '{fake.url}/v1',"
            " apiKey: '{{ env.SHOP_API_KEY }}'}}]\n"
            "tests: [{vars: {x: '{{ env.SHOP_TOWN }}'}, assert: [{type: equals, value: There.}]}]\n",
            "utf-8",
        )
        assert ran("run", "--no-cache") == 0, capsys.readouterr()


def test_a_password_in_a_broken_address_is_not_in_the_message(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message quotes the address without it."""
    written(folder, "http://127.0.0.1:9", apiBaseUrl=f"http://ada:{KEY}@x:99999999/v1")
    assert ran("check") == 2
    said = capsys.readouterr()
    nothing_left(folder, said.out + said.err)


def test_whoever_asks_with_another_secret_gets_an_answer_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    """Beside each other in a run, and in the next run: only the same secret is answered by the cache."""
    (folder / "service.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'output': 'secret report' if 'admin' in options['config']['token'] else 'denied'}\n"
    )

    def passed(*tokens: str) -> list[str]:
        providers = [
            {"id": "python:service.py", "label": label, "config": {"token": token}}
            for label, token in zip(("first", "second"), tokens, strict=True)
        ]
        tests = [{"assert": [{"type": "equals", "value": "denied"}]}]
        config = {"prompts": ["Show it"], "providers": providers, "tests": tests}
        (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        ran("run", str(folder), "--json")
        columns = json.loads(capsys.readouterr().out)["trials"]
        return [trial["outcome"] for trial in columns]

    assert passed("admin-0123456789", "guest-0123456789") == ["fail", "pass"]
    assert passed("guest-0123456789", "guest-0123456789") == ["pass", "pass"]
