"""An MLflow tracking server, over its REST API: experiments, runs, what is logged to them, and their artifacts.

As of MLflow 2 and 3: `/api/2.0/mlflow/…`, and `/api/2.0/mlflow-artifacts/…` where the server takes artifacts itself.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from evenhand.core.errors import ProviderError, UsageError
from evenhand.core.record import Record
from evenhand.core.version import __version__
from evenhand.providers.http import transport
from evenhand.providers.rest import Api, is_gone

T = TypeVar("T")

METRICS_AT_ONCE = 1000
PARAMS_AT_ONCE = 100
TIMEOUT_S = 120.0
_ROOT = "/api/2.0/mlflow"
_ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts/"


class MlflowRun(Record, frozen=True):
    """A run on the server.

    Attributes:
        id: Its id there.
        artifacts: Where its artifacts are; `mlflow-artifacts:` where the server takes them.
    """

    id: str
    artifacts: str


class MlflowServer(Record, frozen=True):
    """A tracking server.

    Attributes:
        root: Its address, without a slash at the end.
        api: Sends requests to it.
    """

    root: str
    api: Api

    @staticmethod
    def at(address: str, env: Mapping[str, str]) -> MlflowServer:
        """The server at an address, with the credentials that MLflow's own client would send.

        Args:
            address: `http://…` or `https://…`; empty for MLFLOW_TRACKING_URI.
            env: MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.

        Raises:
            UsageError: There is no address, or it is not one of a server.
        """
        root = (address or env.get("MLFLOW_TRACKING_URI", "")).strip().rstrip("/")
        try:
            parts = urlsplit(root)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_server = False
        if not is_server:
            raise UsageError(
                "there is no MLflow tracking server to push to"
                if not root
                else "this address is not one of an MLflow tracking server",
                hint="Set MLFLOW_TRACKING_URI to its http or https address. `mlflow server` starts one; files and"
                " databases without a server aren't written.",
            )
        headers: dict[str, str] = {}
        token, user = env.get("MLFLOW_TRACKING_TOKEN"), env.get("MLFLOW_TRACKING_USERNAME")
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif user:
            pair = f"{user}:{env.get('MLFLOW_TRACKING_PASSWORD', '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return MlflowServer(root, Api(root, headers))

    async def experiment(self, name: str) -> str:
        """The id of the experiment of this name, which is made where it isn't there.

        Raises:
            ProviderError: The server does not answer as MLflow does.
        """
        query = f"{_ROOT}/experiments/get-by-name?experiment_name={quote(name, safe='')}"
        try:
            answer, _ = await self.api.ask("GET", query)
            return str(answer["experiment"]["experiment_id"])
        except ProviderError as error:
            if not is_gone(error):
                raise
        return str((await self._post("experiments/create", {"name": name}))["experiment_id"])

    async def known(self, experiment: str, tag: str, value: str) -> list[str]:
        """The ids of the runs with this tag that are not deleted."""
        body = {
            "experiment_ids": [experiment],
            "filter": f"tags.`{tag}` = '{value}'",
            "max_results": 1000,
        }
        runs = (await self._post("runs/search", body)).get("runs") or []
        return [str(run["info"]["run_id"]) for run in runs]

    async def start(
        self, experiment: str, name: str, tags: Mapping[str, str], started: float
    ) -> MlflowRun:
        """Makes a run.

        Args:
            experiment: The id of its experiment.
            started: Seconds since 1970.
        """
        body = {
            "experiment_id": experiment,
            "run_name": name,
            "start_time": round(started * 1000),
            "tags": _pairs(tags),
        }
        about = (await self._post("runs/create", body))["run"]["info"]
        return MlflowRun(str(about["run_id"]), str(about.get("artifact_uri") or ""))

    async def log(
        self, run: MlflowRun, metrics: Mapping[str, float], params: Mapping[str, str], at: float
    ) -> None:
        """Logs metrics and parameters, as many at a time as the server takes.

        Args:
            at: Seconds since 1970.
        """
        moment = round(at * 1000)
        rows = [
            {"key": name, "value": value, "timestamp": moment, "step": 0}
            for name, value in metrics.items()
        ]
        for some in _in_parts(_pairs(params), PARAMS_AT_ONCE):
            await self._post("runs/log-batch", {"run_id": run.id, "params": some})
        for some in _in_parts(rows, METRICS_AT_ONCE):
            await self._post("runs/log-batch", {"run_id": run.id, "metrics": some})

    async def finish(self, run: MlflowRun, status: str, at: float) -> None:
        """Says how a run ended: FINISHED, FAILED or KILLED."""
        body = {"run_id": run.id, "status": status, "end_time": round(at * 1000)}
        await self._post("runs/update", body)

    async def delete(self, ids: Iterable[str]) -> None:
        """Deletes runs, which MLflow can restore."""
        for one in ids:
            await self._post("runs/delete", {"run_id": one})

    def takes_artifacts(self, run: MlflowRun) -> bool:
        """Whether the server takes this run's artifacts itself, rather than a bucket or a folder."""
        return run.artifacts.startswith("mlflow-artifacts:")

    async def upload(self, run: MlflowRun, name: str, data: bytes, kind: str) -> None:
        """Keeps a file as an artifact of a run.

        Args:
            run: The run, whose artifacts the server takes.
            kind: Its MIME type.

        Raises:
            ProviderError: The server does not take it.
        """
        folder = urlsplit(run.artifacts).path.strip("/").removeprefix(_ARTIFACTS.strip("/"))
        path = quote(f"{folder.strip('/')}/{name}")
        headers = {
            **self.api.headers,
            "Content-Type": kind,
            "User-Agent": f"evenhand/{__version__}",
        }
        url = f"{self.root}{_ARTIFACTS}{path}"
        answer = await transport().post(url, headers, data, TIMEOUT_S, "PUT")
        if answer.status >= 300:
            raise ProviderError(
                f"{self.root} answered {answer.status} to the artifact {name}", status=answer.status
            )

    async def _post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        answer, _ = await self.api.ask("POST", f"{_ROOT}/{path}", body)
        return answer if isinstance(answer, dict) else {}


def _pairs(values: Mapping[str, str]) -> Sequence[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _in_parts(rows: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (rows[at : at + most] for at in range(0, len(rows), most))
