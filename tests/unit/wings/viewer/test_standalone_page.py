"""The page as one file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from functools import partial

import pytest
from tests.runs import Make, result

from evenhand.core.built_parts import part
from evenhand.core.errors import UsageError
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.variant import Variant
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer import standalone_page

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"'&\x1b[31m\u202e\ud800"
FILES = {"app.js": b"let end = '</script><!--';", "app.css": b"a { color: red }"}


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is quickly built."""
    monkeypatch.setattr(standalone_page, "static", FILES.__getitem__)


def page_of(run: RunFile, baseline: RunFile | None = None) -> str:
    """What is written."""
    out = io.StringIO()
    standalone_page.write_page(run, out, baseline)
    return out.getvalue()


def data(page: str, name: str) -> str:
    """An element's data, unpacked."""
    found = re.search(rf'<script type="application/json\+gzip" id="{name}">([^<]*)</script>', page)
    assert found, name
    return gzip.decompress(base64.b64decode(found[1])).decode()


async def test_everything_is_in_it(make_run: Make) -> None:
    """Head, blocks, cells in chunks, with their calls."""
    calls = [
        (CallStart(0, "k", 0, "subject", "m", b'{"body":{}}', None), CallEnd(b"raw", "provider")),
        (CallStart(0, "j", 0, "judge", "m", b"not json", None), None),
    ]
    run = await make_run([result(i, output=f"<{i}>") for i in range(120)], calls=calls)
    page = page_of(run)
    top = json.loads(data(page, "data-head"))
    assert (top["chunk_size"], top["head"]["id"]) == (50, run.path.stem)
    assert top["labels"] == {"labels": [], "judged": []}
    assert [summary["id"] for summary in top["runs"]] == [run.path.stem]
    assert top["runs"][0].keys() < top["head"].keys()
    (block,) = map(json.loads, data(page, "data-blocks").splitlines())
    cells = [cell for n in range(3) for cell in json.loads(data(page, f"data-cells-{n}"))]
    assert [cell["index"] for cell in cells] == block["index"] == list(range(120))
    subject, judge = cells[0]["calls"]
    assert (subject["request"], subject["response"]) == ({"body": {}}, "raw")
    assert (judge["request"], judge["origin"]) == ("not json", None)
    assert "data-cells-3" not in page


async def test_nothing_that_anybody_wrote_is_markup(make_run: Make) -> None:
    """Not a byte of it stands in the page but packed; only the title does, escaped."""
    trial = result(0, output=EVIL, description=EVIL, prompt=EVIL, reason=EVIL, vars={EVIL: EVIL})
    run = await make_run([trial], (Variant(0, EVIL, EVIL),), title=EVIL)
    page = page_of(run)
    assert "alert(1)</script>" not in page
    assert "onerror" not in re.sub(r"<title>.*?</title>", "", page)
    assert re.search(r"<title>[^<]*</title>", page)
    assert json.loads(data(page, "data-cells-0"))[0]["output"] == EVIL
    assert len(re.findall(r"</script", page)) == len(re.findall(r"<script", page))


async def test_the_page_may_run_its_own_script_and_nothing_else(make_run: Make) -> None:
    """By hash, of what stands in it; no address, no connection."""
    page = page_of(await make_run([result(0)]))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", page)


async def test_labels_and_a_comparison_travel_with_it(make_run: Make) -> None:
    """And the run that it is held against, as far as a comparison needs it."""
    before = await make_run([result(i, ok=i % 2 == 0, case=f"c{i}") for i in range(8)])
    run = await make_run([result(i, case=f"c{i}") for i in range(8)])
    append_labels(run.path, [NewLabel(0, "verdict", "fail", "ann")])
    page = page_of(run, before)
    top = json.loads(data(page, "data-head"))
    assert top["labels"]["labels"][0]["value"] == "fail"
    assert top["comparison"]["baseline"]["id"] == before.path.stem
    assert top["baseline_head"]["id"] == before.path.stem
    assert top["summary"]["pass_rate"] == top["baseline_summary"]["pass_rate"] == 1.0
    assert len(top["runs"]) == 2
    assert json.loads(data(page, "data-baseline-blocks"))["outcome"] == "pfpfpfpf"
    assert len(json.loads(data(page, "data-baseline-cells-0"))) == 8


async def test_the_same_run_gives_the_same_page(make_run: Make) -> None:
    """Byte for byte: there is no time in it but the run's own."""
    run = await make_run([result(i) for i in range(3)])
    assert page_of(run) == page_of(run)


async def test_a_page_that_was_not_built_cannot_be_written(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says how to get it."""
    monkeypatch.setattr(
        standalone_page, "static", partial(part, "the viewer's page", "evenhand.wings.viewer", "no")
    )
    with pytest.raises(UsageError, match="was built without the viewer's page") as refused:
        page_of(await make_run([result(0)]))
    assert "Install Evenhand again" in refused.value.hint
