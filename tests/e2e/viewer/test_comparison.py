"""The comparison and the charts: the numbers of the command line, with what a reader needs to judge them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Dataset, EvalSet, Expect, Model, Prompt, compare, run
from evenhand.core.errors import ProviderError
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.testing import Scripted

LINES = ".verdicts .verdict"
MODELS = ("fake-model", "other-model")
LONG = "structured and rather long, answers in order"


class Halves:
    """Half a point for each word of an answer, up to 1; nothing for none."""

    traits = Traits(gives="number")

    def score(self, output: object, trial: object) -> Score:
        del trial
        return Score(min(1.0, len(str(output).split()) / 2))

    def __str__(self) -> str:
        return "halves"


def small(cases: int, said: str = "yes", prompts: tuple[str, ...] = ("plain",)) -> EvalSet:
    """A set whose odd cases pass, and whose fourth breaks in the first column; two models with long names."""

    def answer(prompt: Any) -> str:
        number = int(prompt.text.rsplit(" ", 1)[1])
        if number == 3 and prompt.text.startswith(prompts[0]) and len(prompts) > 1:
            raise ProviderError("the line is busy")
        return said if number % 2 else "no no"

    evals = EvalSet(
        "few cases",
        data=Dataset(Case(f"case {i}", {"n": str(i)}) for i in range(cases)),
        over={
            "prompt": [Prompt(name, f"{name} {{{{n}}}}") for name in prompts],
            "model": [Scripted(answer, id=name, label=name) for name in MODELS],
        },
    )

    @evals.eval
    async def answers(case: Case, prompt: Prompt, model: Model, expect: Expect) -> None:
        """Says yes."""
        reply = (await model.generate(prompt.render(n=case.vars["n"]))).text
        expect(reply, Halves(), at_least=0.4, metric="halves")
        expect("yes" in reply, "says yes", weight=0.1)

    return evals


def made(home: Path, evals: EvalSet) -> str:
    """The id of a run of it."""
    with run(evals, home=home, cache=False, progress=False) as done:
        return str(done.meta.id)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A home with runs of 2, 4 and 5 cases, and two of the last to be compared."""
    home = tmp_path_factory.mktemp("few") / "home"
    named = {str(n): made(home, small(n)) for n in (2, 4, 5)}
    wide = ("terse", LONG)
    named["before"] = made(home, small(5, prompts=wide))
    named["after"] = made(home, small(5, "no", prompts=wide))
    return home, named


def test_the_page_has_the_intervals_of_the_command_line(
    few: tuple[Path, dict[str, str]], serve: Any, watch: Any, command: Any
):
    """Of 2, 4 and 5 cases: the ends are those of `show --json`, and stay on the scale, on heads and in charts."""
    home, named = few
    with serve(home) as viewer:
        seen = watch(viewer.link)
        for cases in (2, 4, 5):
            told = json.loads(command("show", named[str(cases)], "--json", EVENHAND_HOME=str(home)))
            scores = [column["score"] for column in told["rates"]]
            seen.turn(named[str(cases)])
            ends = seen.page.locator(".head-ends")
            ends.first.wait_for()
            shown = [re.findall(r"[\d.]+", text) for text in ends.all_inner_texts()]
            assert [[float(end) for end in each] for each in shown] == [
                pytest.approx([score["low"], score["high"]], abs=0.005) for score in scores
            ]
            seen.turn(named[str(cases)], view="charts")
            seen.page.locator(".chart-histogram .chart-note").first.wait_for()
            text = seen.page.locator(".charts").text_content()
            found = re.findall(rf"\[([\d.]+)–([\d.]+)\], {cases} cases", text)
            assert [(float(low), float(high)) for low, high in found[:2]] == [
                pytest.approx((score["low"], score["high"]), abs=0.0005) for score in scores
            ]
        seen.close()


def test_a_metric_is_asked_as_the_command_line_asks_it(served: Any, runs: list[str], watch: Any):
    """`passed` first; numbers, verdicts and reasons are those of the command that stands there; the address has it."""
    seen = watch(served.link)
    files = [served.home / "runs" / f"{name}.db" for name in runs]
    page = seen.page
    seen.turn(runs[1], view="comparison", base=runs[0])
    for metric, key in (("passed", None), ("clarity", "~clarity.0.1"), ("", "*.0.1")):
        seen.turn(runs[1], view="comparison", base=runs[0], plot=key)
        told = compare(*files, metric=metric or ()).document()["results"]
        lines = [line.inner_text() for line in page.locator(LINES).all()]
        assert len(lines) == len(told)
        both = page.locator(".chart-said", has_text="Holm")
        assert f"corrected for {len(told)} comparisons (Holm)" in both.inner_text()
        if metric:
            assert f"--metric {metric}" in both.inner_text()
        for result in told:
            wanted = [result["verdict"], result["columns"][1], f"{result['n']} case"]
            # Of three cases, no p-value is shown.
            holm = f"(Holm, of {len(told)})" if result["n"] >= 5 else ""
            wanted += [holm, result["because"] or ""]
            assert any(all(part in line for part in wanted) for line in lines), wanted
        drawn = page.locator(".forests .chart-note").all_text_contents()
        assert len(drawn) == len(told)
        for text in drawn:  # the same digits in the plot as in words
            number = re.split(r" \[|, n ", text)[0]
            assert any(re.search(rf"{re.escape(number)}(?![\d.])", line) for line in lines)
    seen.turn(runs[1], view="comparison", base=runs[0])
    verdicts = page.locator(".verdict-word").all_inner_texts()
    order = ["worse", "better", "undecided", "no detectable difference"]
    places = [order.index(word.split(" ", 1)[1]) for word in verdicts]
    assert places == sorted(places)
    option = page.get_by_label("Metric").locator("option", has_text="clarity")
    page.get_by_label("Metric").select_option(option.get_attribute("value"))
    assert "plot=%7Eclarity.0.1" in seen.hash
    page.reload()
    seen.settled()
    assert page.get_by_label("Metric").locator("option:checked").inner_text().startswith("clarity")


