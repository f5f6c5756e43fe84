"""Workers that have another plan, fall silent, die, and come back."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.unit.wings.fleet.conftest import (
    HELLO,
    Scene,
    ScriptedCluster,
    live,
    start_of,
    turns,
)

from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.core.run import CallEnd
from evenhand.wings.fleet.driver import DEATHS, IN_A_ROW, PATIENCE_S


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (replace(HELLO, fingerprint="g"), "has another plan"),
        (replace(HELLO, size=7), "has another plan"),
        (replace(HELLO, version="0.0.0"), "has Evenhand 0.0.0"),
        (replace(HELLO, missing=("A_KEY",)), "lacks environment variables: A_KEY"),
        (replace(HELLO, problem="no such file"), "has no plan: no such file"),
        (
            replace(HELLO, problem="no key", missing=("A_KEY",)),
            "lacks environment variables: A_KEY",
        ),
        (replace(HELLO, hosts=("api.openai.com",)), "asks api.openai.com, and this machine nobody"),
    ],
)
def test_a_worker_that_does_not_fit_is_refused_before_anything_is_sent(
    scene: Scene, hello: object, said: str
):
    """Whatever differs; no trial goes out."""
    cluster = ScriptedCluster(hello)
    with pytest.raises(UsageError, match=said) as refused:
        scene.loop.run(scene.driver(cluster).start())
    assert "Nothing was sent." in str(refused.value)
    assert all(not link.heard for link in cluster.links)


def test_a_silent_worker_is_given_up_when_its_patience_is_over(scene: Scene):
    """To the second, and not before: a worker that gives signs of life may take its time."""

    async def go() -> None:
        cluster = ScriptedCluster()
        starting = asyncio.ensure_future(scene.driver(cluster, workers=1).start())
        for _ in range(5):
            await asyncio.sleep(PATIENCE_S - 1)
            cluster.links[0].says(("alive",))
        assert not starting.done()
        began = scene.loop.time()
        with pytest.raises(StoreError, match="no sign of life for 20 s"):
            await starting
        assert scene.loop.time() - began == pytest.approx(PATIENCE_S)
        assert cluster.links[0].killed

    scene.loop.run(go())


def test_trials_of_a_dead_worker_go_to_others_with_the_replies_that_came_home(scene: Scene):
    """Another worker takes its place; what the dead one says after that counts for nothing."""

    async def go() -> None:
        cluster = ScriptedCluster(HELLO)
        driver = scene.driver(cluster, workers=2, seats=2)
        await driver.start()
        driver.use(scene.backing())
        settling = [asyncio.ensure_future(driver(live(index))) for index in range(4)]
        await turns()
        dead, other = cluster.links
        assert sorted(dead.orders()) == [0, 2]  # the one with the fewest trials has the next
        dead.says(("ask", 1, "begin", (start_of(0),)), ("ask", 2, "begin", (start_of(2, "q"),)))
        await turns()
        dead.says(("ask", 3, "end", (1, CallEnd(b"reply", "provider"))))
        await turns()
        assert dead.answer(3) == (None, None)
        dead.dies()
        dead.says(("ask", 4, "begin", (start_of(0),)))
        dead.settles(0)
        dead.says(("hello", HELLO))
        other.settles(1)
        other.settles(3)
        await turns(40)
        assert len(cluster.links) == 3
        third = cluster.links[2]
        orders = {**other.orders(), **third.orders()}
        assert set(orders) == {0, 1, 2, 3}
        assert [key for key, _, _ in orders[0].known] == ["k"]
        assert orders[2].known == ()  # its call is in doubt: it was begun, and nothing came home
        assert len(scene.journal.begun) == 2
        for link in (other, third):
            for index in link.orders():
                link.settles(index)
        results = await asyncio.gather(*settling)
        assert [result.index for result in results] == [0, 1, 2, 3]
        assert all(result.output != "by node 0" for result in results)
        assert "2 trials under way go to others" in scene.notes[0]
        for link in (other, third):
            link.says(("ended", ""))
        await driver.over()

    scene.loop.run(go())


def test_a_trial_that_its_workers_die_of_is_an_error(scene: Scene):
    """After so many deaths; and the run goes on."""

    async def go() -> None:
        cluster = ScriptedCluster(HELLO)
        driver = scene.driver(cluster, workers=1)
        await driver.start()
        driver.use(scene.backing())
        settling = asyncio.ensure_future(driver(live(5)))
        for death in range(DEATHS):
            await turns(20)
            assert list(cluster.links[death].orders()) == [5]
            cluster.links[death].dies()
        kind, why = await settling
        assert kind == "given up"
        assert f"{DEATHS} workers died" in why

    scene.loop.run(go())


@pytest.mark.parametrize("deaths", [DEATHS - 1, DEATHS])
def test_a_worker_that_is_taken_away_before_anything_is_sent_is_replaced(scene: Scene, deaths: int):
    """A few times: a fleet of which only one node is taken away starts all the same."""

    async def go() -> None:
        cluster = ScriptedCluster()
        driver = scene.driver(cluster, workers=2)
        starting = asyncio.ensure_future(driver.start())
        for death in range(deaths):
            await turns()
            assert not starting.done()
            cluster.links[death + 1 if death else 0].dies()
        await turns()
        for link in cluster.links[1:]:
            link.says(("hello", HELLO))
        await turns()
        if deaths == DEATHS:
            with pytest.raises(StoreError, match="is gone: its process is gone"):
                await starting
        else:
            await starting
            assert len(cluster.links) == 2 + deaths

    scene.loop.run(go())


@pytest.mark.parametrize(
    ("room", "said"), [(100, f"{IN_A_ROW} workers died in a row"), (1, "no worker is left")]
)
def test_a_fleet_that_only_dies_ends_the_run(scene: Scene, room: int, said: str):
    """Whether workers go on dying or none can be started; `resume` goes on."""

    async def go() -> None:
        cluster = ScriptedCluster(HELLO, room)
        driver = scene.driver(cluster, workers=1)
        await driver.start()
        driver.use(scene.backing())
        problems: list[EvenhandError] = []

        async def settle(index: int) -> None:
            try:
                await driver(live(index))
            except EvenhandError as error:
                problems.append(error)

        tasks = [asyncio.ensure_future(settle(index)) for index in range(4)]
        for death in range(IN_A_ROW):
            await turns(20)
            if death < len(cluster.links):
                cluster.links[death].dies()
        # Each of the four is an error after three deaths; the next one asks for a worker in vain.
        await asyncio.gather(*tasks)
        await turns(20)
        await settle(7)
        assert said in str(problems[-1])
        assert "evenhand resume" in str(problems[-1])

    scene.loop.run(go())


def test_workers_that_die_together_and_are_not_replaced_end_the_run(scene: Scene):
    """As when the only node of a cluster is gone: nobody waits for a worker that never comes."""

    async def go() -> None:
        cluster = ScriptedCluster(HELLO, room=2)
        driver = scene.driver(cluster, workers=2)
        await driver.start()
        driver.use(scene.backing())
        settling = asyncio.ensure_future(driver(live(0)))
        await turns()
        for link in cluster.links:
            link.dies()
        await turns(30)
        with pytest.raises(StoreError, match="no worker is left: there is no room"):
            await asyncio.wait_for(settling, 20)

    scene.loop.run(go())


def test_whatever_a_worker_says_breaks_its_silence(scene: Scene):
    """A sign of life will do: it gets the permits that it waits for."""

    async def go() -> None:
        cluster = ScriptedCluster(HELLO)
        driver = scene.driver(cluster, workers=1)
        await driver.start()
        driver.use(scene.backing())
        (link,) = cluster.links
        link.says(("ask", 1, "acquire", ("api", 0, 0)))
        await turns()
        for number in (2, 3):
            await asyncio.sleep(1)
            link.says(("ask", number, "acquire", ("api", 0, 0)))
            await turns()
            assert link.answer(number)[1] is None
        link.says(("ended", ""))
        await driver.over()

    scene.loop.run(go())
