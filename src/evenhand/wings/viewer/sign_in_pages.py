"""What somebody sees who isn't signed in, or has no role: pages in the viewer's style, and a script."""

from __future__ import annotations

import base64
from html import escape

from evenhand.wings.viewer.page import ICON

PLACE = """"use strict";
// Who follows a link to a place in the viewer gets there after signing in: no server sees what stands after the #.
{
  const kept = "evenhand.place";
  const place = sessionStorage.getItem(kept) ?? "";
  if (document.getElementById("app") === null) {
    if (location.hash.startsWith("#/")) sessionStorage.setItem(kept, location.hash);
  } else {
    sessionStorage.removeItem(kept);
    if (place.startsWith("#/") && location.hash.length < 3) location.replace(place);
  }
}
"""
_ICON = base64.b64encode(ICON.encode()).decode()


def page_of(title: str, text: str, link: str, words: str) -> str:
    """A page that says one thing, with one link; both are texts, whoever wrote them."""
    way = (
        f'<p><a class="button primary" href="{escape(link)}">{escape(words)}</a></p>\n'
        if link
        else ""
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Evenhand</title>\n'
        f'<link rel="icon" href="data:image/svg+xml;base64,{_ICON}">\n'
        '<link rel="stylesheet" href="/sign-in.css">\n</head>\n<body>\n<main class="told">\n'
        f'<h1 class="told-title">{escape(title)}</h1>\n<p>{escape(text)}</p>\n{way}</main>\n'
        '<script src="/place.js"></script>\n</body>\n</html>\n'
    )
