"""Worlds and tools: each trial has its own, what was called is noted, and what changed can be expected."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Conversation, EvalSet, Expect, World, run
from evenhand.core.errors import CodeError, UsageError
from evenhand.core.expect import Trial
from evenhand.doors import recording
from evenhand.doors.conversations import ToolTable
from evenhand.engine.door import Settings, settle
from evenhand.scorers import NeverFails
from evenhand.store.runfile import RunFile
from evenhand.testing import example


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database with two orders."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("create table orders (id integer primary key, state text)")
        database.execute("insert into orders values (1042, 'late'), (1043, 'sent')")
    database.close()
    return path


@pytest.mark.parametrize(("rows", "told"), [(1000, True), (1001, False)])
def test_no_part_of_the_changes_is_given_for_all_of_them(shop: Path, rows: int, told: bool):
    """Whoever expects that nothing else was changed would be told so."""
    world = World.copy(of=shop)
    world.execute(
        "with recursive n(i) as (values (1) union all select i + 1 from n where i < ?)"
        " insert into orders select 5000 + i, 'new' from n",
        rows,
    )
    if told:
        assert len(world.changes()["orders"]["added"]) == rows
        return
    with pytest.raises(UsageError, match="more than 1,000 rows of the table orders"):
        world.changes()


@pytest.mark.parametrize("state", [{1: "a", "1": "a"}, {"a.b": "a", "a": {"b": "a"}}])
def test_no_change_stands_for_another_one_of_the_same_path(state: dict[Any, Any]):
    """Two of them are refused; one alone is told."""
    world = World.copy(of=state)
    first, second = state
    world.state[first] = "b"
    assert len(world.changes()) == 1
    world.state[second] = {"b": "b"} if second == "a" else "b"
    with pytest.raises(UsageError, match="two changes have the path"):
        world.changes()


def test_a_database_is_copied_for_each_world(shop: Path):
    """A database is copied for each world."""
    one, two = World.copy(of=shop), World.copy(of=str(shop))
    assert one.execute("update orders set state = ? where id = ?", "refunded", 1042) == 1
    assert one.value("select state from orders where id = 1042") == "refunded"
    assert two.value("select state from orders where id = 1042") == "late"
    assert two.value("select state from orders where id = 7") is None
    assert two.query("select * from orders where id = 1043") == [{"id": 1043, "state": "sent"}]
    assert two.changes() == {}
    assert one.changes() == {
        "orders": {
            "added": [{"id": 1042, "state": "refunded"}],
            "removed": [{"id": 1042, "state": "late"}],
        }
    }
    one.execute('create table "odd "" name" (a)')
    one.execute('insert into "odd "" name" values (1)')
    assert one.changes()['odd " name'] == {"added": [{"a": 1}], "removed": []}
    folder = one.path.parent
    one.close()
    assert not folder.exists()


def test_one_more_row_of_those_that_are_alike_is_a_change(tmp_path: Path):
    """A second payment like the first is one that was made twice."""
    (tmp_path / "shop.sql").write_text(
        "create table paid (who text, cents int); insert into paid values ('ann', 10), ('ann', 10)"
    )
    world = World.copy(of=tmp_path / "shop.sql")
    row = {"who": "ann", "cents": 10}
    world.execute("insert into paid values ('ann', 10)")
    assert world.changes() == {"paid": {"added": [row], "removed": []}}
    world.execute("delete from paid")
    assert world.changes() == {"paid": {"added": [], "removed": [row, row]}}


def test_a_text_that_differs_is_a_change_whatever_its_column_takes_for_equal(tmp_path: Path):
    """A text that differs is a change whatever its column takes for equal."""
    (tmp_path / "shop.sql").write_text(
        "create table mail (address text collate nocase); insert into mail values ('ann@x')"
    )
    world = World.copy(of=tmp_path / "shop.sql")
    world.execute("update mail set address = 'ANN@X'")
    assert world.changes() == {
        "mail": {"added": [{"address": "ANN@X"}], "removed": [{"address": "ann@x"}]}
    }


def test_a_table_with_another_column_has_other_rows(tmp_path: Path):
    """A table with another column has other rows."""
    (tmp_path / "shop.sql").write_text("create table a (b); insert into a values (1)")
    world = World.copy(of=tmp_path / "shop.sql")
    world.execute("alter table a add column c")
    assert world.changes() == {"a": {"added": [{"b": 1, "c": None}], "removed": [{"b": 1}]}}


def test_a_script_of_sql_makes_a_database_for_each_world(tmp_path: Path):
    """A script of sql makes a database for each world."""
    (tmp_path / "shop.sql").write_text("create table a (b); insert into a values (1), (2);")
    world = World.copy(of=tmp_path / "shop.sql")
    assert world.changes() == {}
    world.execute("delete from a where b = 1")
    assert world.changes() == {"a": {"added": [], "removed": [{"b": 1}]}}
    (tmp_path / "bad.sql").write_text("create tabel a (b);")
    with pytest.raises(UsageError, match=r"bad\.sql cannot be copied"):
        World.copy(of=tmp_path / "bad.sql")


def test_what_was_a_number_and_is_true_has_changed():
    """What was a number and is true has changed."""
    world = World.copy(of={"paid": 0, "sum": 1})
    world.state |= {"paid": False, "sum": 1.0}
    assert world.changes() == {"paid": (0, False)}


def test_a_dict_is_copied_and_its_changes_have_paths():
    """A dict is copied and its changes have paths."""
    state: dict[str, Any] = {"orders": {"1": {"state": "late", "items": [1, 2]}}, "gone": None}
    world = World.copy(of=state)
    world.state["orders"]["1"]["state"] = "refunded"
    world.state["orders"]["1"]["items"].append(3)
    world.state["new"] = True
    del world.state["gone"]
    assert state["orders"]["1"]["state"] == "late"
    assert world.changes() == {
        "gone": (None, None),
        "new": (None, True),
        "orders.1.items[2]": (None, 3),
        "orders.1.state": ("late", "refunded"),
    }


async def test_a_tool_without_arguments_is_called_by_its_name():
    """A tool without arguments is called by its name."""
    world = World.copy(of={})
    world.tool(ping)
    assert await world.call("ping") == "pong"


def ping() -> str:
    """A tool without arguments."""
    return "pong"


def test_a_direct_call_with_wrong_arguments_is_one_that_failed():
    """A direct call with wrong arguments is one that failed; arguments that can't be copied are told in words."""
    world = World.copy(of={})

    @world.tool
    def look(lock: object, order: str) -> str:
        return order

    with pytest.raises(TypeError, match="order"):
        world.tools["look"](None, oder="7")
    assert world.tools["look"](threading.Lock(), "7") == "7"
    failed, went_well = world.calls
    assert (failed.name, failed.arguments) == ("look", {"oder": "7"})
    assert "order" in failed.error
    assert "lock" in went_well.arguments["lock"]
    assert (went_well.arguments["order"], went_well.result) == ("7", "7")


