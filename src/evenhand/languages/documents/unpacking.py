"""How much a packed file may come to: a small one can unpack to more than there is memory."""

from __future__ import annotations

import zipfile

FREELY = 1 << 26
"""Bytes that anything may unpack to."""
RATIO = 200
"""How many times its packed size it may be beyond that: written text shrinks to a fifth, or a thirtieth."""


def too_packed(unpacked: int, packed: int) -> str | None:
    """Why what says that it unpacks to so many bytes isn't read; None where it may be."""
    if unpacked <= max(FREELY, RATIO * packed):
        return None
    return f"unpacks from {packed:,} bytes to {unpacked:,}, which is more than is read"


def packed_too_far(archive: zipfile.ZipFile) -> str | None:
    """Why an archive isn't read, going by what all its members unpack to; None where it may be."""
    members = archive.infolist()
    return too_packed(sum(m.file_size for m in members), sum(m.compress_size for m in members))
