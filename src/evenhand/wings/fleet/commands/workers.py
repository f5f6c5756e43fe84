"""`evenhand info workers`: a file that starts a fleet where jobs are started."""

from __future__ import annotations

import sys

import click

from evenhand.cli.exits import PASSED
from evenhand.cli.options import number_option
from evenhand.cli.streams import printing
from evenhand.core.ranges import WORKERS
from evenhand.core.version import __version__

KUBERAY = """\
# evenhand info workers --for kuberay: a run on a Ray cluster that Kubernetes starts for it, and takes away after it.
#   kubectl create secret generic evenhand-keys --from-env-file=keys.env     # OPENAI_API_KEY=…
#   kubectl apply -f evenhand.yaml
# Needs the KubeRay operator. The image has your evals in /evals, Evenhand {version} with its extra `ray`, and your
# dependencies. KubeRay also needs `ray[default]` and wget in it, which images made from rayproject/ray have.
# The run file is kept on the volume claim `evenhand-runs`, below: take the job away with
# `kubectl delete rayjob evenhand`, as `kubectl delete -f` takes the claim and its runs, too. KubeRay submits the run
# through Ray's dashboard, which therefore listens in its pod; the policy below lets in only the run's own pods and the
# operator.
apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: evenhand
spec:
  entrypoint: evenhand run . --ray auto --workers {workers}
  submissionMode: K8sJobMode
  shutdownAfterJobFinishes: true
  backoffLimit: 0                     # not again from the start: `evenhand resume` goes on
  rayClusterSpec:
    headGroupSpec:
      rayStartParams:
        dashboard-host: "0.0.0.0"     # in the pod; see the policy below
        num-cpus: "0"                 # the driver only
      template:
        metadata:
          labels: {{app: evenhand}}
        spec:
          containers:
            - name: ray-head
              image: registry.example.com/evals:latest
              workingDir: /evals
              env:
                - {{name: RAY_USAGE_STATS_ENABLED, value: "0"}}
                - {{name: EVENHAND_HOME, value: /runs}}
              envFrom:
                - secretRef: {{name: evenhand-keys}}
              resources:
                requests: {{cpu: "1", memory: 4Gi}}
                limits: {{memory: 4Gi}}
              volumeMounts:
                - {{name: runs, mountPath: /runs}}
          volumes:
            - name: runs
              persistentVolumeClaim: {{claimName: evenhand-runs}}
    workerGroupSpecs:
      - groupName: workers
        replicas: {workers}
        minReplicas: {workers}
        maxReplicas: {workers}
        rayStartParams: {{}}
        template:
          metadata:
            labels: {{app: evenhand}}
          spec:
            containers:
              - name: ray-worker
                image: registry.example.com/evals:latest
                workingDir: /evals
                env:
                  - {{name: RAY_USAGE_STATS_ENABLED, value: "0"}}
                envFrom:
                  - secretRef: {{name: evenhand-keys}}
                resources:
                  requests: {{cpu: "1", memory: 2Gi}}
                  limits: {{memory: 2Gi}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: evenhand
spec:
  podSelector:
    matchLabels: {{app: evenhand}}
  policyTypes: [Ingress]
  ingress:
    - from:
        - podSelector:
            matchLabels: {{app: evenhand}}
        - podSelector:
            matchLabels: {{job-name: evenhand}}   # which submits the run
        - namespaceSelector: {{}}
          podSelector:
            matchLabels: {{app.kubernetes.io/name: kuberay-operator}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: evenhand-runs
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests: {{storage: 10Gi}}
"""

SLURM = """\
#!/bin/bash
# evenhand info workers --for slurm: a run on a Ray cluster on {workers} nodes of a Slurm allocation.
#   sbatch evenhand.sbatch
# All nodes see the folder of your evals and the same environment, with Evenhand {version} and its extra `ray`.
# The run file is kept in .evenhand below that folder; the node that this script runs on writes it.
#SBATCH --job-name=evenhand
#SBATCH --nodes={workers}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
set -euo pipefail

export RAY_USAGE_STATS_ENABLED=0
# Where Ray has tokens, nobody else on these nodes may use the cluster. The token is kept in the home folder, which all
# nodes see.
if ray get-auth-token --generate > /dev/null 2>&1; then
    export RAY_AUTH_MODE=token
fi
head=${{SLURMD_NODENAME:-$(hostname -s)}}
address=$(python3 -c "from ray.util import get_node_ip_address; print(get_node_ip_address())"):6379
cpus=$SLURM_CPUS_PER_TASK               # Ray would count those of the whole node
export SRUN_CPUS_PER_TASK=$cpus         # newer versions of Slurm don't hand it on to srun

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \\
    ray start --head --node-ip-address="${{address%:*}}" --port=6379 --num-cpus="$cpus" \\
    --include-dashboard=false --block &
for _ in $(seq 120); do
    if (: < "/dev/tcp/${{address%:*}}/6379") 2> /dev/null; then break; fi
    sleep 1
done
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
    srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$head" --overlap \\
        ray start --address="$address" --num-cpus="$cpus" --block &
fi

# As many workers as there are CPUs. The run begins when all of them have started, and so when all nodes are there.
# After a job that ran out of time: evenhand resume, with the same options.
evenhand run . --ray "$address" --workers $((SLURM_JOB_NUM_NODES * cpus))
"""

FORMS = {"kuberay": KUBERAY, "slurm": SLURM}


@click.command(short_help="Print a job for Kubernetes or Slurm that runs a fleet.")
@click.option(
    "--for",
    "kind",
    required=True,
    type=click.Choice(list(FORMS)),
    help="kuberay: a RayJob for Kubernetes. slurm: a batch script.",
)
@number_option(
    "--workers",
    within=WORKERS,
    default=3,
    show_default=True,
    metavar="N",
    help="Worker pods, or nodes.",
)
def workers(kind: str, workers: int) -> int:
    """Print a job that starts a Ray cluster, runs the evals of a folder on it, and removes it.

    Replace the name of the image, and the memory and time, with yours.
    """
    with printing():
        sys.stdout.write(FORMS[kind].format(workers=workers, version=__version__))
    return PASSED
