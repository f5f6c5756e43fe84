"""A run file that was damaged, at random places: refused in words by whatever reads it, or read; never a traceback."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable

import pytest
from tests.faults.conftest import Folder

from evenhand.testing import FakeProvider, Rule, Script

DAMAGES = int(os.environ.get("DAMAGES", "5"))
QUIET = ("--no-progress", "--no-table")
PAGE = 4096
VERBS = (
    ("resume", *QUIET),
    ("retry", *QUIET, "--no-cache"),
    ("show", "--json"),
    ("show", "1"),
    ("runs", "list"),
    ("export", "--to", "out.csv"),
    ("export", "--to", "out.html"),
)


def damaged(data: bytes, draw: random.Random) -> bytes:
    """The file with some bits turned, a page overwritten, a piece cut out, or without its end."""
    harmed = bytearray(data)
    pages = len(harmed) // PAGE
    kind = draw.choice(["bits", "bytes", "page", "swap", "cut", "zeros"])
    if kind == "bits":
        for _ in range(draw.randint(1, 40)):
            harmed[draw.randrange(len(harmed))] ^= 1 << draw.randrange(8)
    elif kind == "bytes":
        place = draw.randrange(len(harmed) - 64)
        harmed[place : place + 64] = draw.randbytes(64)
    elif kind == "page":
        page = draw.randrange(1, pages)
        harmed[page * PAGE : page * PAGE + PAGE] = draw.randbytes(PAGE)
    elif kind == "swap":
        one, two = (draw.randrange(1, pages) * PAGE for _ in range(2))
        harmed[one : one + PAGE], harmed[two : two + PAGE] = (
            harmed[two : two + PAGE],
            harmed[one : one + PAGE],
        )
    elif kind == "cut":
        del harmed[draw.randrange(1, len(harmed)) :]
    else:
        page = draw.randrange(1, pages)
        harmed[page * PAGE : page * PAGE + PAGE] = bytes(PAGE)
    return bytes(harmed)


@pytest.mark.timeout(1200)
def test_a_damaged_run_file_is_refused_in_words_and_never_with_a_traceback(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Conversations, comparisons, judges and errors: each reader of each damaged file ends as it may end."""
    judge = Rule(model="judge", reply={"reason": "so", "pass": True, "score": 1})
    fake = serve(Script([judge]))
    evals = folder(fake)
    model = {"id": "openai:chat:m", "config": {"cost": 0.0001, "max_tokens": 50}}
    asked = {"provider": {**model, "id": "openai:chat:judge"}, "value": "is a reply"}
    tests = [
        {
            "vars": {"n": f"number {i}"},
            "metadata": {"conversationId": f"c{i % 3}"},
            "assert": [
                {"type": "llm-rubric", **asked},
                {"type": "python", "value": "1 / 0" if i % 7 == 3 else "True"},
            ],
        }
        for i in range(40)
    ]
    prompt = "{% for turn in _conversation %}{{turn.output}} {% endfor %}Say {{n}}"
    other = {**model, "id": "openai:chat:m2"}
    evals.write(0, prompts=[prompt], providers=[model, other], tests=tests)
    assert evals.run("run", *QUIET, "--no-cache").returncode == 3
    (path,) = (evals.home / "runs").glob("*.db")
    whole = path.read_bytes()
    seed = os.environ.get("DAMAGE_SEED", "damage")
    draw = random.Random(seed)
    for number in range(DAMAGES):
        shutil.rmtree(evals.home)
        path.parent.mkdir(parents=True)
        harmed = damaged(whole, draw)
        for verb in VERBS:
            path.write_bytes(harmed)
            ended = evals.run(*verb)  # looks for tracebacks
            what = f"seed {seed!r}, damage {number}, {' '.join(verb)}: {ended.stderr}"
            assert ended.returncode in (0, 1, 2, 3), what
            if verb[0] != "show" and ended.returncode == 3:
                assert ended.stderr or ended.stdout, what
