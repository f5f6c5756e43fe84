"""One comment on a pull request, whatever happens: pushes, two jobs at once, limits, strangers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from tests.unit.wings.code_hosts.fake_hosts import (
    BROKEN,
    LIMITED,
    READ_ONLY,
    FakeHost,
    exhausted,
    serving,
    stormy,
)

from evenhand.core.errors import AuthError, ProviderError, RateLimited
from evenhand.providers.http import close
from evenhand.providers.rest import Api
from evenhand.wings.code_hosts.comments import Comment, Kept, Thread, keep_one, marked
from evenhand.wings.code_hosts.github import GitHubThread
from evenhand.wings.code_hosts.gitlab import GitLabThread

KEY = "evals/baseline.evn"


async def fast(seconds: float) -> None:
    """A hundred times as fast as time."""
    await asyncio.sleep(seconds / 100)


def thread_of(host: FakeHost, sleep: Callable[[float], Awaitable[None]] = fast) -> Thread:
    """The pull request's comments, as a job sees them."""
    if host.gitlab:
        return GitLabThread(Api(host.root, {"PRIVATE-TOKEN": "token"}, 600, sleep), "7", 12)
    headers = {"Authorization": "Bearer token"}
    return GitHubThread(Api(host.root, headers, 600, sleep), "o/r", 12)


async def job(host: FakeHost, run: int, text: str = "", key: str = KEY) -> Kept:
    """One job that comments."""
    return await keep_one(thread_of(host), key, (run, 1), text or f"push {run}", fast)


@pytest.fixture(autouse=True)
async def closed():
    """Connections are closed at the end."""
    yield
    await close()


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("gitlab", [False, True], ids=["github", "gitlab"])
@pytest.mark.parametrize("seed", range(2))
async def test_ten_pushes_leave_one_comment_with_the_newest_text(gitlab: bool, seed: int):
    """Between 250 comments of others, two jobs at a time, one request in eight failing in some way."""
    before, after = stormy(seed, 0.1)
    user = "evenhand-bot" if gitlab or seed % 2 else None
    draw = random.Random(seed)
    host = FakeHost(gitlab, before=before, after=after, user=user, slow=lambda: draw.random() / 300)
    for i in range(250):
        host.add(f"comment {i}", "ann")
    stranger = host.add(marked(KEY, (10**15, 1), "all is well"), "mallory")
    quote = host.add("> " + marked(KEY, (1, 1), "quoted"), user or "github-actions[bot]", bot=True)
    with serving(host):
        for push in range(1, 11, 2):
            await asyncio.gather(job(host, push + 1), job(host, push))
    assert host.ours() == [marked(KEY, (10, 1), "push 10")], f"seed {seed}"
    assert len(host.comments) == 253
    assert stranger["body"].endswith("all is well")
    assert quote["body"].startswith("> ")
    assert any("page=3" in path for _, path in host.asked)


async def test_two_jobs_that_both_created_one_leave_the_first_with_the_newer_text():
    """Whichever of them looks again."""
    for runs in ((1, 2), (2, 1)):
        host = FakeHost()
        host.add(marked(KEY, (runs[0], 1), f"push {runs[0]}"), "github-actions[bot]", bot=True)
        host.add(marked(KEY, (runs[1], 1), f"push {runs[1]}"), "github-actions[bot]", bot=True)
        with serving(host):
            await job(host, 1)
        assert [c["id"] for c in host.comments] == [1001]
        assert host.ours() == [marked(KEY, (2, 1), "push 2")]


async def test_an_older_run_leaves_what_a_newer_one_wrote():
    """A job that was slow, or that somebody started again."""
    host = FakeHost()
    with serving(host):
        assert (await job(host, 9)).done == "created"
        assert (await job(host, 7)).done == "left"
        assert (await job(host, 9)).done == "left"
        asked = len(host.asked)
        assert (await job(host, 9, "once more")).done == "updated"
        assert len(host.asked) - asked <= 6
    assert host.ours() == [marked(KEY, (9, 1), "once more")]


async def test_a_list_that_is_older_than_the_comment_leads_to_no_older_text():
    """Another job has written meanwhile what a newer run says."""
    then, now = (marked(KEY, (run, 1), f"push {run}") for run in (7, 9))

    class Behind:
        """A pull request whose list of comments is behind."""

        def __init__(self) -> None:
            self.body = now
            self.lists = iter([then, now])

        async def ours(self) -> list[Comment]:
            return [Comment(1, next(self.lists))]

        async def read(self, number: int) -> Comment:
            return Comment(number, self.body)

        async def create(self, body: str) -> Comment:
            raise AssertionError(body)

        async def update(self, number: int, body: str) -> Comment:
            self.body = body
            return Comment(number, body)

        async def delete(self, number: int) -> None:
            raise AssertionError(number)

    thread = Behind()
    kept = await keep_one(thread, KEY, (8, 1), "push 8", fast)
    assert (kept.done, thread.body) == ("left", now)


