"""Functions that stand for models: in this process, in another Python's, and in JavaScript."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import BadRequest, FailedCode, UsageError
from evenhand.core.message import Prompt, Reply
from evenhand.engine.code import CodeHost
from evenhand.languages.javascript.node import found_node
from evenhand.providers.catalog import create
from evenhand.providers.local_code import replied

CODE = """
import os, sys, time
count = 0
class Bot:
    @classmethod
    def answer(cls, prompt, options, context): return "bot " + prompt
def call_api(prompt, options, context):
    global count
    count += 1
    print("said", prompt)
    return {"output": {"pid": os.getpid(), "count": count, "who": sys.executable,
        "n": options["config"].get("n"), "var": context["vars"].get("v"), "env": os.environ.get("MINE")}}
async def later(prompt, options, context): return prompt.upper()
def raises(prompt, options, context): raise ValueError("no")
def dies(prompt, options, context): os.write(1, b"last words"); os._exit(3)
def sleeps(prompt, options, context): time.sleep(60)
def odd(prompt, options, context): return {"output": {1, 2}}
def call_embedding_api(prompt, options): return {"embedding": [1, 2]}
"""


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another interpreter than this one: a link to it by another name."""
    link = tmp_path / "other-python"
    link.symlink_to(sys.executable)
    return str(link)


async def asked(
    tmp_path: Path, name: str, *prompts: Prompt, env: dict[str, str] | None = None, **config: Any
) -> list[Reply]:
    """The replies, asked for at the same time in one run."""
    (tmp_path / "bot.py").write_text(CODE)
    provider = create(f"python:bot.py{name}", config=config, env=env or {}, base=tmp_path)
    host = CodeHost()
    with host.open():
        requests = [provider.request(prompt) for prompt in prompts or (Prompt.of("hi"),)]
        answers = await asyncio.gather(*(provider.send(r, host) for r in requests))
        return [provider.reply(answer.body) for answer in answers]


async def test_another_python_answers_where_one_is_named(tmp_path, other):
    """In a process of its own, with settings, variables and environment."""
    prompt = Prompt((), "hi", vars={"v": 5})
    env = {"MINE": "yes"}
    (reply,) = await asked(tmp_path, "", prompt, pythonExecutable=other, n=1, env=env)
    said = reply.output
    assert said["pid"] != os.getpid()
    assert (said["n"], said["var"], said["env"]) == (1, 5, "yes")
    (reply,) = await asked(tmp_path, "", env={"PROMPTFOO_PYTHON": other})
    assert reply.output["pid"] != os.getpid()


async def test_this_python_answers_in_this_process(tmp_path):
    """Also where it is the one that is named."""
    for config in ({}, {"pythonExecutable": sys.executable}):
        (reply,) = await asked(tmp_path, "", **config)
        assert reply.output["pid"] == os.getpid()


@pytest.mark.parametrize(
    ("beside", "billed"),
    [
        ({}, False),
        ({"cost": 0, "tokenUsage": {"total": 0}}, False),
        ({"cost": 0.01}, None),
        ({"tokenUsage": {"prompt": 20}}, None),
        ({"tokenUsage": {"total": 20}}, None),
    ],
)
@pytest.mark.parametrize("answer", [{"error": "cut off"}, {"output": None}])
async def test_an_answer_without_an_output_that_names_a_price_may_have_been_paid_for(
    tmp_path: Path, answer: dict[str, object], beside: dict[str, object], billed: bool | None
):
    """A budget counts it then, as it does for a vendor's answer that came to nothing."""
    (tmp_path / "m.py").write_text(f"def call_api(p, o, c): return {answer | beside!r}\n")
    provider = create("python:m.py", env={}, base=tmp_path)
    host = CodeHost()
    with host.open(), pytest.raises(BadRequest) as caught:
        await provider.send(provider.request(Prompt.of("x")), host)
    assert caught.value.billed is billed


