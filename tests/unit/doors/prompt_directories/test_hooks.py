from __future__ import annotations

import asyncio
import time

import pytest

from evenhand.core.errors import CodeError
from evenhand.doors.prompt_directories import hooks
from evenhand.doors.prompt_directories.eval_scorers import Verified
from evenhand.doors.prompt_directories.hooks import guarded, hook_env, is_hook, run_hook


@pytest.fixture
def hook(tmp_path):
    """Writes a hook."""

    def write(text: str, mode: int = 0o755):
        path = tmp_path / "guard.sh"
        path.write_text(text, "utf-8")
        path.chmod(mode)
        return path

    return write


async def test_a_guard_sees_the_variables_and_sets_some(hook):
    """Its environment has EVA_VAR_…, the id and the case; its KEY=VALUE lines are variables."""
    path = hook('#!/bin/sh\necho "who=$EVA_VAR_who!"\necho "id=$EVA_PROMPT_ID/$EVA_CASE"\n')
    ran = await guarded(path, "greet", "one", {"who": "Ada"})
    assert ran.values() == ({"who": "Ada!", "id": "greet/one"}, [])


async def test_a_guard_that_says_no_ends_it(hook):
    """Its exit code and its words are told."""
    path = hook("#!/bin/sh\necho too long >&2\nexit 7\n")
    with pytest.raises(CodeError, match=r"guard.sh failed for greet \(exit 7\)\n  too long"):
        await guarded(path, "greet", "", {})


async def test_a_hook_that_hangs_is_ended_with_all_that_it_started(hook):
    """After its time limit, and so is a child that holds its output open."""
    path = hook("#!/bin/sh\nsleep 900 &\nsleep 900\n")
    started = time.perf_counter()
    with pytest.raises(CodeError, match=r"took longer than 0.3 s"):
        await run_hook(path, {}, 0.3)
    assert time.perf_counter() - started < 300


async def test_garbage_sets_nothing(hook):
    """Bytes that are no text, and lines that are no KEY=VALUE, are told and no variables."""
    path = hook(
        "#!/bin/sh\nprintf '\\377\\376\\000x\\n'\necho 'hello there'\necho '1x=2'\necho ok=1\n"
    )
    found, others = (await run_hook(path, {})).values()
    assert found == {"ok": "1"}
    assert len(others) == 3


async def test_too_much_output_ends_it(hook, monkeypatch):
    """A hook cannot fill the memory."""
    monkeypatch.setattr(hooks, "MOST", 100_000)
    path = hook("#!/bin/sh\nwhile :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n")
    with pytest.raises(CodeError, match="wrote more than"):
        await run_hook(path, {}, 20)


async def test_what_may_not_be_executed_is_no_hook(hook):
    """Like one that is not there."""
    path = hook("#!/bin/sh\n", 0o644)
    assert not is_hook(path)
    with pytest.raises(CodeError, match="cannot be run: Permission denied"):
        await run_hook(path, {})


async def test_a_script_without_its_first_line_is_the_shells(hook):
    """As a shell would run it."""
    assert (await run_hook(hook("echo a=1\n"), {})).values()[0] == {"a": "1"}


async def test_values_that_no_environment_takes_are_told(hook):
    """A megabyte is too long for it, a zero byte cannot be in it."""
    path = hook("#!/bin/sh\n")
    with pytest.raises(CodeError, match="Argument list too long") as error:
        await run_hook(path, hook_env("p", "", {"x": "y" * 1_000_000}))
    assert "leave it to a file" in str(error.value)
    with pytest.raises(CodeError, match="cannot be run"):
        await run_hook(path, hook_env("p", "", {"x": "a\0b"}))


async def test_a_hook_that_nobody_waits_for_is_ended(hook, tmp_path):
    """Cancelling it kills it."""
    path = hook(f"#!/bin/sh\nsleep 1\ntouch {tmp_path / 'late'}\n")
    task = asyncio.create_task(run_hook(path, {}))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1.2)
    assert not (tmp_path / "late").exists()


async def test_a_verify_that_complains_without_a_word_has_no_words_kept(hook):
    """Its exit code is all there is to tell."""
    for script, kept in (("exit 1", {}), ("echo too long; exit 1", {"said": "too long"})):
        path = hook(f"#!/bin/sh\n{script}\n")
        score = await Verified(path, "greet", "a", {}).score("hello", None)
        assert not score.passed
        assert dict(score.metadata) == kept