async def test_a_comment_that_the_list_does_not_have_yet_is_not_written_again():
    """A host's list may come from a copy that is behind, or be of another author than the token's."""

    class Behind(GitHubThread):
        async def ours(self) -> list[Comment]:
            return []

    host = FakeHost()
    with serving(host):
        api = Api(host.root, {"Authorization": "Bearer token"}, 600, fast)
        kept = await keep_one(Behind(api, "o/r", 12), KEY, (1, 1), "push 1", fast)
    assert kept.done == "created"
    assert host.ours() == [marked(KEY, (1, 1), "push 1")]


async def test_a_host_that_shows_none_of_the_comments_gets_few_of_them():
    """A proxy that empties answers, say: it got thirty."""

    class Mute(GitHubThread):
        async def ours(self) -> list[Comment]:
            return []

        async def read(self, number: int) -> Comment:
            return Comment(number, "")

    host = FakeHost()
    with serving(host):
        api = Api(host.root, {"Authorization": "Bearer token"}, 600, fast)
        with pytest.raises(ProviderError, match="3 comments were created, and the host shows none"):
            await keep_one(Mute(api, "o/r", 12), KEY, (1, 1), "push 1", fast)
    assert len(host.comments) == 3


async def test_two_gates_have_a_comment_each():
    """By their keys."""
    host = FakeHost(user="me")
    with serving(host):
        for run in (1, 2):
            await job(host, run, key="a")
            await job(host, run, key="b")
    assert host.ours() == [marked("a", (2, 1), "push 2"), marked("b", (2, 1), "push 2")]


async def test_where_no_run_is_known_the_text_is_the_newest():
    """Somebody's own machine."""
    host = FakeHost(user="me")
    with serving(host):
        await job(host, 5)
        await keep_one(thread_of(host), KEY, (0, 0), "by hand", fast)
        await keep_one(thread_of(host), KEY, (0, 0), "by hand again", fast)
        await job(host, 6)
    assert host.ours() == [marked(KEY, (6, 1), "push 6")]


async def test_a_comment_whose_answer_was_lost_is_not_written_twice():
    """The host did it, and answered with a 502."""
    lost = iter([BROKEN, BROKEN])
    host = FakeHost(after=lambda method, _: next(lost, None) if method == "POST" else None)
    with serving(host):
        await job(host, 1)
    assert len(host.ours()) == 1
    assert [method for method, _ in host.asked].count("POST") == 1


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("fault", [LIMITED, exhausted()], ids=["retry-after", "reset"])
async def test_a_rate_limit_is_waited_for_but_not_for_ever(fault):
    """As long as it says, until it would be too long."""
    waited: list[float] = []

    async def note(seconds: float) -> None:
        waited.append(seconds)

    limits = iter([fault] * 2)
    host = FakeHost(before=lambda *_: next(limits, None))
    with serving(host):
        api = Api(host.root, {"Authorization": "Bearer token"}, 60, note)
        await api.ask("GET", "/repos/o/r/pulls")
        assert len(waited) == 2
        assert all(1 <= each <= 3 for each in waited)
        host.before = lambda *_: fault
        with pytest.raises(RateLimited, match="rate limit"):
            await api.ask("GET", "/repos/o/r/pulls")
    assert sum(waited) <= 60


async def test_a_token_that_may_only_read_or_is_wrong_is_said_so():
    """And nothing is tried again."""
    host = FakeHost(before=lambda method, _: READ_ONLY if method == "POST" else None)
    with serving(host):
        with pytest.raises(AuthError) as forbidden:
            await job(host, 1)
        assert forbidden.value.status == 403
        assert [method for method, _ in host.asked].count("POST") == 1
        with pytest.raises(AuthError, match="Bad credentials"):
            await Api(host.root, {"Authorization": "Bearer other"}).ask("GET", "/user")
        with pytest.raises(ProviderError, match="Not Found"):
            await keep_one(
                GitHubThread(Api(host.root, {"Authorization": "Bearer token"}), "o/r", 13),
                KEY,
                (1, 1),
                "x",
                fast,
            )
