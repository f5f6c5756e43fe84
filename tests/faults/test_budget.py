"""Vendors that bill all that a request allows, or more: `--max-cost` against a meter of their own."""

from __future__ import annotations

import json
import random
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evenhand.testing import FakeProvider

QUIET = ("--no-progress", "--no-table", "--no-cache")
PRICE = 0.0001


class Vendor(ThreadingHTTPServer):
    """A vendor of OpenAI's shape that answers with the longest reply it may, and keeps a meter in US dollars."""

    daemon_threads = True

    def __init__(self, written: Callable[[dict[str, Any]], int], latency_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.written = written
        self.latency_s = latency_s
        self.billed_usd = 0.0
        self.bills: list[float] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Vendor

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.server.latency_s)
        with self.server.lock:
            written = self.server.written(body)
            read = len(json.dumps(body.get("messages") or body.get("input") or "")) // 4
            self.server.bills.append((read + written) * PRICE)
            self.server.billed_usd += (read + written) * PRICE
        judged = '{"reason": "r", "pass": true, "score": 1}'
        answer = {
            "model": body["model"],
            "choices": [{"message": {"content": judged}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": read, "completion_tokens": written},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def vendor() -> Iterator[Callable[..., Vendor]]:
    """Starts vendors that write as many tokens as a function says."""
    running: list[Vendor] = []

    def start(written: Callable[[dict[str, Any]], int], latency_s: float = 0.005) -> Vendor:
        running.append(Vendor(written, latency_s))
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        return running[-1]

    yield start
    for one in running:
        one.shutdown()
        one.server_close()


def allowed(body: dict[str, Any]) -> int:
    """As many tokens as any of the limits allows."""
    limits = [body.get(k) for k in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    return max(n for n in limits if n) * (body.get("n") or 1)


def model(at: Vendor, **config: Any) -> dict[str, Any]:
    """A provider of this vendor's."""
    return {
        "id": "openai:chat:m",
        "config": {"apiBaseUrl": at.url, "apiKey": "k", "cost": PRICE, **config},
    }


@pytest.mark.parametrize(
    "config",
    [
        {"max_completion_tokens": 900},
        {"max_tokens": 5, "max_completion_tokens": 900},
        {"max_tokens": 5, "passthrough": {"max_completion_tokens": 900}},
        {"max_tokens": 5, "passthrough": {"max_output_tokens": 900, "n": 3}},
        {"max_tokens": 900},
    ],
    ids=str,
)
def test_a_vendor_that_writes_all_that_a_request_allows_stays_within_the_budget(
    config: dict[str, Any],
    vendor: Callable[..., Vendor],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """Whichever of the limits in it the vendor goes by."""
    served = vendor(allowed)
    evals = folder(serve())
    evals.write(40, providers=[model(served, **config)])
    ended = evals.run("run", "--max-cost", "0.6", "-j", "8", *QUIET)
    assert ended.returncode == 4, ended.stderr
    assert 0 < served.billed_usd <= 0.6
    assert evals.document()["totals"]["cost_usd"] == pytest.approx(served.billed_usd)


FEES = [
    {"config": {"passthrough": {"web_search_options": {}}}},
    {"config": {"service_tier": "priority"}},
    {"prompt": {"tools": [{"type": "web_search"}]}},
    {"test": {"passthrough": {"search_parameters": {"mode": "on"}}}},
]


@pytest.mark.parametrize("where", FEES, ids=str)
def test_what_costs_more_than_tokens_is_sent_under_a_budget_only_with_its_worst_price(
    where: dict[str, Any],
    vendor: Callable[..., Vendor],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """In a model's config, a prompt's or a test's: refused before anything is sent, or never past the budget."""
    draw = random.Random(7)
    served = vendor(lambda _: draw.randrange(1, 400))  # at most 0.04 dollars a call
    evals = folder(serve())

    def write(**config: Any) -> None:
        # The price of tokens is that of the model's own tier: it says nothing of another one, or of a search.
        named = {
            **model(served, max_tokens=5, **{"cost": None, **config}),
            "id": "openai:chat:gpt-4o-mini",
        }
        named["config"].update(where.get("config", {}))
        prompt = {"raw": "Say {{x}}", "label": "p", "config": where.get("prompt", {})}
        options = where.get("test", {})
        tests = [{"vars": {"x": f"w{i}"}, "options": options} for i in range(60)]
        text = {"prompts": [prompt], "providers": [named], "tests": tests}
        (evals.path / "promptfooconfig.yaml").write_text(json.dumps(text))

    write()
    refused = evals.run("run", "--max-cost", "0.5", "-j", "8", *QUIET)
    assert refused.returncode in (2, 4), refused.stderr
    assert served.bills == []
    write(maxCost=0.05)
    ended = evals.run("run", "--max-cost", "0.5", "-j", "8", *QUIET)
    assert ended.returncode == 4, ended.stderr
    assert 0 < served.billed_usd <= 0.5
    assert evals.document()["totals"]["cost_usd"] is None


def test_hidden_reasoning_passes_the_budget_by_no_more_than_could_not_be_known(
    vendor: Callable[..., Vendor],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """A vendor that bills 1,500 tokens on top of each reply: later calls reckon with it, and it is said."""
    served = vendor(lambda body: allowed(body) + 1500)
    evals = folder(serve())
    evals.write(60, providers=[model(served, max_tokens=100)])
    ended = evals.run("run", "--max-cost", "1", "-j", "8", *QUIET)
    assert ended.returncode == 4, ended.stderr
    assert served.billed_usd <= 1.0
    assert "it bills more than the limit on its reply allows" in ended.stderr
    resumed = evals.run("resume", "--max-cost", "2", "-j", "8", "--no-progress", "--no-table")
    assert resumed.returncode == 4, resumed.stderr
    assert served.billed_usd <= 2.0


def test_honest_prices_are_never_passed(
    vendor: Callable[..., Vendor],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """Random limits, budgets, judges and numbers in flight, run and resumed; the seed is printed."""
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 (to run it again)
    rng = random.Random(seed)
    for number in range(5):
        served = vendor(lambda body: rng.randint(0, allowed(body)), latency_s=0.001)
        evals = folder(serve(), f"evals{number}")
        judge = model(served, max_tokens=rng.choice((20, 200)))
        question = {"type": "llm-rubric", "value": "good", "provider": judge}
        key = rng.choice(("max_tokens", "max_completion_tokens"))
        evals.write(
            25,
            providers=[model(served, **{key: rng.choice((30, 300))})],
            defaultTest={"assert": [question] if rng.random() < 0.7 else []},
        )
        limit = rng.choice((0.05, 0.2, 0.8))
        wanted = str(rng.choice((1, 4, 16)))
        ended = evals.run("run", "--max-cost", str(limit), "-j", wanted, *QUIET)
        assert ended.returncode in (1, 4, 3), ended.stderr
        assert served.billed_usd <= limit + 1e-9, (number, limit, wanted)
        if ended.returncode == 4:
            more = limit * 1.5
            evals.run("resume", "--max-cost", str(more), "-j", wanted, "--no-progress")
            assert served.billed_usd <= more + 1e-9, (number, limit, wanted)


@pytest.mark.parametrize("hidden", [0, 400])
def test_an_applications_own_calls_stay_within_the_budget(
    hidden: int,
    vendor: Callable[..., Vendor],
    serve: Callable[..., FakeProvider],
    folder: Callable[..., Any],
) -> None:
    """By the SDK of the vendor, sixteen at once, with two limits in one body; also with hidden reasoning."""
    served = vendor(lambda body: allowed(body) + hidden)
    evals = folder(serve())
    (evals.path / "own_evals.py").write_text(
        textwrap.dedent(f"""\
        from evenhand import EvalSet
        from evenhand.doors import recording
        from openai import OpenAI

        evals = EvalSet("own", data=[{{"id": str(i)}} for i in range(60)])
        client = OpenAI(
            base_url={served.url!r},
            api_key="k",
            http_client=recording.http_client(prices={{"m": (100, 100)}}),
        )


        @evals.eval
        def asks(case, expect):
            said = client.chat.completions.create(
                model="m",
                messages=[{{"role": "user", "content": case.id}}],
                max_tokens=5,
                max_completion_tokens=100,
            )
            expect(bool(said.choices), "answers")
        """)
    )
    ended = evals.run("run", "own_evals.py", "--max-cost", "0.5", "-j", "16", *QUIET)
    assert ended.returncode == 4, ended.stderr
    assert 0.3 < served.billed_usd <= 0.5
