"""How people name a remote, and a run there: `s3://bucket/evals`, `runs-of-the-team#01JD3K`."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.secrets import is_secret_name, known

S3 = "s3"
DATABASES = ("postgresql", "postgres")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9._:-]+")
RUNS = "runs"
"""The folder of a remote with a manifest for each run."""
_KINDS = "s3://BUCKET/FOLDER, postgresql://HOST/DATABASE, or a folder"


class Address(Record, frozen=True):
    """Where a remote is.

    Attributes:
        kind: s3, postgresql or folder.
        full: What it is reached by; it may have a password in it.
        name: For people: without what is secret.
    """

    kind: str
    full: str
    name: str

    @classmethod
    def of(cls, text: str) -> Address:
        """What somebody wrote.

        Raises:
            UsageError: It names no remote.
        """
        if "://" not in text:
            if not text:
                raise UsageError("a remote needs a name", hint=f"There are: {_KINDS}.")
            return cls("folder", text, text)
        scheme = text.partition("://")[0].lower()
        try:
            parts = urlsplit(text)
            name, secrets = _without_secrets(text)
        except ValueError:
            raise UsageError("the address of the remote cannot be read", hint=_KINDS) from None
        known.learn(secrets)
        if scheme == S3:
            if parts.username or parts.password or parts.query:
                raise UsageError(
                    f"{name}: an address of S3 is a bucket and a folder, with no keys in it",
                    hint="Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the machine's role.",
                )
            if not parts.netloc:
                raise UsageError(f"{name}: there is no bucket", hint="Write s3://BUCKET/FOLDER.")
            if not _BUCKET.fullmatch(parts.netloc):
                raise UsageError(
                    f"{name}: {parts.netloc!r:.80} can't be the name of a bucket",
                    hint="Write s3://BUCKET/FOLDER.",
                )
            return cls(S3, text, name)
        if scheme in DATABASES:
            return cls("postgresql", text, name)
        raise UsageError(f"{name} is not a remote", hint=f"There are: {_KINDS}.")


def _without_secrets(url: str) -> tuple[str, list[str]]:
    """An address without what is secret in it, and that."""
    parts = urlsplit(url)
    fields = parse_qsl(parts.query, keep_blank_values=True)
    secrets = [value for name, value in fields if is_secret_name(name)]
    secrets += [parts.password, unquote(parts.password)] if parts.password else []
    query = urlencode([(k, v) for k, v in fields if not is_secret_name(k)], safe="/")
    user = f"{parts.username}@" if parts.username and parts.scheme != S3 else ""
    host = parts.netloc.rpartition("@")[2]
    text = f"{parts.scheme}://{user}{host}{parts.path}"
    return f"{text}?{query}" if query else text, secrets


class RemoteRun(Record, frozen=True):
    """A run of a remote, as people name it: `REMOTE#RUN`, and `REMOTE#RUN:COLUMN` where columns are compared.

    Attributes:
        run: An id, or the start of one; empty for the latest.
        column: Of the run; empty for all of it.
    """

    address: Address
    run: str = ""
    column: str = ""


def remote_run(text: str) -> RemoteRun | None:
    """The run of a remote that somebody means; None where it is a run of this machine.

    Raises:
        UsageError: It looks like a remote, and is none.
    """
    place, _, rest = text.partition("#")
    if not _URL.match(text) and not is_remote_folder(Path(place)):
        # Columns may have any sign in their names: `latest:plain #2`, `:openai:llama3@http://localhost/v1`.
        if "#" in text and Path(place).is_dir():
            raise UsageError(
                f"{place} has no pushed runs",
                hint="`evenhand runs push RUN --to FOLDER` puts them there.",
            )
        return None
    run, _, column = rest.partition(":")
    return RemoteRun(Address.of(place), "" if run == "latest" else run, column)


def is_remote_folder(folder: Path) -> bool:
    """Whether runs have been pushed to a folder."""
    try:
        return any((folder / RUNS).glob("*.json"))
    except OSError:
        return False
