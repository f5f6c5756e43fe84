/** What a run comes to, in a word and a sign, and whether it is over. */
import type { RunSummary } from "../data/source";
import { verdictOf } from "../model/verdict";
import { grouped } from "./marks";

export function Verdict({ run }: { run: RunSummary }) {
  const [sign, words, state] = verdictOf(run);
  if ((run.status === "running" && run.alive) || (!run.gate_verdict && run.verdict === "undecided" && run.status !== "finished")) return <Status run={run} />;
  return (
    <span class="run-state">
      <span class={`badge badge-${state}`}><span aria-hidden="true">{sign}</span> {words}</span>
      <Status run={run} />
    </span>
  );
}

/** Nothing for a run that came to its end. */
function Status({ run }: { run: RunSummary }) {
  const { trials } = run.totals;
  const far = `${grouped(trials)} of ${grouped(run.planned)}`;
  if (run.status === "finished") return null;
  if (run.status === "running" && run.alive) {
    return (
      <span class="badge badge-live" title={`${far} trials`}>
        <span class="live-dot" aria-hidden="true" /> live, {run.planned > 0 ? Math.floor((100 * trials) / run.planned) : 0} %
      </span>
    );
  }
  if (run.status === "decided") return <span class="badge badge-not_applicable" title={`${far} trials: ${run.sample ? "a sample" : "all it took to decide"}`}>{run.sample ? "sample" : "partial"}</span>;
  if (run.status === "waiting") return <span class="badge badge-not_applicable" title={`${far} trials are here`}>waiting for batches</span>;
  const words = { running: "interrupted", interrupted: "interrupted", stopped: "stopped", out_of_budget: "out of budget" }[run.status];
  return <span class="badge badge-error" title={`${far} trials are here`}>! {words}</span>;
}
