/** Two runs held against each other; or, without a baseline, two columns of one. */
import type { Compared, Comparison, Head, RunSummary } from "../data/source";
import type { Baseline } from "../model/baseline";
import type { Table } from "../model/table";
import { visible } from "../model/visible";
import { count, when } from "../model/words";
import { Changes, Kinds } from "../parts/changes";
import { ColumnPair } from "../parts/columnpair";
import { Forest } from "../parts/forest";
import { TroubleLine } from "../parts/told";
import type { Against } from "../state/baseline";
import type { Go, RunState } from "../state/url";

interface Props {
  head: Head;
  table: Table;
  against: Against;
  state: RunState;
  go: Go;
  runs: readonly RunSummary[];
}

export function ComparisonView({ head, table, against, state, go, runs }: Props) {
  const { comparison, baseline, problem } = against;
  return (
    <div class="comparison">
      <div class="chart-bar">
        <BaselinePicker head={head} runs={runs} base={state.base} go={go} />
      </div>
      {state.base === "" && <ColumnPair head={head} table={table} state={state} go={go} />}
      {state.base !== "" && <TroubleLine problem={problem} />}
      {state.base !== "" && problem === undefined && (comparison === undefined || baseline === undefined) && (
        <p class="chart-empty" role="status">Comparing…</p>
      )}
      {comparison !== undefined && baseline !== undefined && (
        <Runs head={head} table={table} comparison={comparison} baseline={baseline} go={go} />
      )}
    </div>
  );
}

function BaselinePicker({ head, runs, base, go }: { head: Head; runs: readonly RunSummary[]; base: string; go: Go }) {
  const others = runs.filter(({ id, problem }) => id !== head.id && problem === "");
  const groups: [string, RunSummary[]][] = [
    ["same plan", others.filter(({ fingerprint }) => fingerprint === head.fingerprint)],
    ["same title", others.filter(({ fingerprint, title }) => fingerprint !== head.fingerprint && title === head.title)],
    ["other runs", others.filter(({ fingerprint, title }) => fingerprint !== head.fingerprint && title !== head.title)],
  ];
  const missing = base !== "" && !others.some(({ id }) => id === base);
  return (
    <label class="chart-choice">
      Baseline{" "}
      <select value={base} onChange={(event) => go({ base: event.currentTarget.value })}>
        <option value="">none: two columns of this run</option>
        {missing && <option value={base}>{base}</option>}
        {groups.map(([name, members]) => members.length > 0 && (
          <optgroup key={name} label={name}>
            {[...members].sort((a, b) => b.created_at - a.created_at).map((run) => (
              <option key={run.id} value={run.id}>{`${when(run.created_at)} · ${run.totals.passed}/${run.totals.trials} passed · ${visible(run.title)}`}</option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

const SIGNS: Readonly<Record<string, string>> = { better: "▲", worse: "▼", undecided: "?", "no detectable difference": "=", "non-inferior": "≥" };

function Runs({ head, table, comparison, baseline, go }: { head: Head; table: Table; comparison: Comparison; baseline: Baseline; go: Go }) {
  const metrics = [...new Set(comparison.results.map(({ metric }) => metric))];
  return (
    <>
      <section aria-labelledby="verdicts">
        <h2 id="verdicts" class="chart-title">Is it better than the baseline?</h2>
        <p class="chart-said">{`Against ${visible(comparison.baseline.title)} of ${when(comparison.baseline.created_at)}: each column on the cases that both have. ${tally(comparison.results)}`}</p>
        <ul class="verdicts">
          {comparison.results.map((each, i) => <VerdictLine key={i} of={each} />)}
        </ul>
        {comparison.results.length === 0 && <p class="chart-empty">No column of the two belongs to another.</p>}
        <details class="chart-numbers">
          <summary>All that is to be said, as “evenhand compare” says it</summary>
          <pre class="said-lines">{visible(comparison.lines.join("\n"))}</pre>
        </details>
      </section>
      <section aria-labelledby="kinds">
        <h2 id="kinds" class="chart-title">What became of the trials</h2>
        <p class="chart-said">{`${count(table.size, "trial")}, each held against the one of the same case, column and repeat. A click shows them in the matrix.`}</p>
        <Kinds table={table} baseline={baseline} go={go} />
      </section>
      <div class="chart-grid">
        <section aria-labelledby="differences">
          <h2 id="differences" class="chart-title">Differences</h2>
          <p class="chart-said">Now less before: the mean over the cases that both runs have, and its 95 % interval.</p>
          <div class="forests">
            {metrics.map((metric) => (
              <Forest key={metric} metric={metric} results={comparison.results.filter((each) => each.metric === metric)} />
            ))}
          </div>
        </section>
        <section aria-labelledby="changes">
          <h2 id="changes" class="chart-title">Cells that changed</h2>
          <Changes head={head} table={table} baseline={baseline} go={go} />
        </section>
      </div>
    </>
  );
}

/** `2 worse, 3 better, 1 undecided.` */
function tally(results: readonly Compared[]): string {
  const order = ["worse", "better", "non-inferior", "undecided", "no detectable difference"];
  const verdicts = [...new Set(results.map(({ verdict }) => verdict))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const said = verdicts.map((word) => `${results.filter(({ verdict }) => verdict === word).length} ${word}`);
  return said.length === 0 ? "" : `${said.join(", ")}.`;
}

function VerdictLine({ of }: { of: Compared }) {
  const name = of.before === of.after ? of.after : `${of.before} → ${of.after}`;
  return (
    <li class={`verdict verdict-${of.verdict.replace(/\W+/g, "-")}`}>
      <span class="verdict-word"><span aria-hidden="true">{SIGNS[of.verdict] ?? "·"}</span> {of.verdict}</span>
      <span class="verdict-said">{of.sentence.includes(name) ? "" : <b>{visible(name)} · </b>}{visible(of.sentence.replace(`: ${of.verdict}`, ""))}</span>
    </li>
  );
}
