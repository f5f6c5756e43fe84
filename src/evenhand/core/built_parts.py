"""Parts of the package that are built or copied from npm's packages when it is built: the page, Nunjucks, SQL parsers.

They are not in the repository, so an installation that was built without npm's registry lacks them. Whoever needs one
asks here, and gets it or one message.
"""

from __future__ import annotations

from importlib import resources

from evenhand.core.errors import UsageError

CURE = (
    "Install Evenhand again where npm's registry can be reached: pip install --force-reinstall "
    "--no-deps, with the name or the path that it was installed from. In a checkout: just page"
)


def is_built(package: str, *path: str) -> bool:
    """Whether a part is there, as `is_built("evenhand.wings.viewer", "static", "app.js")`."""
    return resources.files(package).joinpath(*path).is_file()


def part(what: str, package: str, *path: str) -> bytes:
    """The contents of a part.

    Args:
        what: What it is, for the message: `the viewer's page`.
        package: The package that it lies in.
        path: Its path below that.

    Raises:
        UsageError: It is missing; with what to do.
    """
    file = resources.files(package).joinpath(*path)
    if not file.is_file():
        raise missing(what)
    return file.read_bytes()


def missing(what: str) -> UsageError:
    """That an installation was built without a part."""
    return UsageError(f"this installation was built without {what}", hint=CURE)
