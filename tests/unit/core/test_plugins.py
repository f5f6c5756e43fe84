"""Entry points of installed packages: found late, imported later, blamed by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.plugins import ASSERTIONS, PROVIDERS, SCORERS, plugin, plugins

PACKAGES = Path(__file__).resolve().parents[2] / "packages"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is on this process's path."""
    monkeypatch.syspath_prepend(str(PACKAGES))


def test_what_packages_add_is_found_by_group_and_name():
    """With the package and its version; what is in no package is None."""
    found = plugin(SCORERS, "word_count")
    assert found is not None
    assert str(found) == "scorer 'word_count' of the package evenhand-extras 1.2.3"
    assert found.load().__name__ == "word_count"  # type: ignore[attr-defined]
    assert plugin(ASSERTIONS, "word_count") is None
    assert {"shouter", "silent"} <= plugins(PROVIDERS).keys()


@pytest.mark.parametrize(("group", "name"), [(SCORERS, "absent"), (ASSERTIONS, "broken")])
def test_what_cannot_be_imported_names_its_package_and_what_to_do(group: str, name: str):
    """And may be looked up all the same."""
    found = plugin(group, name)
    assert found is not None
    with pytest.raises(
        UsageError, match=r"of the package evenhand-extras 1\.2\.3 cannot be loaded"
    ):
        found.load()


def test_an_error_of_ours_keeps_its_words():
    """What a package raises with advice of its own is told with that."""
    found = plugin(SCORERS, "overlap")
    assert found is not None
    told = found.broken("cannot be made", JudgeError("no verdict", hint="Ask again."))
    assert (told.message.endswith("1.2.3: no verdict"), told.hint) == (True, "Ask again.")


def test_a_package_that_is_installed_later_on_the_path_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is remembered belongs to a search path."""
    assert plugin(SCORERS, "later") is None
    info = tmp_path / "later-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[evenhand.scorers]\nlater = later_there:Scorer\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugin(SCORERS, "later") is not None
