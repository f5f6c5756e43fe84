"""The page's own files: built from `page/`, read once, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from html import escape

from evenhand.core.built_parts import part

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2563a8"/>'
    '<path d="M4 5h8M4 8h8M4 11h8" stroke="#fff" stroke-width="1.6"/></svg>'
)
_APP = '<div id="app"></div>'
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
<link rel="modulepreload" href="/live.js">
</body>
</html>
"""
File = tuple[bytes, str]


def index(attributes: Mapping[str, str], script: str) -> str:
    """The page itself, with what it is told by attributes, and a script that runs before its own."""
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
    before, after = _INDEX.split(_APP)
    return f'{before}<div id="app"{data}></div>\n<script src="{script}"></script>{after}'


@cache
def static(name: str) -> bytes:
    """A built file.

    Raises:
        UsageError: This installation was built without the page.
    """
    return part("the viewer's page", "evenhand.wings.viewer", "static", name)


def look() -> None:
    """Looks whether there is a page at all.

    Raises:
        UsageError: This installation was built without the page.
    """
    static("app.js")


FILES: Mapping[str, Callable[[], File]] = {
    "/": lambda: (_INDEX.encode(), "text/html; charset=utf-8"),
    "/app.js": lambda: (static("app.js"), "text/javascript; charset=utf-8"),
    "/live.js": lambda: (static("live.js"), "text/javascript; charset=utf-8"),
    "/app.css": lambda: (static("app.css"), "text/css; charset=utf-8"),
    "/icon.svg": lambda: (ICON.encode(), "image/svg+xml"),
}
"""All that is served beside the data."""
