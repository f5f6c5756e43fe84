"""What a variable that names a file stands for: text, JSON of YAML, the text of a PDF, the bytes of media."""

from __future__ import annotations

import base64
import os
import re
from importlib.util import find_spec
from pathlib import Path

from evenhand.core.errors import CodeError
from evenhand.doors.promptfoo.environment import switched_on
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import read_document
from evenhand.languages.templates.printing import as_json

_PICTURES = {
    **{f".{kind}": kind for kind in "jpeg png gif bmp webp heic heif avif tiff".split()},
    ".jpg": "jpeg",
    ".svg": "svg+xml",
    ".tif": "tiff",
}
_SOUND_AND_FILM = frozenset(
    """
    .wav .mp3 .ogg .aac .m4a .flac .wma .aif .aiff .aifc .opus
    .mp4 .mpeg .mpg .webm .mov .avi .flv .wmv .mkv .m4v .3gp .3gpp
    """.split()
)
_MAGIC = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"RIFF", "webp"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x00\x00\x01\x00", "x-icon"),
)
"""How pictures begin, whatever their files are called."""


def is_bytes(path: Path) -> bool:
    """Whether a variable is made of a file's bytes, not of its text."""
    suffix = path.suffix.lower()
    return suffix in _PICTURES or suffix in _SOUND_AND_FILM or suffix == ".pdf"


def unreadable(path: Path) -> tuple[str, str] | None:
    """What keeps such a file from being read here, and what to do; None for nothing."""
    if path.suffix.lower() != ".pdf" or _switched_off("PDF_AS_TEXT") or find_spec("pypdf"):
        return None
    return (
        f"{path.name}: PDF files are read with pypdf, which is not installed",
        "pip install 'evenhand[pdf]'",
    )


def sent_whole(prompt: str) -> frozenset[str]:
    """The variables that stand in a prompt's messages where a vendor wants the bytes of a file."""
    return frozenset(match[1] for match in re.finditer(_BYTES_PLACE, prompt))


_BYTES_PLACE = r"""["']?\b(?:data|file_data|bytes)["']?\s*:\s*["']?\{\{\s*([A-Za-z_]\w*)\s*\}\}"""


def file_value(path: Path, *, whole: bool = False) -> object:
    """What a variable that names this file stands for.

    YAML is JSON text, a PDF its text, a picture a data URL, sound and film are base64, and all else is text, trimmed.
    PROMPTFOO_DISABLE_PDF_AS_TEXT and PROMPTFOO_DISABLE_MULTIMEDIA_AS_BASE64 have their files read as text, too.

    Args:
        whole: It stands where a file's bytes are wanted: a PDF is a data URL there.

    Raises:
        CodeError: It cannot be read.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in (".yaml", ".yml"):
            return _json_of(path)
        if suffix == ".pdf" and whole:
            return f"data:application/pdf;base64,{base64.b64encode(path.read_bytes()).decode()}"
        if suffix == ".pdf" and not _switched_off("PDF_AS_TEXT"):
            return _text_of_pdf(path)
        if is_bytes(path) and suffix != ".pdf" and not _switched_off("MULTIMEDIA_AS_BASE64"):
            return _base64_of(path)
        # A hint has said where it isn't UTF-8.
        return path.read_text("utf-8-sig", "replace").strip()
    except OSError as error:
        raise CodeError(f"{path.name} cannot be read: {error}") from None


def _switched_off(what: str) -> bool:
    return switched_on(os.environ, f"PROMPTFOO_DISABLE_{what}")


def _json_of(path: Path) -> str:
    findings = Findings(replacing=True)
    document = read_document(path, findings)
    if document is None:
        raise CodeError(str(findings.problems[0]))
    return as_json(document.value)


def _base64_of(path: Path) -> str:
    data = path.read_bytes()
    text = base64.b64encode(data).decode()
    kind = _PICTURES.get(path.suffix.lower())
    if kind is None:
        return text
    kind = next((subtype for begins, subtype in _MAGIC if data.startswith(begins)), kind)
    return f"data:image/{kind};base64,{text}"


def _text_of_pdf(path: Path) -> str:
    wrong = unreadable(path)
    if wrong:
        raise CodeError(wrong[0], hint=wrong[1])
    from pypdf import PdfReader  # noqa: PLC0415 (an extra)
    from pypdf.errors import PyPdfError  # noqa: PLC0415 (imported on use)

    try:
        return "\n\n".join(page.extract_text() for page in PdfReader(path).pages).strip()
    except (PyPdfError, ValueError, KeyError, RecursionError) as error:
        raise CodeError(f"{path.name} is not a readable PDF: {error}") from None
