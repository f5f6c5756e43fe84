"""Progress in a notebook: one output below the cell, replaced as the run goes on."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType, SimpleNamespace

import pytest

from evenhand import Case, Dataset, EvalSet, Expect, run
from evenhand.core.errors import UsageError
from evenhand.render.progress import in_notebook


class Output:
    """What stands below the cell."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.texts.append(data["text/plain"])


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The kernel's shell and what its cell shows, by the names that IPython gives them."""
    shell = SimpleNamespace(kernel=object(), output=Output())
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")

    def show(data: dict[str, str], *, raw: bool, display_id: bool) -> Output:
        assert display_id
        shell.output.update(data, raw=raw)
        return shell.output

    ipython.__dict__["get_ipython"] = lambda: shell
    display.__dict__["display"] = show
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shell


def evals() -> EvalSet:
    """Three cases that pass."""
    made = EvalSet("sums", data=Dataset([Case(str(i), input=i) for i in range(3)]))

    @made.eval
    def adds(case: Case, expect: Expect) -> None:
        expect(case.input + 1 > case.input, "is more")

    return made


def test_a_run_shows_its_last_state_below_the_cell(
    shell: SimpleNamespace, tmp_path, capsys: pytest.CaptureFixture[str]
):
    """Nothing goes to stderr, where each line would be one more."""
    run(evals(), home=tmp_path)
    assert "sums" in shell.output.texts[0]
    assert "3/3 · 3 passed" in shell.output.texts[-1]
    assert capsys.readouterr().err == ""


def test_no_progress_where_none_is_wanted(shell: SimpleNamespace, tmp_path):
    """`progress=False` holds in a notebook, too."""
    run(evals(), home=tmp_path, progress=False)
    assert shell.output.texts == []


def test_a_notebook_in_trouble_is_not_the_runs_trouble(shell: SimpleNamespace, tmp_path):
    """Its connection may be gone."""
    del sys.modules["IPython.display"].display
    assert run(evals(), home=tmp_path).totals().passed == 3


def test_a_mistake_in_a_cell_is_shown_with_its_line_and_without_a_traceback():
    """By IPython's name for that. Of a file, the line has its path; what nothing called has none."""
    cell = "wrong = 'cases.csv'\n\nDataset(wrong)  # mine\n"
    linecache.cache["<cell 7>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell 7>")
    with pytest.raises(UsageError) as raised:
        exec(compile(cell, "<cell 7>", "exec"), {"Dataset": Dataset})
    own, message = raised.value._render_traceback_()
    assert own == "line 3: Dataset(wrong)  # mine"
    assert message == f"UsageError: {raised.value}"
    with pytest.raises(UsageError) as raised:
        Dataset("cases.csv")
    assert raised.value._render_traceback_()[0].startswith(f"{__file__}:")
    assert UsageError("no")._render_traceback_() == ["UsageError: no"]


def test_a_terminal_is_no_notebook(shell: SimpleNamespace):
    """IPython is there, and has no kernel."""
    assert in_notebook()
    del shell.kernel
    assert not in_notebook()
