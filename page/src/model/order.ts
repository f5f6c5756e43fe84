/** In which order the rows stand. */
import type { Baseline } from "./baseline";
import type { Table } from "./table";

export const KEYS = ["score", "change", "latency", "cost"] as const;
/** `versus`: by how much a column's score is above that of the pinned one. */
/** `metric` is one of the run's metrics, which has a name. */
export type Key = (typeof KEYS)[number] | "metric" | "versus";

export interface Sort {
  readonly key: Key;
  /** The metric's name; empty for all other keys. */
  readonly metric: string;
  /** -1: over all columns. */
  readonly column: number;
  /** The largest first. */
  readonly down: boolean;
}

/** What is sorted by. */
export type SortKey = Pick<Sort, "key" | "metric">;

/** What an address's `sort` means; undefined for the plan's order. */
export function readSort(text: string): Sort | undefined {
  const down = text.startsWith("-");
  const said = down ? text.slice(1) : text;
  const [, place, metric] = /^metric\.(all|\d{1,4})\.(.+)$/s.exec(said) ?? [];
  if (place !== undefined && metric !== undefined) return { key: "metric", metric, column: place === "all" ? -1 : Number(place), down };
  const [, name, column] = /^([a-z]+)(?:\.(\d{1,4}))?$/.exec(said) ?? [];
  const key = ([...KEYS, "versus"] as const).find((each) => each === name);
  if (key === undefined) return undefined;
  return { key, metric: "", column: column === undefined ? -1 : Number(column), down };
}

export function writeSort(sort: Sort | undefined): string {
  if (sort === undefined) return "plan";
  const { key, metric, column, down } = sort;
  const said = key === "metric" ? `metric.${column < 0 ? "all" : column}.${metric}` : `${key}${column < 0 ? "" : `.${column}`}`;
  return `${down ? "-" : ""}${said}`;
}

/** Whether this is what is sorted by. */
export function sortsBy(sort: Sort | undefined, { key, metric }: SortKey, column: number): boolean {
  return sort !== undefined && sort.key === key && sort.metric === metric && sort.column === column;
}

/** What a click on a header leads to: smallest first, largest first, the plan's order. Latency and cost begin large. */
export function nextSort(now: Sort | undefined, by: SortKey, column: number): Sort | undefined {
  const first = by.key === "latency" || by.key === "cost";
  if (now === undefined || !sortsBy(now, by, column)) return { key: by.key, metric: by.metric, column, down: first };
  return now.down === first ? { ...now, down: !first } : undefined;
}

/**
 * The rows that are shown, in order; `rows` has 1 for each. Rows without a value come last, either way; of a change those
 * first that had a verdict and have none now.
 */
export function ordered(table: Table, rows: Uint8Array, sort: Sort | undefined, baseline?: Baseline, pin?: number): Int32Array {
  let size = 0;
  const order = new Int32Array(rows.length);
  for (let row = 0; row < rows.length; row++) if (rows[row] === 1) order[size++] = row;
  const shown = order.subarray(0, size);
  if (sort === undefined) return shown;
  const values = sort.key === "versus" ? differences(table, sort.column, pin ?? -1) : means(table, sort, baseline);
  const lost = sort.key === "change" && baseline !== undefined ? lostRows(table, baseline, sort.column) : undefined;
  const sign = sort.down ? -1 : 1;
  return shown.sort((a, b) => {
    const [x, y] = [values[a]!, values[b]!];
    if (Number.isNaN(x) && Number.isNaN(y) && lost !== undefined) return lost[b]! - lost[a]! || a - b;
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return (x - y) * sign || a - b;
  });
}

/** By row: how much a column's mean score is above another's; NaN where one of the two has none. */
export function differences(table: Table, column: number, other: number): Float64Array {
  const [own, before] = [column, other].map((each) => means(table, { key: "score", metric: "", column: each, down: false })) as [Float64Array, Float64Array];
  return own.map((value, row) => (other < 0 ? NaN : value - before[row]!));
}

/** By row: the mean over its trials in the column. */
function means(table: Table, { key, metric, column }: Sort, baseline?: Baseline): Float64Array {
  const sums = new Float64Array(table.rows.length);
  const sizes = new Int32Array(table.rows.length);
  const own = key === "change" ? undefined : key === "metric" ? (table.metric(metric) ?? new Float64Array(table.size).fill(NaN)) : table[key === "versus" ? "score" : key];
  const { variant, row } = table;
  for (let i = 0; i < table.size; i++) {
    if (column >= 0 && variant[i] !== column) continue;
    const value = own === undefined ? (baseline?.change(i) ?? NaN) : own[i]!;
    if (Number.isNaN(value)) continue;
    sums[row[i]!]! += value;
    sizes[row[i]!]!++;
  }
  return sums.map((sum, row) => (sizes[row] === 0 ? NaN : sum / sizes[row]!));
}

/** By row: 1 where a trial in the column passed or failed in the baseline, and does neither now. */
function lostRows(table: Table, baseline: Baseline, column: number): Uint8Array {
  const lost = new Uint8Array(table.rows.length);
  for (let i = 0; i < table.size; i++) {
    if ((column < 0 || table.variant[i] === column) && baseline.lost(i)) lost[table.row[i]!] = 1;
  }
  return lost;
}