async def test_what_a_program_leaves_running_ends_and_its_answer_counts(tmp_path: Path):
    """It holds the program's output open: nobody waits for that."""
    (tmp_path / "m.sh").write_text("sleep 300 &\necho $!\n")
    provider = create("exec:sh m.sh", config={"timeout": 60_000}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        reply = provider.reply((await provider.send(provider.request(Prompt.of("x")), host)).body)
    pid = int(reply.text)
    until = time.monotonic() + 30
    while _runs(pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process is there, and not only its remains."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_code_is_told_the_settings_of_a_prompt(tmp_path: Path):
    """Those of a class in JavaScript are made once, and have the provider's alone."""
    (tmp_path / "m.py").write_text("def call_api(p, o, c): return {'output': c['prompt']}\n")
    (tmp_path / "m.js").write_text(
        "module.exports = class { async callApi(p, c) { return {output: c.prompt}; } };\n"
    )
    (tmp_path / "m.sh").write_text('printf %s "$3"\n')
    prompt = Prompt((), "hi 1", {"n": 1}, {"x": 1}, "mine", template="hi {{x}}")
    host = CodeHost()
    with host.open():
        for id_ in ("python:m.py", "file://m.js", "exec:sh m.sh"):
            provider = create(id_, config={"n": 0}, env={}, base=tmp_path)
            reply = provider.reply((await provider.send(provider.request(prompt), host)).body)
            told = json.loads(reply.text)
            shown = {"raw": "hi {{x}}", "label": "mine", "config": {"n": 1}}
            assert told in (shown, {"vars": {"x": 1}, "prompt": shown}), id_


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt": 20, "completion": 10, "total": 99}, (20, 10)),
        ({"prompt": 20, "total": 30}, (20, 10)),
        ({"completion": 10, "total": 30}, (20, 10)),
        ({"prompt": 20, "total": 3}, (20, None)),
        ({"total": 30}, (None, None)),
    ],
)
def test_two_of_the_three_counts_of_tokens_say_the_third(
    counts: dict[str, int], usage: tuple[int | None, int | None]
):
    """A total alone does not say which of them were read and which were written."""
    used = replied({"output": "x", "tokenUsage": counts}, "x").usage
    assert (used.tokens_in, used.tokens_out) == usage


