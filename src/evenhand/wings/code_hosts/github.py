"""The comments on a pull request of GitHub's, and where in GitHub Actions that is.

Sources: https://docs.github.com/en/rest/issues/comments, https://docs.github.com/en/rest/using-the-rest-api and
https://docs.github.com/en/actions/reference/variables-reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenhand.core.encoding import decode
from evenhand.core.errors import ProviderError, UsageError
from evenhand.core.json_shapes import as_array, as_mapping, as_text, is_object, is_whole
from evenhand.core.record import MutableRecord, Record
from evenhand.providers.rest import Api
from evenhand.wings.code_hosts.comments import Comment, Moment, whole_number

API = "https://api.github.com"
PAGES = 100
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_MERGED = re.compile(r"refs/pull/(\d{1,9})/(?:merge|head)")


class GitHubPlace(Record, frozen=True, kw_only=True):
    """Where a job of GitHub Actions, or somebody with the same variables, comments.

    Attributes:
        root: The API's address.
        repository: `owner/name`.
        token: What it is allowed by.
        number: The pull request; None for none, or where `head` says which.
        head: The branch of a fork, `owner:branch`, where the event names no number.
        commit: The commit that was looked at; empty where it is not known.
        at: The run that looked at it.
        read_only: Whether GitHub gives this job a token that may only read: of a fork, or for Dependabot.
    """

    root: str
    repository: str
    token: str
    number: int | None
    head: str = ""
    commit: str = ""
    at: Moment = (0, 0)
    log: str = ""
    read_only: bool = False

    def api(self) -> Api:
        """GitHub's API, called with this token."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return Api(self.root, headers)


def github_place(env: Mapping[str, str], number: int | None = None) -> GitHubPlace:
    """Where these variables lead.

    Args:
        env: `GITHUB_TOKEN`, `GITHUB_REPOSITORY`, `GITHUB_EVENT_PATH` and others.
        number: The pull request, where somebody says so.

    Raises:
        UsageError: A variable is missing or is not what it should be.
    """
    repository = env.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(
            f"GITHUB_REPOSITORY is {repository!r:.80}",
            hint="It is owner/name, and GitHub Actions sets it.",
        )
    event = _event(env.get("GITHUB_EVENT_PATH", ""))
    pull, before = _object(event, "pull_request"), _object(event, "workflow_run")
    server = env.get("GITHUB_SERVER_URL") or "https://github.com"
    run, attempt = env.get("GITHUB_RUN_ID", ""), env.get("GITHUB_RUN_ATTEMPT", "1")
    commit = _text(_object(pull, "head"), "sha") or env.get("GITHUB_SHA", "")
    head = ""
    known = _number(pull.get("number"))
    if before:  # the second workflow of two: what counts is the first
        run, attempt = str(before.get("id", "")), str(before.get("run_attempt", 1))
        commit = _text(before, "head_sha")
        known, head = _of_run(before)
    elif known is None and (merged := _MERGED.fullmatch(env.get("GITHUB_REF", ""))):
        known = int(merged[1])
    elif known is None and _object(_object(event, "issue"), "pull_request"):
        known = _number(_object(event, "issue").get("number"))
    source = _text(_object(_object(pull, "head"), "repo"), "full_name")
    return GitHubPlace(
        root=(env.get("GITHUB_API_URL") or API).rstrip("/"),
        repository=repository,
        token=env.get("GITHUB_TOKEN", ""),
        number=number or known,
        head=head if number is None else "",
        commit=commit,
        at=(whole_number(run), whole_number(attempt)),
        log=f"{server}/{repository}/actions/runs/{run}" if run.isdecimal() else "",
        read_only=bool(pull)
        and (source != repository or env.get("GITHUB_ACTOR") == "dependabot[bot]"),
    )


def _of_run(before: Mapping[str, Any]) -> tuple[int | None, str]:
    """The pull request of the workflow that ran before, or the branch of a fork that it is of."""
    if before.get("event") not in ("pull_request", "pull_request_target"):
        return None, ""
    pulls = before.get("pull_requests")
    for pull in as_array(pulls):
        if is_object(pull):
            return _number(pull.get("number")), ""
    owner = _text(_object(_object(before, "head_repository"), "owner"), "login")
    branch = _text(before, "head_branch")
    return None, f"{owner}:{branch}" if owner and branch else ""


async def pull_request(place: GitHubPlace, api: Api) -> int | None:
    """The number of the open pull request; None where there is none.

    Raises:
        ProviderError: GitHub does not say.
    """
    if place.number is not None or not place.head:
        return place.number
    path = f"/repos/{place.repository}/pulls?state=open&per_page=100&head={quote(place.head)}"
    answer, _ = await api.ask("GET", path)
    for pull in as_array(answer):
        if _text(_object(as_mapping(pull), "head"), "sha") == place.commit:
            return _number(as_mapping(pull).get("number"))
    return None


class GitHubThread(MutableRecord):
    """The comments on a pull request.

    Attributes:
        repository: `owner/name`.
    """

    api: Api
    repository: str
    number: int
    _login: str | None = None

    async def ours(self) -> Sequence[Comment]:
        """The comments that the token's owner wrote.

        A job's own token says nothing of its owner: then they are those of apps. Who is no app can't write such.
        """
        if self._login is None:
            self._login = await self._who()
        comments: list[Comment] = []
        path = f"/repos/{self.repository}/issues/{self.number}/comments?per_page=100"
        for page in range(1, PAGES + 1):
            rows, headers = await self.api.ask("GET", f"{path}&page={page}")
            for row in map(as_mapping, as_array(rows)):
                user = _object(row, "user")
                app = self._login == "" and user.get("type") == "Bot"
                if app or (self._login and user.get("login") == self._login):
                    comments.append(_comment(row))
            if 'rel="next"' not in headers.get("link", ""):
                break
        return comments

    async def _who(self) -> str:
        """The token's owner; empty for an app's token, which may not ask."""
        try:
            user, _ = await self.api.ask("GET", "/user")
        except ProviderError as error:
            if error.status in (403, 404):
                return ""
            raise
        return _text(as_mapping(user), "login")

    async def read(self, number: int) -> Comment:
        """One comment on the pull request."""
        row, _ = await self.api.ask("GET", self._one(number))
        return _comment(as_mapping(row))

    async def create(self, body: str) -> Comment:
        path = f"/repos/{self.repository}/issues/{self.number}/comments"
        row, _ = await self.api.ask("POST", path, {"body": body})
        return _comment(as_mapping(row))

    async def update(self, number: int, body: str) -> Comment:
        row, _ = await self.api.ask("PATCH", self._one(number), {"body": body})
        return _comment(as_mapping(row))

    async def delete(self, number: int) -> None:
        await self.api.ask("DELETE", self._one(number))

    def _one(self, number: int) -> str:
        return f"/repos/{self.repository}/issues/comments/{number}"


def _comment(row: Mapping[str, Any]) -> Comment:
    return Comment(_number(row.get("id")) or 0, _text(row, "body"), _text(row, "html_url"))


def _event(file: str) -> Mapping[str, Any]:
    """What GitHub says of why the job runs; empty where there is no such file."""
    try:
        return as_mapping(decode(Path(file).read_bytes())) if file else {}
    except (OSError, ValueError):
        return {}


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return as_mapping(value.get(key))


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    return as_text(text)


def _number(value: object) -> int | None:
    return value if is_whole(value) else None
