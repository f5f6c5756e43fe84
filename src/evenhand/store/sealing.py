"""The digest of a run: what binds a row elsewhere to this run and no other."""

from __future__ import annotations

from hashlib import sha256

from evenhand.core.encoding import encode
from evenhand.store.runfile import RunFile

LENGTH = 32


def digest_of(run: RunFile) -> str:
    """32 hex digits over all that a run asked, was answered and came to; labels, and how it ended, are not in it.

    Of a run that was gone on with, it is another one: the row that was written before is about less.
    """
    meta, hashed = run.meta, sha256()
    hashed.update(encode([meta.id, meta.fingerprint, meta.planned, meta.config]))
    for call in run.calls():
        start, end = call.start, call.end
        answer = [end.model, end.error, end.origin, sha256(end.body).hexdigest()] if end else []
        request = [start.trial, start.key, start.nth, start.role, start.provider, start.draw]
        hashed.update(encode([*request, sha256(start.identity).hexdigest(), *answer]))
    for result in run.results():
        hashed.update(sha256(result).digest())
    return hashed.hexdigest()[:LENGTH]
