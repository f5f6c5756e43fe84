"""A cassette: the same run gives the same bytes, without secrets; a damaged or old one is refused; and it replays."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.encoding import digest_of, encode
from evenhand.core.errors import BadRequest, UsageError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Message, Prompt
from evenhand.core.plan import Plan
from evenhand.core.run import TrialResult
from evenhand.core.score import check
from evenhand.core.scrubbing import scrubbed, scrubbed_text
from evenhand.core.variant import Variant
from evenhand.doors.recording import tool
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.cassette import CassetteSource, read_cassette
from evenhand.store.cassette_writing import cassette_of, write_cassette
from evenhand.store.recordings import Recordings
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example, example_of


class Is:
    """An expectation that always holds."""

    def score(self, output: Any, trial: Trial):
        del trial
        return check(True, str(output)[:20])


@tool
def look_up(order: str, api_key: str = "") -> dict[str, Any]:
    """A tool that repeats what it is given."""
    return {"order": order, "note": f"asked with {api_key}"}


def agent(model: Scripted, turns: int = 2):
    """A body that asks, calls a tool, and asks again with all that was said."""

    async def body(trial: Trial) -> object:
        messages = [Message("user", str(trial.case.input))]
        said = ""
        for _ in range(turns):
            prompt = Prompt(tuple(messages), "\n".join(str(m.content) for m in messages))
            said = (await trial.model(model, "subject").generate(prompt)).text
            found = look_up(said, api_key=str(trial.case.vars.get("key", "")))
            messages += [Message("assistant", said), Message("user", json.dumps(found))]
        trial.expect(Expectation(said, Is()))
        return said

    return body


def plan_of(model: Scripted, inputs: Sequence[str], **more: Any) -> Plan:
    """An agent's plan over these inputs."""
    cases = [Case(f"case-{i}", input=text) for i, text in enumerate(inputs)]
    return example_of(agent(model), cases, providers=(model,), **more)


async def ran(plan: Plan, home: Path) -> Path:
    """Runs a plan, and says which file it wrote."""
    return (await door.settle(plan, Settings(home=home, cache=False))).path


async def replayed(plan: Plan, home: Path, cassette: Path) -> list[TrialResult]:
    """The results of a run that replays a cassette."""
    with closing(Recordings(CassetteSource.read(cassette))) as recordings:
        settings = Settings(home=home, replay=recordings)
        path = (await door.settle(plan, settings)).path
    with RunFile.open(path) as run:
        return list(run.trials())


def written(run: Path, to: Path, **more: Any) -> Path:
    """The cassette of a run."""
    with RunFile.open(run) as opened:
        write_cassette(cassette_of(opened, **more)[0], to)
    return to


def outputs(results: Sequence[TrialResult]) -> list[tuple[str, Any]]:
    """What trials came to."""
    return [(result.outcome, result.output) for result in results]


async def test_a_cassette_replays_as_its_run_does_and_has_the_same_bytes_each_time(tmp_path: Path):
    """An agent with a tool, repeats and an error; sorted by case, with a text that many requests share only once."""
    system = "You are a shop assistant. " * 20
    said = iter(range(1000))
    model = Scripted(lambda _: f"answer {next(said)}", deterministic=False, cost_usd=0.25)
    plan = plan_of(model, [f"{system} {i}" for i in (3, 1, 2)], repeats=2)
    run = await ran(plan, tmp_path)
    one, two = written(run, tmp_path / "a.cassette"), written(run, tmp_path / "b.cassette")
    assert one.read_bytes() == two.read_bytes()
    with RunFile.open(run) as opened:
        wanted = outputs(list(opened.trials()))
        wrong_order = [call.start.identity for call in opened.calls()]
    assert outputs(await replayed(plan, tmp_path, one)) == wanted
    assert len(model.asked) == 12
    assert len(one.read_bytes()) < 2 * sum(map(len, wrong_order))
    rows = [json.loads(line) for line in one.read_text().splitlines()]
    calls = [row for row in rows if row.get("kind") == "call"]
    assert [row["case"] for row in calls] == sorted(row["case"] for row in calls)
    assert rows[0]["tools"] == len([row for row in rows if row.get("kind") == "tool"]) == 12
    texts = [row["text"] for row in rows if row.get("kind") == "part"]
    assert len(texts) == 3  # each case's first message is in its four requests
    assert one.read_text().count(system) == 3


