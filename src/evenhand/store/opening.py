"""Opens the recordings that somebody means: a run, as `find` finds it, or a cassette."""

from __future__ import annotations

import time
from pathlib import Path

from evenhand.core.ages import age_in_words
from evenhand.core.errors import UsageError
from evenhand.store.cassette import CassetteSource, is_cassette
from evenhand.store.catalogue import SUFFIX, find
from evenhand.store.recordings import Recordings, RunSource


def recordings_of(start: Path, ref: str, max_age_s: float | None = None) -> Recordings:
    """The recordings of a run or a cassette.

    Args:
        start: Where somebody stands: runs are looked for from there.
        ref: A run's id, the start of one, `latest`, its file; or the file of a cassette.
        max_age_s: How old it may be, in seconds; None for any age, or for what a cassette says itself.

    Raises:
        UsageError: There is none, more than one, or it is too old.
        StoreError: It cannot be read.
    """
    file = Path(ref)
    if file.is_file() and file.suffix != SUFFIX:
        if not is_cassette(file):
            raise UsageError(
                f"{ref} is neither a run nor a cassette",
                hint="`evenhand runs cassette RUN --to FILE` makes one.",
            )
        return Recordings(CassetteSource.read(file, max_age_s))
    try:
        source = RunSource(find(start, ref))
    except UsageError as error:
        # A dot or a slash says that a file was meant, and not the id of a run.
        if ref.endswith(SUFFIX) or not ({".", "/"} & set(ref)):
            raise
        raise UsageError(
            f"there is no cassette {ref}",
            hint="`evenhand runs cassette RUN --to FILE` makes one of a run.",
        ) from error
    age = time.time() - source.header.recorded_at
    if max_age_s is not None and age > max_age_s:
        source.close()
        raise UsageError(
            f"{source.header.name} was recorded {age_in_words(age)} ago, and may be"
            f" {age_in_words(max_age_s)} old, as --max-age says",
            hint="Run it again, or allow more.",
        )
    return Recordings(source)
