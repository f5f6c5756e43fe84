"""What to say of a model that lacks its key."""

from __future__ import annotations

NO_KEY = "there is no API key for {}"
"""What to say of a provider that lacks its key; `catalog.key_missing` says which."""
_HOW = {"GOOGLE_ACCESS_TOKEN": "to what `gcloud auth print-access-token` prints"}
"""How to come by a key that lasts an hour. Application-default credentials are not read."""


def set_key(variable: str) -> str:
    """What to do about a key that is missing, by the environment variable that holds it."""
    how = _HOW.get(variable)
    return f"Set {variable} in the environment{f', {how}' if how else ''}."