async def test_a_part_of_the_variants_can_be_written_and_errors_are_kept(tmp_path: Path):
    """Each variant is found by what it is, and a recorded refusal is one again."""
    model = Scripted({"bad": BadRequest("refused: too long"), "": "fine"})
    variants = [Variant(0, "a", "m"), Variant(1, "b", "m")]
    plan = plan_of(model, ["good", "bad"], variants=variants)
    run = await ran(plan, tmp_path)
    cassette = written(run, tmp_path / "b.cassette", variants=frozenset({1}))
    only = plan_of(model, ["good", "bad"], variants=[Variant(0, "b", "m")])
    results = await replayed(only, tmp_path, cassette)
    assert [r.error.slug if r.error else "" for r in results] == ["", "bad-request"]
    assert {row.name for row in read_cassette(cassette)[0].variants} == {"b · m"}


def damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Ways in which a file is spoilt."""
    lines = data.splitlines(keepends=True)
    yield "was cut off, merged or edited", b"".join(lines[:-1])
    yield "was cut off, merged or edited", data.replace(b"answer", b"anwser", 1)
    yield "there is an open merge conflict", b"".join([*lines[:2], b"<<<<<<< HEAD\n", *lines[2:]])
    yield "is not a cassette", b"".join(lines[:1]) + data[len(lines[0]) : len(lines[0]) + 40]
    yield "its schema is", data.replace(b"evenhand.cassette/1", b"evenhand.cassette/9", 1)
    yield "is empty", b"\n\n"
    yield "is not a cassette", b'{"schema": "evenhand.cassette/1"}\n'
    yield "is not a cassette", b"[1, 2]\n"


async def test_a_damaged_cassette_is_refused_in_words(tmp_path: Path):
    """Cut off, edited, in a merge conflict, or something else: never half of it is replayed."""
    model = Scripted(["answer"])
    file = written(await ran(plan_of(model, ["a"]), tmp_path), tmp_path / "a.cassette")
    for what, data in damages(file.read_bytes()):
        broken = tmp_path / "broken.cassette"
        broken.write_bytes(data)
        with pytest.raises(UsageError, match=what):
            CassetteSource.read(broken)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    with pytest.raises(UsageError, match="is not a cassette: it was not written over"):
        write_cassette(file.read_bytes(), other)
    assert other.read_text() == "mine"


async def test_a_cassette_that_is_too_old_is_refused_with_both_ages(tmp_path: Path):
    """By the age that it has in itself, or that somebody gives; who gives a larger one may replay it."""
    model = Scripted(["answer"])
    file = written(
        await ran(plan_of(model, ["a"]), tmp_path), tmp_path / "a.cassette", max_age_s=30 * 86_400
    )
    CassetteSource.read(file)
    lines = file.read_text().splitlines()
    header = json.loads(lines[0]) | {"recorded_at": int(time.time()) - 45 * 86_400 - 60}
    file.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    with pytest.raises(UsageError, match="was recorded 45 days ago, and may be 30 days old\n"):
        CassetteSource.read(file)
    with pytest.raises(UsageError, match="may be 1 day old, as --max-age says"):
        CassetteSource.read(file, 86_400)
    CassetteSource.read(file, 50 * 86_400)


async def test_a_cassette_of_the_future_is_not_young(tmp_path: Path):
    """Whoever recorded it had a wrong clock, or whoever reads it has: its age isn't known."""
    file = written(
        await ran(plan_of(Scripted(["answer"]), ["a"]), tmp_path), tmp_path / "a.cassette"
    )
    lines = file.read_text().splitlines()
    for days, is_young in ((0.9, True), (400, False)):
        header = json.loads(lines[0]) | {"recorded_at": int(time.time() + days * 86_400)}
        file.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
        CassetteSource.read(file)
        with nullcontext() if is_young else pytest.raises(UsageError, match="in the future by the"):
            CassetteSource.read(file, 86_400)


def drawn(draw: random.Random, length: int, letters: str = string.ascii_letters + string.digits):
    """A drawn text that has a letter and a digit."""
    return "a7" + "".join(draw.choices(letters, k=length - 2))


