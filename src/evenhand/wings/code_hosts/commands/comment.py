"""`evenhand comment`: what a gate came to, as one comment on a pull request."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.options import flag, number_option, text_option
from evenhand.cli.streams import printing, tell
from evenhand.core.errors import AuthError, UsageError
from evenhand.core.ranges import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.analysis.gates.gate_document import GateDocument
    from evenhand.wings.code_hosts.comments import Kept, Thread
    from evenhand.wings.code_hosts.github import GitHubPlace
    from evenhand.wings.code_hosts.gitlab import GitLabPlace

NUMBER = Range(1, 10**9, whole=True)


@click.command(short_help="Write a gate's result as one comment on a pull request.")
@click.argument("gate", type=click.Path(path_type=Path), metavar="FILE")
@number_option(
    "--pr",
    within=NUMBER,
    metavar="N",
    help="The pull or merge request.  [default: as GitHub Actions or GitLab CI say]",
)
@text_option(
    "--key",
    metavar="NAME",
    help="Tells this gate's comment from those of other gates.  [default: the baseline's file]",
)
@text_option(
    "--report-url", metavar="URL", help="The address of the HTML report, to link cases to."
)
@flag("--print", "only_print", help="Print the Markdown, and send nothing.")
def comment(gate: Path, pr: int | None, key: str, report_url: str, only_print: bool) -> int:
    """Write the gate in FILE, which `evenhand gate --to FILE` wrote, as one comment on the pull request, or update it.

    In GitHub Actions, this also writes the job's summary, and marks evals that became worse at their line. The token is
    in GITHUB_TOKEN or GITLAB_TOKEN.

    Exits with 0 whatever the gate's verdict was: the gate itself fails the job.
    """
    from evenhand.analysis.gates.gate_document import read_gate
    from evenhand.wings.code_hosts.comment_text import CommentLinks, address, markdown

    document = read_gate(gate)
    if report_url and not address(report_url):
        raise UsageError(
            f"--report-url is {report_url!r:.200}", hint="Name an address: https://…/report.html"
        )
    place = None if only_print else _place(os.environ, pr)
    links = CommentLinks(report_url, place.log if place else "", place.commit if place else "")
    text = markdown(document, links)
    if place is None:
        with printing():
            from evenhand.core.wording.words import put

            put(sys.stdout, text)
        return PASSED
    _summarise(document, text)
    return _sent(place, key or document.baseline or document.title, text)


def _place(env: Mapping[str, str], number: int | None) -> GitHubPlace | GitLabPlace:
    """Where to comment."""
    from evenhand.wings.code_hosts.github import github_place
    from evenhand.wings.code_hosts.gitlab import gitlab_place

    if env.get("GITHUB_REPOSITORY"):
        return github_place(env, number)
    if env.get("CI_API_V4_URL") or env.get("GITLAB_CI"):
        return gitlab_place(env, number)
    raise UsageError(
        "there is nowhere to comment: this is neither GitHub Actions nor GitLab CI",
        hint="--print prints the Markdown. Elsewhere, set GITHUB_REPOSITORY and GITHUB_TOKEN, and give --pr.",
    )


def _summarise(gate: GateDocument, text: str) -> None:
    """Writes the job's summary, and annotations, where GitHub reads them."""
    from evenhand.core.wording.words import put
    from evenhand.wings.code_hosts.comment_text import annotation_lines

    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(summary).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text + "\n")
        except OSError as error:
            tell(f"the job's summary cannot be written: {error.strerror or error}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        with printing():
            for line in annotation_lines(gate, os.environ.get("GITHUB_WORKSPACE", "")):
                put(sys.stdout, line + "\n", commands=True)


def _sent(place: GitHubPlace | GitLabPlace, key: str, text: str) -> int:
    """Sends a comment, and says what became of it.

    Raises:
        UsageError: There is no token, or it may not write.
        ProviderError: The host does not take it.
    """
    import asyncio

    from evenhand.wings.code_hosts.github import GitHubPlace

    github = isinstance(place, GitHubPlace)
    what, variable = ("pull", "GITHUB_TOKEN") if github else ("merge", "GITLAB_TOKEN")
    nowhere = place.number is None and not (github and place.head)
    if nowhere:
        tell(f"no comment: this job does not run for a {what} request")
        return PASSED
    if not place.token:
        if place.read_only:
            tell(f"no comment: the {what} request comes from a fork, whose jobs get no {variable}")
            return PASSED
        hint = "In a workflow: GITHUB_TOKEN: ${{ github.token }}" if github else _GITLAB_HINT
        raise UsageError(f"{variable} is not set", hint=hint)
    try:
        comment = asyncio.run(_kept(place, key, text))
    except AuthError as error:
        if error.status != 403:
            raise UsageError(f"{variable} is not accepted: {error.message}") from error
        if place.read_only:
            tell(
                f"no comment: the {what} request comes from a fork or a bot, whose token is read-only"
            )
            return PASSED
        raise UsageError(
            f"no comment: {error.message}",
            hint="The job needs `permissions: pull-requests: write`." if github else _GITLAB_HINT,
        ) from error
    if comment is None:
        tell(f"no comment: {place.commit[:10]} is no longer the head of an open {what} request")
    else:
        words = {"left": "unchanged: it is up to date, or from a later run"}
        tell(
            f"comment {words.get(comment.done, comment.done)}{': ' * bool(comment.url)}{comment.url}"
        )
    return PASSED


_GITLAB_HINT = (
    "Set it as a masked variable: a project access token with the scope api and the role Reporter."
)


async def _kept(place: GitHubPlace | GitLabPlace, key: str, text: str) -> Kept | None:
    from evenhand.providers.http import close
    from evenhand.wings.code_hosts.comments import keep_one
    from evenhand.wings.code_hosts.github import GitHubPlace, GitHubThread, pull_request
    from evenhand.wings.code_hosts.gitlab import GitLabThread

    api = place.api()
    try:
        if isinstance(place, GitHubPlace):
            number = await pull_request(place, api)
            if number is None:
                return None
            thread: Thread = GitHubThread(api, place.repository, number)
        else:
            thread = GitLabThread(api, place.project, place.number or 0, place.page)
        return await keep_one(thread, key, place.at, text)
    finally:
        await close()
