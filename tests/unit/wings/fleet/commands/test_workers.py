"""The files that `evenhand info workers` prints are what Kubernetes, KubeRay and a shell read."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand

RAY_JOB = {
    *("activeDeadlineSeconds", "backoffLimit", "clusterSelector", "deletionStrategy", "entrypoint"),
    *("entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "jobId", "managedBy"),
    *("metadata", "rayClusterSpec", "runtimeEnvYAML", "shutdownAfterJobFinishes", "submissionMode"),
    *("submitterConfig", "submitterPodTemplate", "suspend", "ttlSecondsAfterFinished"),
}
RAY_CLUSTER = {
    *("autoscalerOptions", "enableInTreeAutoscaling", "gcsFaultToleranceOptions", "headGroupSpec"),
    *("headServiceAnnotations", "managedBy", "rayVersion", "suspend", "workerGroupSpecs"),
}
HEAD = {"enableIngress", "headService", "rayStartParams", "resources", "serviceType", "template"}
WORKERS = {
    *("groupName", "idleTimeoutSeconds", "maxReplicas", "minReplicas", "numOfHosts", "replicas"),
    *("rayStartParams", "resources", "scaleStrategy", "suspend", "template"),
}
"""The fields of `ray.io/v1`, as KubeRay's reference of its API has them."""


def printed(*words: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(evenhand, ["workers", *words], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.stdout


@pytest.mark.parametrize("workers", [1, 8])
def test_the_job_for_kuberay_has_only_fields_that_kuberay_knows(workers: int):
    """And all those that it needs; start parameters are texts, as KubeRay wants them."""
    text = printed("--for", "kuberay", "--workers", str(workers))
    assert "`ray[default]`" in text, (
        "KubeRay submits through the dashboard, which our extra leaves out"
    )
    documents: list[Any] = list(yaml.safe_load_all(text))
    job, policy, _ = documents
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]
    assert spec.keys() <= RAY_JOB
    assert spec["submissionMode"] in {"K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"}
    assert spec["entrypoint"] == f"evenhand run . --ray auto --workers {workers}"
    cluster = spec["rayClusterSpec"]
    assert cluster.keys() <= RAY_CLUSTER
    head, (group,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert head.keys() <= HEAD
    assert group.keys() <= WORKERS
    assert {group[name] for name in ("replicas", "minReplicas", "maxReplicas")} == {workers}
    for part in (head, group):
        assert all(isinstance(value, str) for value in part["rayStartParams"].values())
        (container,) = part["template"]["spec"]["containers"]
        assert container["image"]
        assert (
            part["template"]["metadata"]["labels"] == policy["spec"]["podSelector"]["matchLabels"]
        )
        volumes = {volume["name"] for volume in part["template"]["spec"].get("volumes", ())}
        assert {mount["name"] for mount in container.get("volumeMounts", ())} == volumes


def test_the_dashboard_of_the_job_for_kuberay_can_be_reached_by_what_submits_it_and_nobody_else():
    """The operator and its submitter reach it through the service of the head; on loopback no run ever starts."""
    job, policy, _ = yaml.safe_load_all(printed("--for", "kuberay"))
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    assert head["rayStartParams"]["dashboard-host"] == "0.0.0.0"
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    (rule,) = policy["spec"]["ingress"]
    assert all("podSelector" in one for one in rule["from"])


def test_all_that_the_job_for_kuberay_mounts_is_in_the_same_file():
    """A pod whose volume claim is not there waits without end."""
    job, _, claim = yaml.safe_load_all(printed("--for", "kuberay"))
    assert (claim["apiVersion"], claim["kind"]) == ("v1", "PersistentVolumeClaim")
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    pod = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    (volume,) = pod["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


@pytest.mark.parametrize("workers", ["1", "8"])
def test_the_script_for_slurm_is_one_that_bash_reads(workers: str):
    """With as many nodes as were asked for."""
    text = printed("--for", "slurm", "--workers", workers)
    assert text.startswith("#!/bin/bash\n")
    assert f"#SBATCH --nodes={workers}\n" in text
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


PROGRAMS = {
    "srun": """while [[ "$1" == --* ]]; do shift; done; exec "$@" """,
    "ray": """case "$*" in
        *--head*) echo "$SRUN_CPUS_PER_TASK $*" >> "$LOG"
            exec {python} -c 'import os, socket, time
server = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
server.accept()' ;;
        start*) echo "$SRUN_CPUS_PER_TASK $*" >> "$LOG"; touch "$LOG.joined" ;;
        esac""",
    "python3": "echo 127.0.0.1",
    "evenhand": """until [ -e "$LOG.joined" ]; do sleep 0.01; done; echo "$*" >> "$LOG"; exit 3""",
}
"""What the script for Slurm starts, where there is neither Slurm nor Ray."""


def test_the_script_for_slurm_gives_ray_the_cpus_of_the_job_and_ends_as_the_run_does(
    tmp_path: Path,
):
    """Ray counts those of the whole node; and the head is waited for, however long its node takes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    for name, body in PROGRAMS.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/bash\n{body.replace('{python}', sys.executable)}\n")
        program.chmod(0o755)
    log = tmp_path / "log"
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LOG": str(log),
        "PORT": port,
        "SLURM_JOB_NUM_NODES": "3",
        "SLURM_CPUS_PER_TASK": "4",
        "SLURMD_NODENAME": "node-1",
    }
    text = printed("--for", "slurm").replace("6379", port)
    done = subprocess.run(
        ["bash"], input=text, capture_output=True, text=True, check=False, env=env, timeout=60
    )
    assert (done.returncode, done.stderr) == (3, "")
    head, others, run = log.read_text().splitlines()
    assert head == (
        f"4 start --head --node-ip-address=127.0.0.1 --port={port} --num-cpus=4"
        " --include-dashboard=false --block"
    )
    assert others == f"4 start --address=127.0.0.1:{port} --num-cpus=4 --block"
    assert run == f"run . --ray 127.0.0.1:{port} --workers 12"