def test_few_cases_are_told_as_the_reason_and_columns_apart(
    few: tuple[Path, dict[str, str]], serve: Any, watch: Any
):
    """Nothing is undecided without its reason; names that differ in the model alone are told apart in the plot."""
    home, named = few
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": 1000, "height": 800})
        page = seen.page
        seen.turn(named["after"], view="comparison", base=named["before"])
        lines = page.locator(LINES)
        assert lines.count() == 4
        for line in lines.all():
            text = line.inner_text()
            assert re.search(r"too few to say anything|can show no difference", text), text
        names = page.locator(".forests .chart-name")
        shown = names.evaluate_all("(all) => all.map((each) => each.lastChild.textContent)")
        assert len(set(shown)) == 4
        whole = names.locator("title").all_text_contents()
        assert all(
            name.partition("…")[0] in title for name, title in zip(shown, whole, strict=True)
        )
        text = page.locator(".comparison").inner_text()
        assert re.search(r"−\d", text)
        assert not re.search(r"(?<![\w.…-])-\d", page.locator(".verdicts").inner_text())
        seen.turn(named["after"], view="charts")
        text = page.locator(".charts").inner_text()
        assert "Of 5 cases:" in text
        assert "Left out of the 5, of a variant: 0–1 in error." in text
        assert "n 4 of 5" in text
        seen.close()


def test_a_cell_is_coloured_by_what_happened_to_its_verdict(
    few: tuple[Path, dict[str, str]], serve: Any, watch: Any
):
    """Regressed is red whatever its score did; the same words in the matrix; the last row is not cut."""
    home, named = few
    with serve(home) as viewer:
        seen = watch(viewer.link)
        page = seen.page
        seen.turn(named["after"], view="comparison", base=named["before"])
        cells = page.locator(".changes tbody td:last-child .change")
        cells.first.wait_for()
        words = cells.all_inner_texts()
        assert set(words) == {"regressed"} or all(word.startswith("regressed") for word in words)
        assert all(
            "change-regressed" in (cell.get_attribute("class") or "") for cell in cells.all()
        )
        box = page.locator(".changes").evaluate("(at) => [at.scrollHeight, at.clientHeight]")
        assert box[0] == box[1]
        seen.turn(named["after"], base=named["before"])
        matrix = page.get_by_role("grid").locator(".change").all_inner_texts()
        assert {word for word in matrix if word.startswith("regressed")} == set(words)
        seen.close()


@pytest.mark.thorough
def test_a_run_that_is_alone_says_what_is_true(
    few: tuple[Path, dict[str, str]], watch: Any, command: Any, serve: Any, tmp_path: Path
):
    """One column and no other run: no baseline is asked for where none can be chosen, on the server or in a report."""
    home = tmp_path / "home"
    one = EvalSet("one", data=Dataset([Case("only", {})]), model=Scripted("yes", id="m", label="m"))

    @one.eval
    async def answers(model: Model, expect: Expect) -> None:
        """Says yes."""
        expect((await model.generate("?")).text, Halves(), at_least=0.1, metric="halves")

    named = made(home, one)
    report = tmp_path / "report.html"
    command("export", named, "--to", report, EVENHAND_HOME=str(home))
    seen = watch(report.as_uri(), offline=True)
    seen.turn(named, view="comparison")
    text = seen.page.locator(".comparison").inner_text()
    assert "holds no other run" in text
    assert "--baseline RUN" in text
    assert seen.page.get_by_label("Baseline").count() == 0
    seen.turn(named, view="charts")
    ticks = seen.page.locator(".chart-histogram .axis").first.locator("text")
    ticks.first.wait_for()
    assert ticks.all_text_contents() == ["0", "1"]
    with serve(home) as viewer:
        seen = watch(viewer.link)
        seen.turn(named, view="comparison")
        seen.page.get_by_text("There is no other run to compare it with yet.").wait_for()
        shutil.copy(next((few[0] / "runs").glob(f"{few[1]['2']}.db")), home / "runs")
        seen.show(named, view="comparison")
        seen.page.get_by_text("Choose a baseline to compare it").wait_for()
        seen.close()


def test_long_names_of_variants_wrap_on_a_phone(watch: Any, serve: Any, tmp_path: Path):
    """In the counts and in the heads of the cases that differ: the numbers stand beside them."""
    home = tmp_path / "home"
    names = [
        "customer_support_answer_without_apology_and_with_a_link",
        "answer_in_three_sentences_" * 2,
    ]
    rows = Dataset([Case(f"c{i}", {}) for i in range(4)])
    pair = EvalSet("pair", data=rows, over={"prompt": [Prompt(name, "x") for name in names]})

    @pair.eval
    def answers(case: Case, prompt: Prompt, expect: Expect) -> None:
        """One prompt is right in every case."""
        expect(prompt.name == names[0], "it is right")

    named = made(home, pair)
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": 390, "height": 844})
        seen.turn(named, view="comparison")
        seen.page.locator(".changes td").first.wait_for()
        for place in (".kind-words", ".changes thead th", ".changes td"):
            for one in seen.page.locator(place).all():
                width, ends = one.evaluate(
                    "(at) => [at.scrollWidth - at.clientWidth, at.getBoundingClientRect().right]"
                )
                assert width <= 1, one.inner_text()
                assert ends <= 390, one.inner_text()
        seen.close()
