"""kill -9 while an application asks with its own clients: what it had read to its end is not paid for again."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider

KILLS = int(os.environ.get("KILLS", "2"))
CALLS = 100
APP = """
import asyncio

from openai import AsyncOpenAI, OpenAI

from evenhand import EvalSet
from evenhand.doors import recording
from evenhand.scorers import Contains

PRICES = {"m": (1.0, 2.0)}
plain = OpenAI(http_client=recording.http_client(prices=PRICES))
client = AsyncOpenAI(http_client=recording.async_http_client(prices=PRICES))
evals = EvalSet("app", data=[{"id": f"c{i}"} for i in range(20)])


def asked(text, **more):
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}], **more}


async def streamed(text):
    stream = await client.chat.completions.create(**asked(text, stream=True))
    return "".join([c.choices[0].delta.content or "" async for c in stream])


@evals.eval
def in_order(case, expect):
    first = plain.chat.completions.create(**asked(case.id)).choices[0].message.content
    stream = plain.chat.completions.create(**asked(f"then {case.id}", stream=True))
    expect(first, Contains("ref"))
    expect("".join(c.choices[0].delta.content or "" for c in stream), Contains("ref"))


@evals.eval
async def at_once(case, expect):
    texts = await asyncio.gather(*map(streamed, ["the same", "the same", case.id]))
    for text in texts:
        expect(text, Contains("ref"))
    return texts
"""


@pytest.mark.timeout(900)
def test_a_killed_run_of_an_application_pays_for_no_answer_twice(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Kills at random instants, then a resume: the results are the same, and only what was in doubt is asked again."""
    fake = serve(latency_ms=5)
    evals = folder(fake, "project")
    (evals.path / "evals").mkdir()
    (evals.path / "evals" / "app_evals.py").write_text(APP)
    start = ("run", "--no-progress", "--no-table", "-j", "8", "--no-cache")
    begun = time.monotonic()
    done = evals.run(*start)
    lasting = time.monotonic() - begun
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = settled(evals.document())
    price = Counter(fake.ledger.counts)
    assert (len(wanted), price.total()) == (40, CALLS)

    draw = random.Random("own calls")
    killed = 0
    while killed < KILLS:
        shutil.rmtree(evals.home)
        fake.ledger.clear()
        process = evals.start(*start)
        until(lambda: fake.ledger.total >= 1)
        time.sleep(draw.uniform(0, lasting / 3))
        if process.poll() is not None:  # over before the kill
            continue
        process.kill()
        process.wait()
        killed += 1
        doubted = own_doubts(evals)
        resumed = evals.run("resume", "--no-progress", "--no-table")
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        assert settled(evals.document()) == wanted
        again = Counter(fake.ledger.counts) - price
        assert again - doubted == Counter()


def own_doubts(evals: Folder) -> Counter[str]:
    """The calls that the kill left in doubt."""
    (path,) = (evals.home / "runs").glob("*.db")
    with RunFile.open(path):
        return evals.doubted()