async def test_tools_are_called_as_models_ask_and_errors_are_told_to_the_model():
    """Tools are called as models ask and errors are told to the model."""
    world = World.copy(of={"state": "late"})

    @world.tool
    def refund(order: str, amount: float = 0.0) -> dict[str, Any]:
        if order != "1042":
            raise LookupError(f"no order {order}")
        world.state["state"] = "refunded"
        return {"order": order}

    @world.tool
    async def wait() -> str:
        return "waited"

    assert await world.call("refund", {"order": "1042"}) == {"order": "1042"}
    assert await world.call("wait", {}) == "waited"
    assert await world.call("refund", {"order": "7"}) == {"error": "LookupError: no order 7"}
    assert "no tool 'refnd'" in (await world.call("refnd", {}))["error"]
    assert "missing a required argument" in (await world.call("refund", {}))["error"]
    assert "not a JSON object" in (await world.call("refund", None))["error"]
    assert [(call.name, bool(call.error)) for call in world.calls] == [
        ("refund", False),
        ("wait", False),
        ("refund", True),
        ("refnd", True),
        ("refund", True),
        ("refund", True),
    ]
    again = World.copy(of={"state": "late"})

    @again.tool
    def refund(order: str) -> None:  # noqa: F811 (the same tool of another world)
        again.state["state"] = f"refunded {order}"

    again.redo([call for call in world.calls if call.name == "refund"])
    assert again.state == {"state": "refunded 1042"}
    with pytest.raises(UsageError, match="the tool wait, which an earlier conversation called"):
        again.redo(world.calls)
    with pytest.raises(UsageError, match="there is a tool refund already"):
        again.tool(refund)


@pytest.mark.parametrize("calls_another", [False, True])
async def test_a_tool_that_takes_too_long_is_not_blamed_for_the_failure_of_another(
    tmp_path: Path, calls_another: bool
):
    """Not for one before it, nor for one that it called itself: it is told by its own name."""
    told: list[object] = []

    async def body(_: Trial) -> str:
        world = World.copy(of={})

        @world.tool
        async def refund() -> str:
            raise LookupError("no such order")

        @world.tool
        async def wait() -> str:
            if calls_another:
                with contextlib.suppress(LookupError):
                    await refund()
            await asyncio.sleep(30)
            return "waited"

        told.append(await world.call("refund", {}))
        told.append(await world.call("wait", {}))
        return "done"

    done = await settle(example(1, body), Settings(home=tmp_path, time_limit_s=0.3))
    with RunFile.open(done.path) as file:
        (trial,) = file.trials()
    assert told == [{"error": "LookupError: no such order"}]
    assert "the tool wait took longer than 0.3 s" in trial.reason


