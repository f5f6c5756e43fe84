"""JavaScript in a run: engines, files, Node, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import CodeError
from evenhand.engine.capture import Sink, current
from evenhand.engine.code import CodeHost
from evenhand.languages.javascript import running
from evenhand.languages.javascript.node import Node, found_node
from evenhand.languages.javascript.running import call, expression, function, problems, provider

needs_node = pytest.mark.skipif(not found_node(), reason="there is no Node here")

NODE = """
const path = require("path");
exports.base = (text) => { console.log("seen", text); process.stdout.write("raw\\n"); return path.basename(text); };
let now = 0, most = 0;
exports.slow = async (text) => {
  most = Math.max(most, ++now);
  await new Promise((r) => setTimeout(r, 30));
  now--;
  return text;
};
exports.most = async () => most;
exports.hang = () => { for (;;) {} };
exports.exit = () => process.exit(3);
exports.never = () => new Promise(() => {});
exports.boom = () => { throw new RangeError("far"); };
exports.unhandled = () => { Promise.reject(new Error("lost")); return 1; };
"""


async def value(host: CodeHost, script: running.JavaScriptCode, *args: object) -> Any:
    """What it returns."""
    return (await call(host, script, *args)).value


async def said(host: CodeHost, script: running.JavaScriptCode, *args: object) -> str:
    """What it returns, or what is wrong with it."""
    try:
        return str(await value(host, script, *args))
    except CodeError as error:
        return error.message


async def test_calls_at_once_do_not_meet():
    """Each has its own values and its own answer, however many there are."""
    script = expression("new Promise(r => setTimeout(() => r(output * 2), 1))", "output")
    with CodeHost().open() as host:
        found = await asyncio.gather(*(value(host, script, i) for i in range(200)))
    assert found == [2 * i for i in range(200)]


async def test_an_endless_loop_in_inline_code_ends_long_before_a_long_time_limit(
    monkeypatch: pytest.MonkeyPatch,
):
    """Several lines of it, too; its hint does not promise that more time would help."""
    monkeypatch.setattr(running, "INLINE_S", 0.3)
    script = expression("while (true) {}\nreturn true;", "output")
    since = time.monotonic()
    with CodeHost(60).open() as host:
        with pytest.raises(CodeError) as caught:
            await value(host, script, 1)
        assert await value(host, expression("output + 1", "output"), 1) == 2
    assert time.monotonic() - since < 45
    assert "longer than 0.3 s" in caught.value.message or "too long" in caught.value.message
    assert "--time-limit" not in caught.value.hint


async def test_a_loop_without_end_costs_its_own_expectation_only():
    """It is given up; the next call has an engine that works."""
    with CodeHost(0.3).open() as host:
        stuck = said(host, expression("(() => { for (;;) {} })()", "output"), 1)
        others = [said(host, expression("output + 1", "output"), i) for i in range(20)]
        first, *rest = await asyncio.gather(stuck, *others)
        assert "longer than 0.3 s" in first or "too long" in first
        assert rest == [str(i + 1) for i in range(20)]


async def test_a_file_has_one_state_and_is_replaced_when_it_hangs(tmp_path: Path):
    """Calls of a file wait for each other, and none forever."""
    (tmp_path / "a.js").write_text(
        "let n = 0; module.exports = (stop) => { if (stop) for (;;) {} return ++n; };"
    )
    script = function(tmp_path / "a.js")
    with CodeHost(0.3).open() as host:
        counted = await asyncio.gather(*(value(host, script, 0) for _ in range(9)))
        assert sorted(counted) == list(range(1, 10))
        hung, after = await asyncio.gather(said(host, script, 1), said(host, script, 0))
        assert "long" in hung
        assert after in ("1", "10")


async def test_what_is_printed_is_kept_with_the_trial(tmp_path: Path):
    """And never reaches our own output."""
    sink = Sink()
    token = current.set(sink)
    with CodeHost().open() as host:
        await value(host, expression("(console.log('hi', [output]), 1)", "output"), 2)
    current.reset(token)
    assert sink.text() == "hi [2]\n"


async def test_values_that_json_has_no_form_for_still_go_in():
    """Surrogates as they are, what is not a number as nothing, the user's own as text."""
    with CodeHost().open() as host:
        script = expression("JSON.stringify(output)", "output")
        assert await value(host, script, "\ud800") == '"\\ud800"'
        assert await value(host, script, [float("nan"), {"a": 1.0}]) == '[null,{"a":1}]'
        assert "Path" in await value(host, script, {"p": Path})


