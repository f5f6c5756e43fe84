/** What a run had to reach, and what its tags and labels came to: of the whole run, as the command line says it. */
import type { DataSource, Head } from "../data/source";
import type { Table } from "../model/table";
import { Confusions } from "../parts/confusion";
import { DisputedList } from "../parts/disputed";
import { JudgedList } from "../parts/judged";
import { RankedList } from "../parts/ranked";
import { Requirements } from "../parts/requirements";
import { TagTable } from "../parts/tagtable";
import { percentWritten } from "../parts/marks";
import { Trouble, TroubleLine, Waiting } from "../parts/told";
import { useSummary } from "../state/summary";
import { write, type RunState } from "../state/url";

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly state: RunState;
}

export function SummaryView({ source, head, table, state }: Props) {
  const { summary, problem } = useSummary(source, head);
  if (summary === undefined) return problem === undefined ? <Waiting>Reading the results…</Waiting> : <Trouble problem={problem} />;
  const filtered = state.q.trim() !== "" || state.show !== "all";
  return (
    <div class="summary">
      <TroubleLine problem={problem} />
      {head.alive && <p class="note">The run is in progress. These numbers cover what has finished so far, and are updated.</p>}
      {filtered && <p class="note">These numbers cover the whole run. The filter applies to the <a href={write({ ...state, view: "matrix", cell: undefined })}>matrix</a> and the charts.</p>}
      {head.standings.length > 0 && (
        <section aria-labelledby="ranking">
          <h2 id="ranking" class="chart-title">Ranking</h2>
          <RankedList head={head} />
        </section>
      )}
      <section aria-labelledby="requirements">
        <h2 id="requirements" class="chart-title">Requirements</h2>
        {summary.requirements.length > 0 ? <Requirements of={summary} columns={head.columns.length} /> : summary.pass_rate !== null && (
          <p class="chart-said">{`None are set for its variants: the run passes if ${percentWritten(summary.pass_rate)} of its trials pass. An eval set sets other requirements with `}<code>require=</code>{" and "}<code>pass_rate=</code>{", the command line with "}<code>--at-least</code>.</p>
        )}
      </section>
      {head.judged.length > 0 && (
        <section aria-labelledby="judged">
          <h2 id="judged" class="chart-title">Judged metrics: pass rates</h2>
          <JudgedList head={head} />
        </section>
      )}
      {table.labels.size > 0 && !head.alive && (
        <section aria-labelledby="disputed">
          <h2 id="disputed" class="chart-title">Judge and people</h2>
          <DisputedList head={head} table={table} state={state} />
        </section>
      )}
      <section aria-labelledby="tags">
        <h2 id="tags" class="chart-title">Pass rates by tag</h2>
        {summary.tags.length > 0 ? <TagTable of={summary} state={state} many={head.columns.length > 1} /> : <p class="chart-said">{summary.without || "There are no tags that only some of the cases have."}</p>}
      </section>
      {summary.labels.length > 0 && (
        <section aria-labelledby="labels">
          <h2 id="labels" class="chart-title">Labels: expected and answered</h2>
          <Confusions of={summary.labels} many={head.columns.length > 1} />
        </section>
      )}
    </div>
  );
}