async def test_tools_that_are_called_at_once_are_told_their_own_failures():
    """Whichever fails last."""
    world = World.copy(of={})

    @world.tool
    async def fail(after: float) -> None:
        await asyncio.sleep(after)
        raise LookupError(str(after))

    told = await asyncio.gather(*(world.call("fail", {"after": s}) for s in (0.02, 0.01)))
    assert told == [{"error": "LookupError: 0.02"}, {"error": "LookupError: 0.01"}]


def test_a_table_answers_in_turn_and_says_what_it_lacks():
    """A table answers in turn and says what it lacks."""
    rows = [({"id": 1}, "first"), ({"id": 1}, "second"), ({"id": 2}, {"a": [1]})]
    find = ToolTable({"find": rows}).tools["find"]
    assert [find(id=1), find(id=1), find(id=1), find(id=2)] == [
        "first",
        "second",
        "second",
        {"a": [1]},
    ]
    with pytest.raises(CodeError, match=r'the tool find has no row for \{"id":3\}'):
        find(id=3)
    assert ToolTable({"find": []}, otherwise=None).tools["find"](id=3) is None
    for table in ({"find": "x"}, {"find": [1]}, {"find": [({"a": object()}, 2)]}):
        with pytest.raises(UsageError, match="ToolTable: "):
            ToolTable(table)  # type: ignore[arg-type]


def test_an_agent_that_changes_what_a_table_returned_changes_nothing_in_the_table():
    """An agent that changes what a table returned changes nothing in the table."""
    table = ToolTable({"find": [({"id": 1}, {"state": "late"})]}, otherwise={"error": "none"})
    find = table.tools["find"]
    for id_, answer in ((1, {"state": "late"}), (2, {"error": "none"})):
        find(id=id_).clear()
        assert find(id=id_) == answer


def test_a_table_that_trials_share_begins_anew_for_each(tmp_path: Path):
    """A table that trials share begins anew for each, and each sees its own calls."""
    evals = EvalSet("table", data=[{"id": "a"}, {"id": "b"}], repeats=2)
    table = ToolTable({"find": [({"id": 1}, "late"), ({"id": 1}, "sent")]})

    @evals.eval
    def looks(expect: Expect) -> None:
        expect([table.tools["find"](id=1) for _ in range(2)] == ["late", "sent"], "in turn")
        expect(len(table.calls) == 2, "its own calls")

    with run(evals, home=tmp_path) as found:
        assert found.totals().passed == 4
    assert len(table.calls) == 8


def test_trials_that_share_a_world_are_errors(tmp_path: Path):
    """A second trial would find what the first one left, so it ends in an error, whatever its agent makes of it."""
    evals = EvalSet("worlds", data=[{"id": "a"}, {"id": "b"}])
    world = World.copy(of={"n": 0})

    @world.tool
    def add() -> None:
        world.state["n"] += 1

    @evals.eval
    async def adds(expect: Expect) -> None:
        with contextlib.suppress(UsageError):
            await world.call("add")
        expect(world.changes() == {"n": (0, 1)}, "once")

    with run(evals, home=tmp_path, concurrency=1) as found, RunFile.open(found.path) as file:
        first, second = file.trials()
    assert (first.outcome, second.outcome) == ("pass", "error")
    assert "several trials call the tools of one world" in second.reason
    assert world.state == {"n": 1}


def test_a_missing_row_is_an_error_of_the_trial_and_not_the_agents(tmp_path: Path):
    """A missing row is an error of the trial and not the agents."""
    evals = EvalSet("table", data=[{"id": "a"}])

    @evals.eval
    async def asks(expect: Expect) -> None:
        table = ToolTable({"find": []})

        async def agent(text: str) -> str:
            return str(await table.call("find", {"id": text}))

        talk = await Conversation(agent, ["7"]).run()
        expect(talk.turns == 1, "one turn")

    with run(evals, home=tmp_path) as found, RunFile.open(found.path) as file:
        (trial,) = file.trials()
    assert trial.outcome == "error"
    assert "has no row" in trial.reason


def test_recorded_tools_make_a_table(tmp_path: Path):
    """Recorded tools make a table."""
    evals = EvalSet("recorded", data=[{"id": "a", "input": "1042"}])

    @recording.tool
    def find(order: str) -> dict[str, str]:
        return {"order": order, "state": "late"}

    @evals.eval
    def looks(case: Case, expect: Expect) -> None:
        expect(find(case.input)["state"] == "late", "late")

    with run(evals, home=tmp_path) as found:
        table = ToolTable.recorded(found.path, "a")
        with pytest.raises(UsageError, match="no recorded calls of tools for case 'b'"):
            ToolTable.recorded(found.path, "b")
    assert table.tools["find"](order="1042") == {"order": "1042", "state": "late"}