@needs_node
async def test_files_that_need_node_have_it(tmp_path: Path):
    """Packages, modules, TypeScript; many calls at once; what they print is kept."""
    (tmp_path / "n.js").write_text(NODE)
    (tmp_path / "m.mjs").write_text(
        "import { basename } from 'node:path'; export default (p) => basename(p);"
    )
    (tmp_path / "p.js").write_text(
        "require('fs'); module.exports = class { constructor(o) { this.o = o; this.n = 0 }\n"
        "async callApi(p) { return { output: p + this.o.config.k + ++this.n } } }"
    )
    sink = Sink()
    token = current.set(sink)
    with CodeHost(20).open() as host:
        node = tmp_path / "n.js"
        assert await value(host, function(node, "base"), "/a/b") == "b"
        assert await value(host, function(tmp_path / "m.mjs"), "/a/c") == "c"
        assert await value(host, expression("new URL(output).host", "output"), "http://x.y/z") == "x.y"  # fmt: skip
        slow = [value(host, function(node, "slow"), i) for i in range(20)]
        assert await asyncio.gather(*slow) == list(range(20))
        assert await value(host, function(node, "most"), 0) > 1
        made = provider(tmp_path / "p.js", "", {"config": {"k": "K"}})
        assert await value(host, made, "callApi", "q", {}) == {"output": "qK1"}
        assert await value(host, made, "callApi", "q", {}) == {"output": "qK2"}
        assert await said(host, function(node, "boom")) == "n.js:boom: RangeError: far"
        assert await said(host, function(node, "unhandled")) == "1"
        assert "exports no 'x'" in await said(host, function(node, "x"))
    current.reset(token)
    assert sink.text().startswith("seen /a/b\nraw\n")


@pytest.mark.thorough
@needs_node
async def test_what_takes_node_down_is_blamed_and_the_others_go_on(tmp_path: Path):
    """A process that ends, one that is held up, and a promise that is never kept."""
    (tmp_path / "n.js").write_text(NODE)
    node = tmp_path / "n.js"
    with CodeHost(60).open() as host:
        found = await asyncio.gather(
            *(said(host, function(node, name), name) for name in ("slow", "exit", "slow"))
        )
        assert found == ["slow", "n.js:exit: it ended Node (exit code 3)", "slow"]
    with CodeHost(8).open() as host:
        found = await asyncio.gather(
            *(said(host, function(node, name), name) for name in ("slow", "hang"))
        )
        assert found == ["slow", "n.js:hang: it held Node up, which was ended"]
        assert await said(host, function(node, "slow"), "again") == "again"
    with CodeHost(1).open() as host:
        assert "longer than 1 s" in await said(host, function(node, "never"), "never")


