/** The scatter of two columns with what chooses them; a rectangle on it becomes a part of the filter. */
import { useMemo } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Head } from "../data/source";
import { brushed, brushedOf, unbrushed, type Plane } from "../model/brush";
import type { Column } from "../model/columns";
import { namesOf } from "../model/filter";
import { paired } from "../model/pair";
import { keyOf } from "../model/plot";
import { seriesOf } from "../model/series";
import type { Measured } from "../model/scale";
import type { Table } from "../model/table";
import { visible } from "../model/visible";
import type { Go, RunState } from "../state/url";
import { Scatter } from "./scatter";

interface Props {
  head: Head;
  table: Table;
  columns: readonly Column[];
  measure: Measured;
  x: number;
  y: number;
  /** By row, 1 for what the filter chooses. */
  chosen: Uint8Array;
  state: RunState;
  go: Go;
}

export function ColumnScatter({ head, table, columns, measure, x, y, chosen, state, go }: Props) {
  const every = useMemo(() => new Uint8Array(table.rows.length).fill(1), [table, table.rows.length]);
  const whole = useMemo(() => seriesOf(table, head.columns, measure, every), [table, head, every, measure.name, measure.metric, table.size]);
  const pair = useMemo(() => [whole[x]!, whole[y]!] as const, [whole, x, y]);
  const compared = useMemo(() => paired(table, head.columns, measure, [x, y], chosen), [table, head, measure.name, measure.metric, x, y, chosen, table.size]);
  const names = namesOf(head, table, state.base !== "");
  const plane: Plane = { measure, x, y };
  const named = (index: number): Column => columns.find(({ variant }) => variant.index === index)!;
  return (
    <Scatter
      columns={[named(x), named(y)]} series={pair} pair={compared} measure={measure} rows={table.rows} chosen={chosen} box={brushedOf(state.q, plane, names)?.box}
      brush={(box, axis) => go({
        view: "charts", plot: `${keyOf(measure)}.${x}.${y}`,
        q: box === undefined ? unbrushed(state.q, plane, names) : brushed(state.q, plane, box, axis, names),
      })}
      open={(row) => go({ cell: table.index[table.cell(row, y)[0] ?? table.cell(row, x)[0] ?? 0] })}
    >
      <div class="chart-bar">
        <ColumnChoice label="Along" columns={columns} value={x} change={(index) => go({ plot: `${keyOf(measure)}.${index}.${index === y ? x : y}` })} />
        <ColumnChoice label="Up" columns={columns} value={y} change={(index) => go({ plot: `${keyOf(measure)}.${index === x ? y : x}.${index}` })} />
      </div>
    </Scatter>
  );
}

function ColumnChoice({ label, columns, value, change }: { label: string; columns: readonly Column[]; value: number; change: (index: number) => void }) {
  return (
    <Choice label={label} value={String(value)} change={(index) => change(Number(index))}>
      {columns.map(({ variant, name }) => <option key={variant.index} value={variant.index}>{visible(name)}</option>)}
    </Choice>
  );
}

/** What is drawn. */
export function MeasureChoice({ measures, measure, change }: { measures: readonly Measured[]; measure: Measured; change: (key: string) => void }) {
  return (
    <Choice label="Metric" value={keyOf(measure)} change={change}>
      {measures.map((each) => <option key={keyOf(each)} value={keyOf(each)}>{visible(each.name)}</option>)}
    </Choice>
  );
}

export function Choice({ label, value, change, children }: { label: string; value: string; change: (value: string) => void; children: ComponentChildren }) {
  return (
    <label class="chart-choice">
      {label}{" "}
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>{children}</select>
    </label>
  );
}