async def test_another_python_imports_the_users_modules_and_none_of_ours(tmp_path, other):
    """Neither `http` and `openai` beside our own provider code, nor a namesake where one stands."""
    for name in ("openai.py", "anthropic.py"):
        (tmp_path / name).write_text("ours = False\n")
    code = (
        "import http.client, urllib.request, sys, json, openai, anthropic\n"
        "def call_api(prompt, options, context):\n"
        "    return json.dumps([openai.ours, anthropic.ours, [p for p in sys.path if 'evenhand' in p]])\n"
    )
    (tmp_path / "own.py").write_text(code)
    provider = create("python:own.py", config={"pythonExecutable": other}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        answer = await provider.send(provider.request(Prompt.of("hi")), host)
    assert provider.reply(answer.body).text == "[false, false, []]"


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_provider_saved_twice_within_a_second_answers_as_it_is_now(
    tmp_path, other, elsewhere, monkeypatch
):
    """Same length, same second: Python's own cache would hold the first."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    config = {"pythonExecutable": other} if elsewhere else {}
    file = tmp_path / "own.py"
    texts: list[str] = []
    for text in ("warm", "cold"):
        file.write_text(f"def call_api(prompt, options, context):\n    return {text!r}\n")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        provider = create("python:own.py", config=config, env={}, base=tmp_path)
        host = CodeHost()
        with host.open():
            answer = await provider.send(provider.request(Prompt.of("hi")), host)
        texts.append(provider.reply(answer.body).text)
    assert texts == ["warm", "cold"]


async def test_this_python_by_another_of_its_names_answers_in_this_process(tmp_path):
    """`bin/python` and `bin/python3` of one environment are one interpreter."""
    folder = Path(sys.executable).parent
    names = [
        path for path in folder.glob("python*") if path.resolve() == Path(sys.executable).resolve()
    ]
    for name in names:
        (reply,) = await asked(tmp_path, "", pythonExecutable=str(name))
        assert reply.output["pid"] == os.getpid(), name


async def test_another_python_gets_variables_in_the_order_they_are_written(tmp_path, other):
    """A prompt built from a dict reads as it does in this process."""
    code = "def call_api(prompt, options, context): return ' '.join(context['vars'])\n"
    (tmp_path / "order.py").write_text(code)
    provider = create("python:order.py", config={"pythonExecutable": other}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        request = provider.request(Prompt((), "hi", vars={"zeta": 1, "alpha": 2}))
        answer = await provider.send(request, host)
    assert provider.reply(answer.body).text == "zeta alpha"


async def test_a_process_stays_and_is_asked_again(tmp_path, other):
    """One worker answers one call at a time, and keeps what it has imported."""
    prompts = [Prompt.of(str(i)) for i in range(4)]
    replies = await asked(tmp_path, "", *prompts, pythonExecutable=other, workers=1)
    assert len({reply.output["pid"] for reply in replies}) == 1
    assert sorted(reply.output["count"] for reply in replies) == [1, 2, 3, 4]
    several = await asked(tmp_path, "", *prompts, pythonExecutable=other, workers=2)
    assert len({reply.output["pid"] for reply in several}) <= 2


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_functions_of_every_kind_answer(tmp_path, other, elsewhere):
    """Async ones, and methods of a class, here and there alike."""
    config = {"pythonExecutable": other} if elsewhere else {}
    assert (await asked(tmp_path, ":later", **config))[0].text == "HI"
    assert (await asked(tmp_path, ":Bot.answer", **config))[0].text == "bot hi"
    prompt = Prompt((), "x", task="embed")
    assert (await asked(tmp_path, "", prompt, **config))[0].output == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (":raises", r"bot\.py:raises: ValueError: no"),
        (":dies", r"the process of bot\.py:dies ended: last words"),
        (":sleeps", r"bot\.py:sleeps took longer than 0\.5 s"),
        (":odd", "not JSON serializable"),
    ],
)
async def test_a_process_that_fails_fails_its_own_call(tmp_path, other, name, says):
    """It is said which function, and what it said last."""
    with pytest.raises(FailedCode, match=says):
        await asked(
            tmp_path, name, pythonExecutable=other, timeout=500 if name == ":sleeps" else None
        )


async def test_after_a_process_has_died_another_answers(tmp_path, other):
    """One bad call is not the end of the run."""
    (tmp_path / "bot.py").write_text(
        "import os\ndef call_api(p, o, c):\n    if p == 'die': os._exit(1)\n    return p\n"
    )
    config = {"pythonExecutable": other, "workers": 1}
    provider = create("python:bot.py", config=config, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        with pytest.raises(BadRequest):
            await provider.send(provider.request(Prompt.of("die")), host)
        answer = await provider.send(provider.request(Prompt.of("live")), host)
    assert provider.reply(answer.body).text == "live"


@pytest.mark.parametrize(
    "body", ["    helper()\n    return p\n", "    x = helper()\n    return p\n"]
)
async def test_a_process_of_its_own_tells_what_is_never_awaited(tmp_path, other, body):
    """As a function in the run's own process does."""
    (tmp_path / "bot.py").write_text(f"async def helper(): pass\ndef call_api(p, o, c):\n{body}")
    provider = create("python:bot.py", config={"pythonExecutable": other}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open(), pytest.raises(BadRequest, match=r"helper\(\) was never awaited"):
        await provider.send(provider.request(Prompt.of("hello")), host)


async def test_workers_bound_what_runs_at_once_in_this_process(tmp_path):
    """A function that is not safe in threads says workers: 1."""
    (tmp_path / "bot.py").write_text(
        "import time\nnow = most = 0\n"
        "def call_api(p, o, c):\n    global now, most\n    now += 1; most = max(most, now)\n"
        "    time.sleep(0.02); now -= 1\n    return {'output': most}\n"
    )
    provider = create("python:bot.py", config={"workers": 1}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        requests = [provider.request(Prompt.of(str(i))) for i in range(4)]
        answers = await asyncio.gather(*(provider.send(r, host) for r in requests))
    assert {provider.reply(a.body).output for a in answers} == {1}


@pytest.mark.parametrize(
    ("id_", "config", "says"),
    [
        ("python:bot.py", {"pythonExecutable": "no-such-python"}, "no-such-python, which is not"),
        ("python:bot.py", {"workers": "many"}, "wants many workers"),
        ("python:bot.py", {"timeout": "soon"}, "timeout is 'soon'"),
        ("file://bot.txt", {}, "neither Python nor JavaScript"),
        ("file://no.js", {}, "no.js does not exist"),
    ],
)
def test_what_cannot_be_run_is_told_at_once(tmp_path, id_, config, says):
    """When the provider is made."""
    (tmp_path / "bot.py").write_text(CODE)
    with pytest.raises(UsageError, match=says):
        create(id_, config=config, env={}, base=tmp_path)


@pytest.mark.parametrize(
    ("id_", "code"),
    [
        ("file://p.js", "module.exports = async (prompt, context) => prompt + context.vars.v"),
        ("file://p.js:named", "module.exports.named = (prompt) => ({ output: prompt + '5' })"),
        (
            "p.mjs",
            """export default class P {
                constructor(o) { this.n = o.config.n }
                id() { return 'p' }
                async callApi(prompt) { return { output: prompt + this.n } }
            }""",
        ),
    ],
)
async def test_a_javascript_file_answers(tmp_path, id_, code):
    """A function, an export by name, or a class that is made with its options."""
    name = id_.removeprefix("file://").partition(":")[0]
    (tmp_path / name).write_text(code)
    provider = create(id_, config={"n": 5}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        request = provider.request(Prompt((), "hi", vars={"v": "5"}))
        reply = provider.reply((await provider.send(request, host)).body)
    assert reply.text == "hi5"
    (tmp_path / name).write_text(code + "\n// changed")
    again = create(id_, config={"n": 5}, env={}, base=tmp_path)
    assert again.request(Prompt.of("hi")).key != provider.request(Prompt.of("hi")).key


EMBEDDER = """
class Embedder {
  constructor(options) { this.n = options.config.n; }
  id() { return "mine"; }
  async callApi(prompt) { return { output: prompt }; }
  async callEmbeddingApi(text) { return { embedding: [text.length, this.n] }; }
  async callClassificationApi(text) { return { classification: { long: text.length / 10 } }; }
}
module.exports = Embedder;
"""


@pytest.mark.parametrize(
    "code",
    [
        EMBEDDER,
        EMBEDDER.replace("module.exports =", "require('node:fs'); module.exports ="),
    ],
    ids=["embedded", "node"],
)
async def test_a_javascript_file_may_embed_and_classify(tmp_path, code):
    """Here and in Node; each is a request of its own."""
    if "node:fs" in code and not found_node():
        pytest.skip("there is no Node")
    (tmp_path / "mine.cjs").write_text(code)
    provider = create("file://mine.cjs", config={"n": 5}, env={}, base=tmp_path)
    assert provider.tasks == {"generate", "embed", "classify"}
    host = CodeHost()
    with host.open():
        prompts = [
            Prompt.of("hi"),
            *(Prompt((), "hi", task=task) for task in ("embed", "classify")),
        ]
        requests = [provider.request(prompt) for prompt in prompts]
        replies = [provider.reply((await provider.send(r, host)).body) for r in requests]
    assert [reply.output for reply in replies] == ["hi", [2.0, 5.0], {"long": 0.2}]
    assert len({request.key for request in requests}) == 3


def test_a_javascript_file_that_only_answers_says_so(tmp_path):
    """It is not asked for embeddings."""
    (tmp_path / "mine.js").write_text("module.exports = (prompt) => prompt")
    provider = create("file://mine.js", config={}, env={}, base=tmp_path)
    assert provider.tasks == {"generate"}


@pytest.mark.parametrize(
    ("code", "id_", "says"),
    [
        ("def call(prompt): return 1", "python:bot.py", "bot.py has no call_api"),
        ("def answr(prompt): return 1", "python:bot.py:answer", "Did you mean 'answr'?"),
        ("def call_api(", "file://bot.py", "bot.py:1 is not Python"),
    ],
)
def test_a_file_without_the_function_is_refused_before_anything_is_asked(
    tmp_path: Path, code: str, id_: str, says: str
) -> None:
    """The file is read, and not run."""
    (tmp_path / "bot.py").write_text(code)
    with pytest.raises(UsageError) as refused:
        create(id_, env={}, base=tmp_path)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "code",
    [
        "from elsewhere import call_api",
        "from elsewhere import *",
        "if True:\n    def call_api(*_): return 1",
        "call_api = lambda *_: 1",
        "globals()['call_api'] = print",
        "def call_embedding_api(*_): return 1",
    ],
)
def test_a_function_that_may_be_there_is_looked_for_when_it_is_called(
    tmp_path: Path, code: str
) -> None:
    """Imports and code can make names that cannot be seen."""
    (tmp_path / "bot.py").write_text(code)
    assert create("python:bot.py", env={}, base=tmp_path).id == "python:bot.py"


LOOP = """
import asyncio
loop = asyncio.new_event_loop()
async def later(prompt):
    await asyncio.sleep(0.01)
    return prompt
def call_api(prompt, options, context): return loop.run_until_complete(later(prompt))
"""
DATABASE = """
import sqlite3
db = sqlite3.connect(":memory:")
def call_api(prompt, options, context): return db.execute("select ?", (prompt,)).fetchone()[0]
"""
SIGNALS = """
import signal
def call_api(prompt, options, context):
    signal.signal(signal.SIGALRM, lambda *_: None)
    return prompt
"""


@pytest.mark.parametrize("code", [LOOP, DATABASE, SIGNALS])
async def test_code_that_works_in_one_thread_only_is_called_in_the_main_thread_of_a_process(
    code: str, tmp_path: Path
):
    """Code that works in one thread only is called in the main thread of a process, one call after the other."""
    (tmp_path / "tied.py").write_text(code)
    provider = create("file://tied.py", env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        requests = [provider.request(Prompt.of(text)) for text in "abcdef"]
        answers = await asyncio.gather(*(provider.send(r, host) for r in requests))
    assert [provider.reply(answer.body).text for answer in answers] == list("abcdef")
