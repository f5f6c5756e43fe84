"""Takes the pictures of the viewer that the docs show, in light and in dark: `just pictures`.

The runs are those of bench/shop.py, made anew, and looked at through the command and the page as they are. Wants
Chromium. Pictures have few colours, so a palette of 256 keeps them small.
"""

from __future__ import annotations

import importlib.util
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parents[1] / "docs" / "images"
SHOP = Path(__file__).with_name("shop.py")
CHROMIUM = "/usr/bin/chromium"
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]
FOLDER = Path(tempfile.gettempdir()) / "shop"  # a path that says something: it is in the pictures
WIDTH, HEIGHT = 1280, 800
MOST = 150_000  # bytes of a picture

SETTLED = """() => document.querySelector("#app h1, #app h2") !== null
    && document.querySelector("[aria-busy=true]") === null
    && ![...document.querySelectorAll("[role=status], .cell-none")]
      .some((at) => /^(Reading|Comparing|…$)/.test(at.textContent))"""

PICTURES = {
    "runs": ("#/", 420),
    "matrix": ("#/run/{new}?base={old}&q=tag%3Abilling", HEIGHT),
    "drawer": ("#/run/{new}?cell=52", HEIGHT),
    "charts": ("#/run/{new}?view=charts", HEIGHT),
    "comparison": ("#/run/{new}?view=comparison&base={old}", HEIGHT),
}


def main() -> None:
    with sync_playwright() as playwright:
        home = FOLDER / ".evenhand"
        old, new = runs(FOLDER, home)
        server = subprocess.Popen(
            [*COMMAND, "view", "--no-browser", "--port", "0"],
            env={"PATH": "/usr/bin:/bin", "EVENHAND_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = re.search(r"(http://[^/]+)/\?token=\S+", server.stdout.readline())
            assert address is not None
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    color_scheme=scheme, locale="en-GB", timezone_id="UTC"
                )
                page = context.new_page()
                page.goto(address[0])
                for name, (fragment, height) in PICTURES.items():
                    page.set_viewport_size({"width": WIDTH, "height": height})
                    page.goto(f"{address[1]}/{fragment.format(old=old, new=new)}")
                    page.reload()
                    page.wait_for_function(SETTLED, timeout=60_000)
                    page.wait_for_timeout(1500)
                    take(page, HERE / f"{name}-{scheme}.png")
            browser.close()
        finally:
            server.terminate()
            server.wait()
            shutil.rmtree(FOLDER)


def runs(folder: Path, home: Path) -> tuple[str, str]:
    """The two runs of the shop, made from a file beside them."""
    folder.mkdir()
    path = shutil.copy(SHOP, folder / "assistant_evals.py")
    spec = importlib.util.spec_from_file_location("shop", path)
    assert spec is not None
    assert spec.loader is not None
    shop: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["shop"] = shop
    spec.loader.exec_module(shop)
    run = shop.write(home)
    return str(run[0]), str(run[1])


def take(page: Any, path: Path) -> None:
    """A picture of what is seen, and its size."""
    with Image.open(io.BytesIO(page.screenshot(animations="disabled"))) as picture:
        few = picture.convert("RGB").quantize(
            256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
        )
        few.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes")
    assert size <= MOST, "too large for the docs"


if __name__ == "__main__":
    main()
