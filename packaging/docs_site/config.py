"""The generator's configuration. Everything that a page needs is on the site: no fonts or scripts from elsewhere."""

from __future__ import annotations

import json

from contents import Page

HEAD = """
[project]
site_name = "Evenhand"
site_description = "Find out whether your LLM application is good"
use_directory_urls = false
docs_dir = "docs"
site_dir = "site"
nav = [
{nav}
]

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.footer", "navigation.sections", "navigation.top", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme)"
toggle.icon = "lucide/sun-moon"
toggle.name = "Switch to light mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Switch to dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Switch to system preference"

[project.extra]
generator = false
version.provider = "mike"

[project.markdown_extensions]
attr_list = {{}}
pymdownx.highlight.pygments_lang_class = true
pymdownx.inlinehilite = {{}}
pymdownx.superfences = {{}}
toc.permalink = true
toc.slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
"""


def written(sections: list[tuple[str, list[Page]]]) -> str:
    """The configuration's text, for this navigation."""
    lines: list[str] = []
    for title, pages in sections:
        items = [f"{{ {json.dumps(name)} = {json.dumps(path)} }}" for name, path in pages]
        if title:
            lines.append(f"  {{ {json.dumps(title)} = [{', '.join(items)}] }},")
        else:
            lines.extend(f"  {item}," for item in items)
    return HEAD.format(nav="\n".join(lines))
