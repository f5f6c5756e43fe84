"""The notes on a merge request of GitLab's, and where in GitLab CI that is.

Sources: https://docs.gitlab.com/api/notes/ and https://docs.gitlab.com/ci/variables/predefined_variables/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, as_text
from evenhand.core.record import MutableRecord, Record
from evenhand.providers.rest import Api
from evenhand.wings.code_hosts.comments import Comment, Moment, whole_number

PAGES = 100


class GitLabPlace(Record, frozen=True, kw_only=True):
    """Where a job of GitLab CI comments.

    Attributes:
        root: The API's address.
        project: The number of the project that the merge request is of.
        token: What it is allowed by; a job's own token can't write notes.
        number: The merge request's number within the project; None for none.
        commit: The commit that was looked at.
        at: The pipeline and the job.
        page: The merge request's page; empty where it is not known.
        read_only: Whether the merge request is of a fork, whose pipelines get no secrets.
    """

    root: str
    project: str
    token: str
    number: int | None
    commit: str = ""
    at: Moment = (0, 0)
    log: str = ""
    page: str = ""
    read_only: bool = False

    def api(self) -> Api:
        """GitLab's API, called with this token."""
        return Api(self.root, {"PRIVATE-TOKEN": self.token})


def gitlab_place(env: Mapping[str, str], number: int | None = None) -> GitLabPlace:
    """Where these variables lead.

    Args:
        env: `GITLAB_TOKEN`, `CI_API_V4_URL`, `CI_PROJECT_ID`, `CI_MERGE_REQUEST_IID` and others.
        number: The merge request, where somebody says so.

    Raises:
        UsageError: A variable is missing or is not what it should be.
    """
    root = env.get("CI_API_V4_URL", "").rstrip("/")
    project = env.get("CI_MERGE_REQUEST_PROJECT_ID") or env.get("CI_PROJECT_ID", "")
    for name, value, good in (
        ("CI_API_V4_URL", root, root.startswith(("https://", "http://"))),
        ("CI_PROJECT_ID", project, project.isascii() and project.isdecimal()),
    ):
        if not good:
            raise UsageError(f"{name} is {value!r:.80}", hint="GitLab CI sets it.")
    source = env.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", project)
    request, url = env.get("CI_MERGE_REQUEST_IID", ""), env.get("CI_MERGE_REQUEST_PROJECT_URL", "")
    iid = number or (whole_number(request) or None)
    return GitLabPlace(
        root=root,
        project=project,
        token=env.get("GITLAB_TOKEN", ""),
        number=iid,
        commit=env.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or env.get("CI_COMMIT_SHA", ""),
        at=(whole_number(env.get("CI_PIPELINE_ID", "")), whole_number(env.get("CI_JOB_ID", ""))),
        log=env.get("CI_JOB_URL", ""),
        page=f"{url}/-/merge_requests/{iid}" if url and iid else "",
        read_only=source != project,
    )


class GitLabThread(MutableRecord):
    """The notes on a merge request."""

    api: Api
    project: str
    number: int
    page: str = ""
    _user: object = None

    async def ours(self) -> Sequence[Comment]:
        if self._user is None:
            user, _ = await self.api.ask("GET", "/user")
            self._user = as_mapping(user).get("id")
        comments: list[Comment] = []
        for page in range(1, PAGES + 1):
            rows, headers = await self.api.ask(
                "GET", f"{self._notes()}?per_page=100&sort=asc&order_by=created_at&page={page}"
            )
            notes = map(as_mapping, as_array(rows))
            comments += [
                self._comment(note)
                for note in notes
                if as_mapping(note.get("author")).get("id") == self._user and not note.get("system")
            ]
            if not headers.get("x-next-page"):
                break
        return comments

    async def read(self, number: int) -> Comment:
        """One note on the merge request."""
        row, _ = await self.api.ask("GET", f"{self._notes()}/{number}")
        return self._comment(as_mapping(row))

    async def create(self, body: str) -> Comment:
        row, _ = await self.api.ask("POST", self._notes(), {"body": body})
        return self._comment(as_mapping(row))

    async def update(self, number: int, body: str) -> Comment:
        row, _ = await self.api.ask("PUT", f"{self._notes()}/{number}", {"body": body})
        return self._comment(as_mapping(row))

    async def delete(self, number: int) -> None:
        await self.api.ask("DELETE", f"{self._notes()}/{number}")

    def _notes(self) -> str:
        return f"/projects/{self.project}/merge_requests/{self.number}/notes"

    def _comment(self, row: Mapping[str, Any]) -> Comment:
        number, body = row.get("id"), row.get("body")
        id_ = number if isinstance(number, int) else 0
        text = as_text(body)
        return Comment(id_, text, f"{self.page}#note_{id_}" if self.page else "")