@needs_node
async def test_no_call_waits_forever_for_a_process_that_cannot_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The program goes away while several calls are under way, and then one of them ends its process."""
    program = tmp_path / "node"
    program.symlink_to(found_node())
    monkeypatch.setenv("EVENHAND_NODE", str(program))
    gone = f"exports.exit = () => {{ require('fs').unlinkSync('{program}'); process.exit(3); }};"
    (tmp_path / "n.js").write_text(f"{NODE}\n{gone}\n")
    node = tmp_path / "n.js"
    with CodeHost(20).open() as host:
        names = ("never", "never", "exit")
        found = await asyncio.gather(*(said(host, function(node, name), name) for name in names))
    assert [f"{program} cannot be started" in message for message in found] == [True, True, False]


@needs_node
async def test_a_call_that_cannot_be_written_is_not_sent_again(tmp_path: Path):
    """When the process ends, those beside it are asked once more."""
    (tmp_path / "n.js").write_text(NODE)
    node = Node(20)
    try:
        with pytest.raises(TypeError):
            await node.call({"file": str(tmp_path / "n.js"), "name": "base", "args": {(1,): Path}})
        calls = [
            node.call({"file": str(tmp_path / "n.js"), "name": name, "args": ["a"]})
            for name in ("slow", "exit", "slow")
        ]
        first, died, last = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        node.close()
    assert isinstance(died, CodeError)
    assert [isinstance(one, dict) and one["value"] for one in (first, last)] == ["a", "a"]


async def test_without_node_it_is_said_what_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Before the run, and in it; what needs no Node runs."""
    monkeypatch.setenv("EVENHAND_NODE", "no-such-node")
    (tmp_path / "n.js").write_text(NODE)
    (tmp_path / "t.ts").write_text("export default (x: string) => x;")
    (tmp_path / "e.js").write_text("module.exports = (x) => x;")
    ((what, hint),) = problems(function(tmp_path / "n.js", "base"))
    assert what == (
        "n.js uses require, and so needs Node: EVENHAND_NODE is 'no-such-node', which is not a program"
    )
    assert "Install Node" in hint
    assert "is TypeScript" in problems(function(tmp_path / "t.ts"))[0][0]
    assert "uses new URL" in problems(expression("new URL(x)", "x"))[0][0]
    with CodeHost().open() as host:
        assert "needs Node" in await said(host, function(tmp_path / "n.js", "base"), 1)
        assert "uses new URL" in await said(host, expression("new URL(x)", "x"), 1)
        assert await said(host, function(tmp_path / "e.js"), 1) == "1"


async def test_a_node_that_is_too_old_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its worker ends at once, without a word that anybody understands."""
    old = tmp_path / "node"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v16.20.2 && exit\nexit 9\n')
    old.chmod(0o755)
    monkeypatch.setenv("EVENHAND_NODE", str(old))
    (tmp_path / "n.js").write_text(NODE)
    with CodeHost().open() as host:
        message = await said(host, function(tmp_path / "n.js", "base"), 1)
    assert f"it needs Node 22 or newer, and {old} is v16.20.2" in message


def test_what_is_wrong_with_a_file_is_seen_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """That it is not there, exports no such name, or is no JavaScript."""
    monkeypatch.setenv("EVENHAND_NODE", "no-such-node")
    (tmp_path / "grade.js").write_text("module.exports = (o) => o;")
    (tmp_path / "bad.js").write_text("module.exports = (o => o;")
    assert problems(function(tmp_path / "grade.js")) == []
    assert problems(function(tmp_path / "grad.js")) == [
        ("grad.js does not exist", "Did you mean 'grade.js'?")
    ]
    assert problems(function(tmp_path / "grade.js", "fn")) == [
        ("grade.js has no function 'fn'", "")
    ]
    assert "bad.js is not JavaScript: SyntaxError" in problems(function(tmp_path / "bad.js"))[0][0]
    assert "not JavaScript" in problems(expression("a b", "output"))[0][0]


async def test_a_file_that_cannot_be_read_is_an_error_of_its_call(tmp_path: Path):
    """It may go while a run is under way."""
    with CodeHost().open() as host:
        assert "gone.js cannot be read" in await said(host, function(tmp_path / "gone.js"))


CIRCLE = """

