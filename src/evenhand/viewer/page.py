"""The page's own files: built from `page/`, read once, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2563a8"/>'
    '<path d="M4 5h8M4 8h8M4 11h8" stroke="#fff" stroke-width="1.6"/></svg>'
)
_INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Evenhand</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/app.css">
</head>
<body>
<div id="app"></div>
<script src="/app.js"></script>
</body>
</html>
"""
_NOT_BUILT = (
    "The page has not been built in this checkout.\n"
    "Build it with `just page` (it wants Node), and load this again.\n"
)

File = tuple[bytes, str]


@cache
def static(name: str) -> bytes:
    """A built file; empty where the page has not been built."""
    found = resources.files("evenhand.viewer").joinpath("static", name)
    return found.read_bytes() if found.is_file() else b""


def _index() -> File:
    if not static("app.js"):
        return _NOT_BUILT.encode(), "text/plain; charset=utf-8"
    return _INDEX.encode(), "text/html; charset=utf-8"


FILES: Mapping[str, Callable[[], File]] = {
    "/": _index,
    "/app.js": lambda: (static("app.js"), "text/javascript; charset=utf-8"),
    "/app.css": lambda: (static("app.css"), "text/css; charset=utf-8"),
    "/icon.svg": lambda: (ICON.encode(), "image/svg+xml"),
}
"""All that is served beside the data."""
