"""Variables that name files: what each kind of file stands for."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from evenhand.core.errors import CodeError, ConfigError
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.variable_files import file_value

PNG = b"\x89PNG\r\n\x1a\n rest"


def encoded(data: bytes) -> str:
    """These bytes in base64."""
    return base64.b64encode(data).decode()


def pdf(path: Path, *texts: str) -> None:
    """A PDF with a page for each text."""
    streams = [f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode() for text in texts]
    count = len(texts)
    pages = [4 + i for i in range(count)]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{n} 0 R' for n in pages)}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + count + i} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
            for i in range(count)
        ),
        *(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(s), s) for s in streams),
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(data))
    path.write_bytes(data + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer)


def test_a_pdf_stands_for_its_text(tmp_path: Path) -> None:
    """Page by page; one that is none says so."""
    pytest.importorskip("pypdf")
    pdf(tmp_path / "a.pdf", "Hello there", "Page two")
    assert str(file_value(tmp_path / "a.pdf")).split() == ["Hello", "there", "Page", "two"]
    (tmp_path / "b.pdf").write_text("no PDF at all")
    with pytest.raises(CodeError, match=r"b\.pdf is not a readable PDF"):
        file_value(tmp_path / "b.pdf")


def test_without_pypdf_a_pdf_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is run."""
    pdf(tmp_path / "a.pdf", "Hello")
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['{{a}}']\nproviders: [echo]\ntests: [{vars: {a: 'file://a.pdf'}}]\n"
    )
    load(tmp_path)
    monkeypatch.setattr("evenhand.doors.promptfoo.variable_files.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"evenhand\[pdf\]"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("a.png", PNG, f"data:image/png;base64,{encoded(PNG)}"),
        ("a.jpg", PNG, f"data:image/png;base64,{encoded(PNG)}"),
        ("a.JPG", b"?", f"data:image/jpeg;base64,{encoded(b'?')}"),
        ("a.svg", b"<svg/>", f"data:image/svg+xml;base64,{encoded(b'<svg/>')}"),
        ("a.mp3", b"\x00\xff", encoded(b"\x00\xff")),
        ("a.mp4", b"\x00\xff", encoded(b"\x00\xff")),
        ("a.yaml", b"b: [1, x]", '{"b":[1,"x"]}'),
        ("a.txt", b"  text\n", "text"),
    ],
)
def test_media_are_base64_and_all_else_is_text(
    tmp_path: Path, name: str, data: bytes, value: str
) -> None:
    """Pictures as data URLs, by what they begin with rather than by their name."""
    (tmp_path / name).write_bytes(data)
    assert file_value(tmp_path / name) == value


def test_media_and_pdf_can_be_left_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By promptfoo's switches."""
    monkeypatch.setenv("PROMPTFOO_DISABLE_MULTIMEDIA_AS_BASE64", "true")
    monkeypatch.setenv("PROMPTFOO_DISABLE_PDF_AS_TEXT", "1")
    for name in ("a.svg", "a.pdf"):
        (tmp_path / name).write_text(" <svg/> ")
        assert file_value(tmp_path / name) == "<svg/>"