def test_a_table_of_recorded_tools_has_what_one_trial_was_told(tmp_path: Path):
    """A table of recorded tools has what one trial was told, and of a call made again the last."""
    evals = EvalSet("recorded", data=[{"id": "a"}], over={"stock": [3, 5]})

    @recording.tool(ignore=["stock"])
    def count(stock: int) -> int:
        return stock

    @evals.eval
    def looks(stock: int, expect: Expect) -> None:
        expect(count(stock) == stock, "counted")

    with run(evals, home=tmp_path) as found:
        first = ToolTable.recorded(found.path, "a")
        second = ToolTable.recorded(found.path, "a", variant=1)
        with sqlite3.connect(found.path) as database:  # as a trial that was cut off leaves it
            copied = "trial, name, key, nth, arguments, x'37', error, replayed"
            names = copied.replace("x'37'", "result")
            database.execute(f"insert into tool ({names}) select {copied} from tool")
        database.close()
        again = ToolTable.recorded(found.path, "a", variant=1)
    for table, number in ((first, 3), (second, 5), (again, 7)):
        assert [table.tools["count"]() for _ in range(2)] == [number, number]


def test_tools_and_turns_are_steps_of_the_trial(tmp_path: Path, shop: Path):
    """Tools and turns are steps of the trial."""
    evals = EvalSet("steps", data=[{"id": "a"}])
    seen: list[tuple[str, str, Any]] = []

    @evals.fixture
    def world() -> Any:
        made = World.copy(of=shop)

        @made.tool
        def state(order: int) -> str:
            return made.value("select state from orders where id = ?", order)

        return made

    @evals.eval
    async def talks(world: Any, expect: Expect) -> None:
        async def agent(text: str) -> str:
            return str(await world.call("state", {"order": int(text)}))

        await Conversation(agent, ["1042"]).run()
        seen.extend((step.kind, step.name, step.result) for step in expect.trial.steps)
        expect(bool(world.calls), "called")

    with run(evals, home=tmp_path / "home") as found:
        assert found.verdict == "passed"
    assert seen == [
        ("message", "user", "1042"),
        ("tool", "state", "late"),
        ("message", "assistant", "late"),
    ]


@pytest.mark.parametrize("of", ["nowhere.db", 5, None])
def test_what_is_no_world_is_refused(of: Any):
    """What is no world is refused."""
    with pytest.raises(UsageError, match=r"World\.copy: "):
        World.copy(of=of)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path):
    """A file that is no database is refused."""
    (tmp_path / "text.db").write_text("no database at all, but long enough to look" * 50)
    with pytest.raises(UsageError, match="cannot be copied"):
        World.copy(of=tmp_path / "text.db")


def test_a_recorded_call_that_failed_is_no_row_of_the_table(tmp_path: Path):
    """What a tool returned is replayed, and never that it broke."""
    evals = EvalSet("recorded", data=[{"id": "a"}])

    @recording.tool
    def find(order: str) -> str:
        if order == "7":
            msg = "the database is down"
            raise ValueError(msg)
        return "late"

    @evals.eval
    def looks(expect: Expect) -> None:
        with pytest.raises(ValueError, match="down"):
            find("7")
        expect(find("8") == "late", "late")

    with run(evals, home=tmp_path) as found:
        table = ToolTable.recorded(found.path, "a", otherwise="nothing")
    assert [table.tools["find"](order=order) for order in ("7", "8")] == ["nothing", "late"]


def test_calls_that_reach_no_tool_are_steps_that_failed(tmp_path: Path):
    """A tool that isn't there, arguments that are none, and arguments that the tool doesn't take."""
    evals = EvalSet("shop", data=[{"id": "a"}])

    @evals.eval
    async def calls(expect: Expect) -> str:
        world = World.copy(of={})

        @world.tool
        def refund(order: str) -> str:
            return order

        await world.call("delete_all", {"sure": True})
        await world.call("refund", None)
        await world.call("refund", {"odrer": "7"})
        expect(expect.steps, NeverFails("delete_all"))
        return "done"

    with run(evals, home=tmp_path, progress=False) as done:
        (trial,) = done.trials()
        steps = [(step.name, step.arguments, step.status) for step in done.steps(trial)]
    assert trial.outcome == "fail"
    assert steps == [
        ("delete_all", {"sure": True}, "error"),
        ("refund", {}, "error"),
        ("refund", {"odrer": "7"}, "error"),
    ]