function circle() {
  const a = {};
  a.a = a;
  return a;
}
module.exports = circle;
"""


@needs_node
@pytest.mark.parametrize("wanted", ["boom", "syntax"])
async def test_what_goes_wrong_in_node_is_said_with_its_line(tmp_path: Path, wanted: str):
    """As in the embedded engine: in a folder with odd characters, too."""
    room = tmp_path / "a folder (1)"
    room.mkdir()
    file = room / "grade it.mjs"
    odd = "return tru e;" if wanted == "syntax" else "throw new RangeError('far');"
    file.write_text(f"import 'node:os';\n\nexport function boom() {{\n  {odd}\n}}\n")
    with CodeHost().open() as host, pytest.raises(CodeError) as caught:
        await value(host, function(file, "boom"))
    assert caught.value.hint == "line 4"


@needs_node
async def test_an_error_that_nobody_caught_is_told_with_its_line(tmp_path: Path):
    """It ends Node: the trial says why, and not only that it ended."""
    file = tmp_path / "late.js"
    file.write_text(
        'require("os");\n'
        "module.exports = () => {\n"
        "  setTimeout(() => {\n"
        '    throw new RangeError("far");\n'
        "  }, 20);\n"
        "  return new Promise(() => {});\n"
        "};\n"
    )
    with CodeHost(60).open() as host, pytest.raises(CodeError) as caught:
        await value(host, function(file))
    assert caught.value.message == "late.js: nobody caught RangeError: far, which ended Node"
    assert caught.value.hint == "line 4"


async def test_a_line_of_ours_is_never_taken_for_one_of_the_file(tmp_path: Path):
    """What cannot be put into JSON is no mistake at a line of the file: none is named."""
    file = tmp_path / "circle.js"
    file.write_text(CIRCLE)
    with CodeHost().open() as host, pytest.raises(CodeError) as caught:
        await value(host, function(file))
    assert "circular" in caught.value.message
    assert caught.value.hint == ""


@needs_node
async def test_what_a_file_starts_in_node_ends_with_the_run(tmp_path: Path):
    """A server that a grader left running would be there after the run."""
    file = tmp_path / "starts.js"
    file.write_text(
        'const { spawn } = require("child_process");\n'
        'module.exports = () => spawn("sleep", ["300"], { stdio: "ignore" }).pid;\n'
    )
    with CodeHost().open() as host:
        pid = await value(host, function(file))
        os.kill(pid, 0)
    until = time.monotonic() + 30
    while _runs(pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert not _runs(pid)


ORPHAN = """
import asyncio, pathlib, sys
from evenhand.engine.code import CodeHost
from evenhand.languages.javascript.running import call, function

async def main():
    with CodeHost(600).open() as host:
        await call(host, function(pathlib.Path(sys.argv[1])), sys.argv[2])

asyncio.run(main())
"""


@needs_node
def test_node_in_a_loop_ends_when_whoever_started_it_is_killed(tmp_path: Path):
    """It reads nothing then, not even that its input has ended."""
    file, marker = tmp_path / "loops.js", tmp_path / "pid"
    file.write_text(
        'const fs = require("fs");\n'
        "module.exports = (to) => {\n"
        '  fs.writeFileSync(to + ".new", String(process.pid));\n'
        '  fs.renameSync(to + ".new", to);\n'
        "  for (;;) {}\n"
        "};\n"
    )
    words = [sys.executable, "-c", ORPHAN, str(file), str(marker)]
    with subprocess.Popen(words) as process:
        until = time.monotonic() + 60
        while not marker.exists() and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()
    pid = int(marker.read_text())
    until = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)


@needs_node
async def test_typescript_runs_or_says_which_node_it_takes(tmp_path: Path):
    """An older Node knows nothing of it."""
    (tmp_path / "t.ts").write_text("export default (text: string): string => text;\n")
    with CodeHost().open() as host:
        answer = await said(host, function(tmp_path / "t.ts"), "works")
    assert (
        answer == "works" or "it is TypeScript, which takes Node 22.18 or newer: this is" in answer
    )


def _runs(pid: int) -> bool:
    """Whether a process is there, and not only its remains."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
