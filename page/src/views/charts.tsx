/** The charts of a run: pass rates, how scores are spread, and one column against another. */
import { useMemo, useState } from "preact/hooks";
import type { Head } from "../data/source";
import { brushedOf, unbrushed, type Plane } from "../model/brush";
import { columnsOf } from "../model/columns";
import { measured, namesOf } from "../model/filter";
import { binsOf } from "../model/histogram";
import { missingOf } from "../model/missing";
import { fitted } from "../model/names";
import { plotOf } from "../model/plot";
import { bestFirst, measuresOf, rowsOf, seriesOf } from "../model/series";
import { summaries } from "../model/summary";
import type { Table } from "../model/table";
import { visible } from "../model/visible";
import { count, grouped } from "../model/words";
import { ColumnScatter, MeasureChoice } from "../parts/columnscatter";
import { HistogramChart } from "../parts/histogramchart";
import { RateChart } from "../parts/ratechart";
import { SearchFailed, Waiting } from "../parts/told";
import type { Selection } from "../state/selection";
import type { Go, RunState } from "../state/url";

interface Props {
  head: Head;
  table: Table;
  /** By trial, 1 for what the filter chooses. */
  chosen: Uint8Array;
  go: Go;
  state: RunState;
  selection: Pick<Selection, "waiting" | "searching" | "failure" | "again">;
}

const MANY = 8; // columns, from which on the best is drawn first: as many as there are colours
const NAME = 48; // characters of a column's name

export function Charts({ head, table, chosen, go, state, selection }: Props) {
  const planned = useMemo(() => {
    const all = columnsOf(head, state.blind).filter(({ variant }) => !state.hide.includes(variant.index));
    const short = fitted(all.map(({ name }) => name), NAME);
    return all.map(({ variant }, i) => ({ variant, name: short[i]! }));
  }, [head, state.blind, state.hide]);
  const [best, setBest] = useState(planned.length > MANY);
  const measures = measuresOf(table);
  const { measure, x, y } = plotOf(state.plot, measures, planned.map(({ variant }) => variant.index));
  const rows = useMemo(() => rowsOf(table, chosen), [table, chosen, table.size]);
  const found = useMemo(() => seriesOf(table, head.columns, measure, rows, head.status === "decided" && !head.sample), [table, head, rows, measure.name, measure.metric]);
  const values = useMemo(() => measured(table, { ...measure, column: -1 }, {}), [table, table.size, measure.name, measure.metric]);
  const bins = useMemo(() => binsOf(values, table.size), [values]);
  const missing = useMemo(() => missingOf(table, rows, values), [values, rows]);
  const unjudged = useMemo(() => missingOf(table, rows, measured(table, { name: "passed", metric: false, column: -1 }, {}), true), [table, rows]);
  const sums = useMemo(() => summaries(table, head.columns, rows, head.status === "decided" && !head.sample), [table, head, rows]);
  const columns = useMemo(() => (best ? bestFirst(planned, found, measure) : planned), [best, planned, found]);
  const n = rows.reduce((sum, row) => sum + row, 0);
  const names = namesOf(head, table, state.base !== "");
  const plane: Plane = { measure, x, y };
  const brush = brushedOf(state.q, plane, names);
  if (selection.failure !== undefined) return <SearchFailed problem={selection.failure} again={selection.again} />;
  if (selection.waiting) return <Waiting>{selection.searching ? "Reading: the text is being searched for…" : "Reading the baseline…"}</Waiting>;
  return (
    <div class="charts">
      <div class="chart-bar">
        <MeasureChoice measures={measures} measure={measure} change={(key) => go({ plot: `${key}.${x}.${y}` })} />
        <span class="chart-count">
          {n === table.rows.length ? count(n, "case") : `${count(n, "case")} of ${grouped(table.rows.length)}`}
        </span>
        {planned.length > 2 && (
          <button class="button" type="button" aria-pressed={best} onClick={() => setBest(!best)}>Best first</button>
        )}
        {brush !== undefined && (
          <span class="chart-chips">
            {brush.terms.map((term) => <code key={term} class="chart-chip">{visible(term)}</code>)}
            <button class="button" type="button" onClick={() => go({ q: unbrushed(state.q, plane, names) })}>clear</button>
            <button class="button" type="button" onClick={() => go({ view: "matrix" })}>{`show ${count(n, "case")}`}</button>
          </span>
        )}
      </div>
      {n === 0 || columns.length === 0 ? (
        <p class="chart-empty">{table.rows.length === 0 ? head.alive ? "There are no results yet." : "This run has no results." : columns.length === 0 ? "All variants are hidden." : "No case matches the filter."}</p>
      ) : (
        <div class="chart-grid">
          <RateChart columns={columns} summaries={sums} cases={n} missing={unjudged} />
          <HistogramChart columns={columns} series={found} bins={bins} measure={measure} cases={n} missing={missing} />
          {columns.length > 1 && (
            <ColumnScatter head={head} table={table} columns={columns} measure={measure} x={x} y={y} chosen={rows} state={state} go={go} />
          )}
        </div>
      )}
    </div>
  );
}