def planted(draw: random.Random) -> list[tuple[str, str]]:
    """200 secrets, each with a text that has it."""
    hexa = string.digits + "abcdef"
    makers: list[Callable[[], tuple[str, str]]] = [
        lambda: ((key := f"sk-{drawn(draw, 32)}"), f"use {key} for it"),
        lambda: ((key := f"sk-ant-api03-{drawn(draw, 40)}"), f"key={key}"),
        lambda: ((key := f"AKIA{drawn(draw, 16).upper()}"), f"id {key}"),
        lambda: ((key := drawn(draw, 40)), f"aws_secret_access_key = {key}"),
        lambda: ((key := f"ghp_{drawn(draw, 36)}"), f"git clone with {key}."),
        lambda: ((key := f"xoxb-{drawn(draw, 24)}"), f"slack: {key}"),
        lambda: ((key := f"AIza{drawn(draw, 35)}"), f"maps {key}"),
        lambda: ((key := f"glpat-{drawn(draw, 20)}"), f"gitlab {key}"),
        lambda: ((key := f"eyJ{drawn(draw, 20)}.{drawn(draw, 30)}.{drawn(draw, 20)}"), f"jwt {key}"),
        lambda: ((key := drawn(draw, 24)), f"Authorization: Bearer {key}"),
        lambda: ((key := base64.b64encode(drawn(draw, 18).encode()).decode()), f"Authorization: Basic {key}"),
        lambda: ((key := drawn(draw, 12)), f"postgres://shop:{key}@db.example.com/orders"),
        lambda: ((key := drawn(draw, 20)), f"https://api.example.com/v1?api_key={key}&q=1"),
        lambda: ((key := drawn(draw, 9)), f"my password is {key}, don't tell"),
        lambda: ((key := f"{drawn(draw, 8)}!"), f'{{"password": "{key}"}}'),
        lambda: ((key := drawn(draw, 30)), f'{{"client": {{"apiKey": "{key}", "id": 3}}}}'),
        lambda: ((key := drawn(draw, 26)), f"Set-Cookie: session_id={key}; Path=/"),
        lambda: ((key := drawn(draw, 64)), f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----"),
        lambda: ((key := f"SK{drawn(draw, 32, hexa)}"), f"twilio {key}"),
        lambda: ((key := f"npm_{drawn(draw, 36)}"), f"//npm.example.com/:_authToken={key}"),
    ]  # fmt: skip
    return [makers[i % len(makers)]() for i in range(200)]


async def test_none_of_two_hundred_planted_secrets_is_in_a_cassette_and_it_still_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In prompts, answers, tools' arguments and results, and errors; what is made of an answer is found, too."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 (to run it again)
    draw = random.Random(seed)
    secrets = planted(draw)
    own = drawn(draw, 20)
    monkeypatch.setenv("SHOP_TOKEN", own)
    prompts, answers = secrets[:100], dict(enumerate(text for _, text in secrets[100:]))

    def answer(prompt: Prompt) -> str | Exception:
        number = int(prompt.messages[0].content.split()[1])  # pyright: ignore[reportAttributeAccessIssue]
        text = f"answer: {answers[number]} {own}"
        return BadRequest(text) if number == 99 else text

    model = Scripted(answer)  # pyright: ignore[reportArgumentType] (an error is raised)
    plan = plan_of(model, [f"case {i} {text} {own}" for i, (_, text) in enumerate(prompts)])
    run = await ran(plan, tmp_path)
    file = written(run, tmp_path / "a.cassette")
    text = file.read_text()
    left = [secret for secret, _ in secrets if secret in text]
    assert left == []
    assert own not in text
    assert read_cassette(file)[0].hidden >= 200
    asked = len(model.asked)
    results = await replayed(plan, tmp_path, file)
    assert [r.error for r in results[:99]] == [None] * 99
    assert len(model.asked) == asked


@tool
def sign_in(user: str, password: str) -> str:
    """A tool that is given a secret, and does not repeat it."""
    return f"{user} is in" if password else "no"


async def test_a_call_of_a_tool_with_a_password_is_found_although_the_cassette_hides_it(
    tmp_path: Path,
):
    """The application has its password still, and what a model said has none any more."""
    password, model = "x9!kfjwq", Scripted(("ann, sk-of-nobody-9f8e7d6c5b4a",))

    async def body(trial: Trial) -> object:
        user = (await trial.model(model, "subject").generate("Who?")).text
        said = sign_in(user, password=password)
        trial.expect(Expectation(said, Is()))
        return said

    plan = example(1, body, providers=(model,))
    file = written(await ran(plan, tmp_path), tmp_path / "a.cassette")
    assert password not in file.read_text()
    (result,) = await replayed(plan, tmp_path, file)
    assert (result.error, result.output) == (None, "ann, [redacted] is in")


@tool
def open_door(name: str, api_key: str) -> str:
    """A tool that repeats the secret that it is given."""
    return f"{name} was let in with {api_key}"


async def test_a_secret_that_a_tools_result_repeats_is_hidden_there_too(tmp_path: Path):
    """Its name is at the argument only, and by its looks it could be anything."""
    code, model = "Kd7_velvet-Xq", Scripted(("ann",))

    async def body(trial: Trial) -> object:
        user = (await trial.model(model, "subject").generate(f"Who? Not {code}")).text
        said = open_door(user, api_key=code)
        trial.expect(Expectation(said, Is()))
        return said

    plan = example(1, body, providers=(model,))
    file = written(await ran(plan, tmp_path), tmp_path / "a.cassette")
    assert code not in file.read_text()
    (result,) = await replayed(plan, tmp_path, file)
    assert (result.error, result.output) == (None, "ann was let in with [redacted]")


def test_what_is_no_secret_stays():
    """Words after such names, numbers of tokens, tokens of a text, and what was hidden before."""
    kept = [
        "The token is expired, and your password is wrong.",
        "max_tokens: 512, prompt_tokens=1024",
        '{"logprobs": [{"token": "Hello", "logprob": -0.5}], "usage": {"total_tokens": 40}}',
        "authors: Smith and others; passwordless; a secret: strawberry",
        "password: [redacted] and Authorization: [redacted]",
        "order 2024-11-23 was sent by parcel 00340434161094021501",
    ]
    for text in kept:
        assert scrubbed_text(text) == text
    once = scrubbed({"a": ["password=hunter2x"], "token": "k3y-of-mine-9f8e7d"})
    assert once == {"a": ["password=[redacted]"], "token": "[redacted]"}
    assert scrubbed(once) == once


async def test_a_run_that_asked_nothing_makes_no_cassette(tmp_path: Path):
    """There is nothing to replay, and that is said."""

    async def body(trial: Trial) -> object:
        trial.expect(Expectation("x", Is()))
        return "x"

    run = await ran(example_of(body, [Case("a")]), tmp_path)
    with RunFile.open(run) as opened, pytest.raises(UsageError, match="asked nothing"):
        cassette_of(opened)


async def test_what_is_no_json_is_kept_as_it_is(tmp_path: Path):
    """Streams as text, and bytes that are no text in base64."""
    model = Scripted(["answer"])
    bodies = [b'data: {"a": 1}\n\ndata: [DONE]\n\n', b"\xff\xfe\x00", b'{"a":[1.5,"\\u00e9"]}']
    run = await ran(plan_of(model, ["a"]), tmp_path)
    with RunFile.open(run) as opened:
        calls = list(opened.calls())
        for body in bodies:
            assert calls[0].end is not None
            call = replace(calls[0], end=replace(calls[0].end, body=body))
            opened.calls = lambda call=call: iter([call])  # pyright: ignore[reportAttributeAccessIssue]
            data, header = cassette_of(opened)
            file = tmp_path / "c.cassette"
            file.write_bytes(data)
            source = CassetteSource.read(file)
            record = source.call(0)
            assert record is not None
            assert record.end is not None
            assert (
                json.loads(record.end.body) == {"a": [1.5, "é"]}
                if b"[1.5" in body
                else record.end.body == body
            )
            assert header.digest == digest_of(
                encode(json.loads(line)) for line in data.splitlines()[1:]
            )


@pytest.mark.parametrize("at", [-1, 253_402_300_800, 10**18, 10**30])
def test_a_cassette_of_no_time_is_refused_by_name(at: int, tmp_path: Path) -> None:
    """Such a moment has no date to tell."""
    path = tmp_path / "c.cassette"
    head = {
        "schema": "evenhand.cassette/1", "title": "", "run": "", "recorded_at": at, "evenhand": "", "calls": 0,
        "variants": [], "tools": 0, "hidden": 0,
        "digest": digest_of([]),
    }  # fmt: skip
    path.write_text(json.dumps(head) + "\n")
    with pytest.raises(
        UsageError, match=r"c\.cassette is not a cassette: `recorded_at` is no time"
    ):
        read_cassette(path)
