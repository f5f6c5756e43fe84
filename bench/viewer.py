"""How fast the viewer is, in a real Chromium: run files of any size, the real command, the page as it is served.

python bench/viewer.py [--cases 100000] [--variants 4] [--home FOLDER]

Prints a table of what was measured, beside what we hold ourselves to, and exits with 1 where something is over. A home
that is given is kept, and used again the next time. It is no test: what it measures depends on the machine.
"""

from __future__ import annotations

import argparse
import gzip
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from viewer_run import write_run

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "src" / "evenhand" / "wings/viewer/static"
CHROMIUM = "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
PATIENCE_S = 240
SMALL = 1_000
"""Cases of a report as they usually are."""

# Told by the page itself: when its first rows stood on the screen, and each task that took longer than 50 ms.
WATCH = """(() => {
  window.firstRow = undefined;
  window.longTasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => window.longTasks.push(entry.duration)))
    .observe({ type: "longtask", buffered: true });
  const look = () => {
    if (document.querySelector("[role=grid] [role=gridcell], [role=grid] [role=rowheader]") !== null) {
      requestAnimationFrame(() => { window.firstRow = performance.now(); });
    } else requestAnimationFrame(look);
  };
  look();
})();"""
# Goes to a filter by the address, and waits until the grid has another number of rows and has drawn them.
FILTER = """async ([fragment, patience]) => {
  const count = () => document.querySelector("[role=grid]")?.getAttribute("aria-rowcount");
  const frame = () => new Promise(requestAnimationFrame);
  const before = count();
  const start = performance.now();
  location.hash = fragment;
  const searching = () => document.querySelector(".filter-state") !== null;
  while ((count() === before || searching()) && performance.now() - start < patience) await frame();
  await frame();
  return [performance.now() - start, Number(count() ?? 1) - 1];
}"""
SORT = """async (fragment) => {
  const first = () => document.querySelector("[role=rowheader]")?.textContent;
  const before = first();
  const start = performance.now();
  location.hash = fragment;
  while (first() === before && performance.now() - start < 5000) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
OPEN = """async () => {
  const start = performance.now();
  // Its first part, not all of it: to put 10 MB together in every frame would be what is measured.
  const text = () => document.querySelector("[role=dialog] .text-chunk")?.textContent.length ?? 0;
  location.hash += location.hash.includes("?") ? "&cell=1" : "?cell=1";
  while (text() < 1000) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
SCROLL = """async (steps) => {
  const grid = document.querySelector("[role=grid]");
  const frame = () => new Promise(requestAnimationFrame);
  window.longTasks.length = 0;
  let most = 0;
  const start = performance.now();
  for (let step = 0; step < steps; step++) {
    grid.scrollTop = step < steps / 2 ? step * 400 : (grid.scrollHeight * step) / steps;
    await frame();
    most = Math.max(most, document.querySelectorAll("[role=row]").length);
  }
  const fps = (1000 * steps) / (performance.now() - start);
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { most, fps, long: window.longTasks.length, worst: Math.max(0, ...window.longTasks) };
}"""


class Viewer:
    """`evenhand view` at work."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "view", "--no-browser", "--port", "0"],
            env={"PATH": "/usr/bin:/bin", "EVENHAND_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        address = re.search(r"http://\S+token=\S+", self.process.stdout.readline())
        assert address is not None
        self.link = address[0]

    def most_mb(self) -> float:
        """The most memory that it has held so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        assert peak is not None
        return int(peak[1]) / 1024


@contextmanager
def viewing(home: Path) -> Iterator[Viewer]:
    viewer = Viewer(home)
    try:
        yield viewer
    finally:
        viewer.process.terminate()
        viewer.process.wait()


class Table:
    """What was measured, and what it should be at most."""

    def __init__(self) -> None:
        self.over = 0

    def add(self, what: str, value: float, unit: str, most: float | None = None) -> None:
        limit = "" if most is None else f"≤ {most:g} {unit}"
        bad = most is not None and value > most
        self.over += bad
        print(f"{'!' if bad else ' '} {what:<52} {value:>10,.1f} {unit:<5} {limit}", flush=True)


def opened(browser: Any, link: str, fragment: str = "") -> Any:
    """A page that has been let in, at this state; how long it took is in its `firstRow`."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.add_init_script(WATCH)
    if link.startswith("file:"):
        page.goto(link + fragment)
    else:
        page.goto(link)
        page.goto("about:blank")
        page.goto(link.partition("?")[0] + fragment)
    return page


def first_row(page: Any) -> float:
    """Milliseconds from the start of the navigation to the first row on the screen."""
    page.wait_for_function("() => window.firstRow !== undefined", polling=50)
    return float(page.evaluate("() => window.firstRow"))


def wait_for_all(page: Any) -> float:
    """Waits until all cells are there; milliseconds from the start of the navigation."""
    page.wait_for_function(
        "() => document.querySelector('[role=grid]')?.getAttribute('aria-busy') !== 'true'",
        polling=50,
    )
    return float(page.evaluate("() => performance.now()"))


def bundle(table: Table) -> None:
    size = sum(len(gzip.compress((STATIC / name).read_bytes())) for name in ("app.js", "app.css"))
    table.add("the bundle, gzipped", size / 1000, "kB", 130)


def large(table: Table, browser: Any, home: Path, cases: int, variants: int) -> None:
    """A run of many rows: first paint, all cells, filters, sorting, scrolling, memory."""
    folder = home / f"rows-{cases}-{variants}"
    path = next((folder / "runs").glob("*.db"), None)
    if path is None:
        path = write_run(folder, cases, variants)
    run = f"#/run/{path.stem}"
    name = f"{cases:,} × {variants}"
    with viewing(folder) as viewer:
        cold = opened(browser, viewer.link, run)
        table.add(f"{name}: first rows, file never read before", first_row(cold), "ms", 1000)
        table.add(f"{name}: all cells, file never read before", wait_for_all(cold), "ms")
        cold.close()
        page = opened(browser, viewer.link, run)
        table.add(f"{name}: first rows", first_row(page), "ms", 1000)
        table.add(f"{name}: all cells", wait_for_all(page), "ms")
        page.wait_for_timeout(500)
        for what in (
            "status:fail",
            "score<0.5",
            "similarity>0.9",
            "latency>2s",
            "tag:billing -status:pass",
            "-is:different",
            "case:case-0500",
            "case-05000",
            "customers",
            "nowhere in it",
        ):
            filtered(table, page, run, name, what)
        table.add(f"{name}: sort by a score", sorted_by(page, f"{run}?sort=score.1"), "ms", 300)
        page.evaluate("(there) => { location.hash = there; }", run)
        page.wait_for_timeout(500)
        frames = page.evaluate(SCROLL, 200)
        table.add(f"{name}: most rows in the page while scrolling", frames["most"], "", 299)
        table.add(f"{name}: frames a second while scrolling", frames["fps"], "")
        table.add(f"{name}: tasks over 50 ms while scrolling", frames["long"], "")
        table.add(f"{name}: the longest of them", frames["worst"], "ms")
        memory = page.evaluate("() => performance.memory?.usedJSHeapSize ?? 0") / 1e6
        table.add(f"{name}: memory of the page", memory, "MB")
        table.add(f"{name}: memory of the server, at most", viewer.most_mb(), "MB", 200)
        page.close()


def filtered(table: Table, page: Any, run: str, name: str, what: str, most: float = 300) -> None:
    """Three times from all rows to those of a filter; the median."""
    times: list[float] = []
    rows = 0
    for _ in range(3):
        took, rows = page.evaluate(FILTER, [f"{run}?q={what.replace(' ', '%20')}", 5_000])
        times.append(took)
        page.evaluate(FILTER, [run, 5_000])
    table.add(f"{name}: filter {what} ({rows:,} rows)", statistics.median(times), "ms", most)


def sorted_by(page: Any, fragment: str) -> float:
    """Milliseconds from the plan's order to another one: until another row is the first."""
    return float(page.evaluate(SORT, fragment))


def big_output(table: Table, browser: Any, home: Path) -> None:
    """One output of 10 MB: until its text can be read in the drawer."""
    run = home / "output-10mb"
    path = next((run / "runs").glob("*.db"), None)
    if path is None:
        path = write_run(run, 3, 1, characters=10_000_000)
    with viewing(run) as viewer:
        page = opened(browser, viewer.link, f"#/run/{path.stem}")
        first_row(page)
        for attempt in ("first time", "again"):
            took = page.evaluate(OPEN)
            table.add(f"an output of 10 MB, opened {attempt}", took, "ms", 500)
            page.keyboard.press("Escape")
            page.wait_for_timeout(300)
        table.add("an output of 10 MB: memory of the server, at most", viewer.most_mb(), "MB", 200)
        page.close()


def many_columns(table: Table, browser: Any, home: Path) -> None:
    """A matrix of 200 × 60 cells: how soon it is there, and how little of it is drawn."""
    run = home / "columns-60"
    path = next((run / "runs").glob("*.db"), None)
    if path is None:
        path = write_run(run, 200, 60)
    with viewing(run) as viewer:
        page = opened(browser, viewer.link, f"#/run/{path.stem}")
        table.add("200 × 60: first rows", first_row(page), "ms", 1000)
        page.wait_for_timeout(1000)
        elements = page.evaluate("() => document.querySelectorAll('*').length")
        table.add("200 × 60: elements", elements, "", 2500)
        page.close()


def one_file(table: Table, browser: Any, home: Path, cases: int, variants: int) -> None:
    """A report: how large it is, how fast it opens, and how fast a text and an expression are found in it."""
    name = f"a report of {cases:,} × {variants}"
    run = home / f"report-{cases}"
    path = next((run / "runs").glob("*.db"), None)
    if path is None:
        path = write_run(run, cases, variants)
    report = home / f"report-{cases}.html"
    started = time.perf_counter()
    subprocess.run(
        [*COMMAND, "export", path.stem, "--to", str(report)],
        env={"PATH": "/usr/bin:/bin", "EVENHAND_HOME": str(run)},
        check=True,
        capture_output=True,
    )
    table.add(f"{name}: written in", (time.perf_counter() - started) * 1000, "ms")
    table.add(f"{name}: size", report.stat().st_size / 1e6, "MB", 3 if cases == SMALL else None)
    page = opened(browser, report.as_uri(), f"#/run/{path.stem}")
    table.add(f"{name}: first rows", first_row(page), "ms", 1000 if cases == SMALL else None)
    table.add(f"{name}: all cells", wait_for_all(page), "ms", 1000 if cases == SMALL else None)
    for what in ("case-0001", "customers", "/thirty days.*paid/"):
        filtered(table, page, f"#/run/{path.stem}", name, what, 1000)
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--variants", type=int, default=4)
    parser.add_argument("--home", type=Path, help="keep the runs here, and use them again")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (`--help` does not want it)

    table = Table()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = (options.home or Path(folder)).absolute()
        home.mkdir(parents=True, exist_ok=True)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        bundle(table)
        one_file(table, browser, home, SMALL, 3)
        one_file(table, browser, home, 25_000, 4)
        many_columns(table, browser, home)
        big_output(table, browser, home)
        large(table, browser, home, options.cases, options.variants)
        browser.close()
    sys.exit(table.over > 0)


if __name__ == "__main__":
    main()
