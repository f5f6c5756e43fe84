/** What each case came to in each column, in one measure: what charts are drawn from. */
import type { Variant } from "../data/source";
import { measured } from "./filter";
import { together } from "./clusters";
import { looked, meanOf, type Mean } from "./mean";
import { NUMBERS, WORDS, quoted } from "./query";
import { rateOf, type Rate } from "./rate";
import { scaleIn, type Measured } from "./scale";
import { ERROR, type Table } from "./table";
import { money, number, seconds } from "./words";

export interface Series {
  /** By trial of the column, NaN left out. */
  readonly values: Float64Array;
  /** The mean over its repeats by row; NaN where there is none. */
  readonly means: Float64Array;
  readonly mean: Mean | null;
  /** Of `passed`, the rate over cases: errors count in it. */
  readonly rate: Rate | undefined;
  /** Trials in error, and those without a number for another reason. */
  readonly errors: number;
  readonly without: number;
}

const DRAWN = ["score", "passed", "latency", "cost", "tokens"] as const;

/** Numbers that are never below 0. */
const FLOORED: readonly string[] = ["latency", "cost", "tokens"];

/** What can be drawn of a run, the most telling first. */
export function measuresOf(table: Table): Measured[] {
  const fields = DRAWN.map((name) => ({ name, metric: false }));
  return [fields[0]!, ...table.metricNames.map((name) => ({ name, metric: true })), ...fields.slice(1)];
}

/** Its name in a filter. */
export function written({ name, metric }: Measured): string {
  if (!metric) return name;
  const lower = name.toLowerCase();
  const taken = Object.hasOwn(WORDS, lower) || NUMBERS.some((field) => field === lower) || lower.startsWith("metadata.");
  const safe = quoted(name);
  return taken && !safe.startsWith('"') ? `"${name}"` : safe;
}

/** How its values are written in a chart: in three digits that count. */
export function formOf({ name, metric }: Measured): (value: number) => string {
  if (!metric && name === "latency") return seconds;
  if (!metric && name === "cost") return money;
  return (value) => number(Number(value.toPrecision(3)));
}

/** The rows in which some trial is chosen. */
export function rowsOf(table: Table, chosen: Uint8Array): Uint8Array {
  const rows = new Uint8Array(table.rows.length);
  for (let i = 0; i < table.size && i < chosen.length; i++) if (chosen[i] === 1) rows[table.row[i]!] = 1;
  return rows;
}

/** Each column's values, over the rows that count. */
export function seriesOf(table: Table, columns: readonly Variant[], measure: Measured, rows: Uint8Array, stopped = false): Series[] {
  const { name, metric } = measure;
  const all = measured(table, { name, metric, column: -1 }, {});
  const passed = !metric && name === "passed";
  const found = Array.from({ length: table.variantCount }, () => ({
    values: new Float64Array(256), n: 0, sums: new Float64Array(rows.length), sizes: new Int32Array(rows.length), broken: new Int32Array(rows.length), cluster: new Int32Array(rows.length), errors: 0, without: 0,
  }));
  for (let i = 0; i < table.size; i++) {
    const row = table.row[i]!;
    if (rows[row] !== 1) continue;
    const column = found[table.variant[i]!]!;
    const value = all[i]!;
    column.cluster[row] = table.cluster[i]!;
    if (Number.isNaN(value)) {
      // An error says nothing of time, money and tokens, but may have scored anything.
      const open = passed ? table.outcome[i] === ERROR : table.isOpen(i, measure);
      if (open) column.broken[row]!++;
      if (table.outcome[i] === ERROR || (open && metric)) column.errors++;
      else column.without++;
      continue;
    }
    if (column.n === column.values.length) {
      const larger = new Float64Array(column.n * 2);
      larger.set(column.values);
      column.values = larger;
    }
    column.values[column.n++] = value;
    column.sums[row]! += value;
    column.sizes[row]!++;
  }
  return found.map(({ values, n, sums, sizes, broken, cluster, errors, without }, i) => {
    const mean = passed ? null : looked(meanOf(together({ totals: sums, sizes, errors: broken }, cluster), scaleIn(table, columns[i], { name, metric }), FLOORED.includes(name) && !metric ? 0 : -Infinity), stopped);
    const rate = passed ? rateOf({ passed: sums, failed: sizes.map((size, row) => size - sums[row]!), errors: broken, cluster }, stopped) : undefined;
    for (let row = 0; row < sums.length; row++) sums[row] = sizes[row] ? sums[row]! / sizes[row]! : NaN;
    return { values: values.subarray(0, n), means: sums, mean, rate, errors, without };
  });
}

/** Where the mean of a column is drawn, or its rate; one that errors leave open has no place. */
export function markOf({ mean: of, rate: share }: Pick<Series, "mean" | "rate">): Mean | null {
  if (share === undefined) return of === null || of.open === undefined || of.open[0] === of.open[1] ? of : null;
  return share.least === share.most ? { value: share.least, low: share.low, high: share.high, n: share.n } : null;
}

/** Columns by the middle of what they came to, the best first: of time, money and tokens the least. Those without a number come last. */
export function bestFirst<T extends { readonly variant: { readonly index: number } }>(columns: readonly T[], series: readonly Series[], { name, metric }: Measured): T[] {
  const sign = !metric && FLOORED.includes(name) ? -1 : 1;
  const middle = ({ variant }: T): number => {
    const { mean, rate } = series[variant.index]!;
    return sign * (rate !== undefined ? rate.least + rate.most : (mean?.value ?? -sign * Infinity));
  };
  return [...columns].sort((a, b) => middle(b) - middle(a) || a.variant.index - b.variant.index);
}

/** In which of two columns cases are higher, by the numbers that are drawn. */
export interface Sides {
  /** Cases with a number in both. */
  readonly n: number;
  readonly higher: number;
  readonly lower: number;
  readonly alike: number;
  /** Cases with a number in one of the two only. */
  readonly half: number;
}

export function sidesOf(first: Series, second: Series, rows: Uint8Array): Sides {
  let [higher, lower, alike, half] = [0, 0, 0, 0];
  for (let row = 0; row < rows.length; row++) {
    if (rows[row] !== 1) continue;
    const difference = second.means[row]! - first.means[row]!;
    if (Number.isNaN(difference)) {
      if (!Number.isNaN(first.means[row]!) || !Number.isNaN(second.means[row]!)) half++;
    } else if (difference > 1e-9) higher++;
    else if (difference < -1e-9) lower++;
    else alike++;
  }
  return { n: higher + lower + alike, higher, lower, alike, half };
}
