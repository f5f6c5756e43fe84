/** What each column comes to over the rows that are shown: the same numbers as on the command line, for any choice. */
import type { Head, Variant } from "../data/source";
import type { Scale } from "./bounded";
import { together, type Sums } from "./clusters";
import { looked, meanAlone, meanOf, type Mean } from "./mean";
import { rateOf, type Rate } from "./rate";
import { declaredIn, knownScale, scaleIn } from "./scale";
import { ERROR, FAIL, NOT_APPLICABLE, PASS, type Table } from "./table";
import { count, grouped } from "./words";

export interface ColumnSummary {
  /** Trials by outcome. */
  readonly outcomes: readonly [passed: number, failed: number, errors: number, notApplicable: number];
  /** Over cases; an error may have been either. */
  readonly rate: Rate | null;
  readonly score: Mean | null;
  /** Seconds. */
  readonly latency: Mean | null;
  /** Expectations that passed, of those with a verdict. */
  readonly met: number;
  readonly asked: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly calls: number;
  /** null: a price is not known. */
  readonly cost: number | null;
  /** The mean of each metric over its `n` cases, in the order of the run; without those that the column has no number for. */
  readonly metrics: readonly (Mean & { readonly name: string })[];
}

/** By row, for one column: sums, and of how many trials. */
class RowSums implements Sums {
  readonly totals: Float64Array;
  readonly sizes: Int32Array;

  constructor(rows: number, readonly errors: Int32Array, readonly cluster: Int32Array) {
    this.totals = new Float64Array(rows);
    this.sizes = new Int32Array(rows);
  }

  add(row: number, value: number): void {
    if (Number.isNaN(value)) return;
    this.totals[row]! += value;
    this.sizes[row]!++;
  }
}

/** Everything of one column that is added up. */
class Tally {
  readonly outcomes: [number, number, number, number] = [0, 0, 0, 0];
  /** By row. */
  readonly passed: Int32Array;
  readonly failed: Int32Array;
  readonly errors: Int32Array;
  readonly cluster: Int32Array;
  readonly scores: RowSums;
  readonly latencies: RowSums;
  met = 0;
  asked = 0;
  tokensIn = 0;
  tokensOut = 0;
  calls = 0;
  cost = 0;

  constructor(rows: number) {
    [this.passed, this.failed, this.errors, this.cluster] = [new Int32Array(rows), new Int32Array(rows), new Int32Array(rows), new Int32Array(rows)];
    // An error may have scored anything, but says nothing of time.
    [this.scores, this.latencies] = [new RowSums(rows, new Int32Array(rows), this.cluster), new RowSums(rows, new Int32Array(), this.cluster)];
  }
}

/** Each column's summary; `rows` has 1 for each row that counts. `stopped`: the run stopped as soon as it was decided. */
export function summaries(table: Table, columns: readonly Variant[], rows: Uint8Array, stopped = false): ColumnSummary[] {
  const tallies = Array.from({ length: table.variantCount }, () => new Tally(rows.length));
  const { row: rowOf, variant, outcome, score, latency, met, asked, tokensIn, tokensOut, calls, cost } = table;
  for (let i = 0; i < table.size; i++) {
    const row = rowOf[i]!;
    if (rows[row] !== 1) continue;
    const tally = tallies[variant[i]!]!;
    const came = outcome[i]!;
    tally.outcomes[came as 0 | 1 | 2 | 3]++;
    tally.cluster[row] = table.cluster[i]!;
    if (came === PASS) tally.passed[row]!++;
    else if (came === FAIL) tally.failed[row]!++;
    else if (came === ERROR) tally.errors[row]!++;
    if (Number.isNaN(score[i]!) && table.isOpen(i, SCORE)) tally.scores.errors[row]!++;
    else tally.scores.add(row, score[i]!);
    tally.latencies.add(row, latency[i]!);
    tally.met += met[i]!;
    tally.asked += asked[i]!;
    tally.tokensIn += tokensIn[i]! || 0;
    tally.tokensOut += tokensOut[i]! || 0;
    tally.calls += calls[i]!;
    tally.cost += cost[i]!; // NaN once one is not known
  }
  const metrics = table.metricNames.slice(0, METRICS).map((name) => ({ name, means: metricMeans(table, columns, name, rows, tallies) }));
  return tallies.map((tally, i) => ({
    ...summary(tally, scaleIn(table, columns[i], SCORE), stopped),
    metrics: metrics.flatMap(({ name, means }) => (means[i] === null ? [] : [{ name, ...means[i]! }])),
  }));
}

/** By column the mean of a metric over cases. Its interval is in the charts: to work it out for all of them takes too long. */
function metricMeans(table: Table, columns: readonly Variant[], name: string, rows: Uint8Array, tallies: readonly Tally[]): readonly (Mean | null)[] {
  const sums = tallies.map(({ cluster }) => new RowSums(rows.length, new Int32Array(rows.length), cluster));
  const seen = tallies.map((): [number, number] => [Infinity, -Infinity]);
  const values = table.metric(name)!;
  for (let i = 0; i < table.size; i++) {
    const [value, row, variant] = [values[i]!, table.row[i]!, table.variant[i]!];
    if (!Number.isNaN(value)) seen[variant] = [Math.min(seen[variant]![0], value), Math.max(seen[variant]![1], value)];
    if (rows[row] !== 1) continue;
    if (Number.isNaN(value) && table.isOpen(i, { name, metric: true })) sums[variant]!.errors[row]!++;
    else sums[variant]!.add(row, value);
  }
  return sums.map((each, i) => meanAlone(together(each, each.cluster), knownScale(declaredIn(columns[i], { name, metric: true }), seen[i]!)));
}

const METRICS = 24; // of which the heads have means: more are no longer read

const SCORE = { name: "score", metric: false };

function summary(tally: Tally, scale: Scale | undefined, stopped: boolean): Omit<ColumnSummary, "metrics"> {
  const { outcomes, calls, cost, met, asked, tokensIn, tokensOut } = tally;
  return {
    outcomes, met, asked, tokensIn, tokensOut, calls,
    rate: rateOf(tally, stopped) ?? null,
    score: looked(meanOf(together(tally.scores, tally.cluster), scale), stopped),
    latency: looked(meanOf(together(tally.latencies, tally.cluster), undefined, 0), stopped),
    cost: Number.isNaN(cost) ? null : cost,
  };
}

/** Whether outputs were only ranked: no trial of these had anything that it could fail. */
export function onlyRanked({ standings }: Pick<Head, "standings">, { outcome, asked }: Pick<Table, "outcome" | "asked">, trials: Iterable<number>): boolean {
  if (standings.length === 0) return false;
  for (const trial of trials) if (outcome[trial] !== PASS || asked[trial] !== 0) return false;
  return true;
}

/** How many trials the rate is of: those that passed, failed or are in error. */
export function counted(outcomes: readonly number[]): number {
  return outcomes[PASS]! + outcomes[FAIL]! + outcomes[ERROR]!;
}

/** Trials without a verdict, in words: `2 errors, 1 not applicable`; empty for none. */
export function apart(outcomes: readonly number[]): string {
  const [errors, none] = [outcomes[ERROR]!, outcomes[NOT_APPLICABLE]!];
  const said = errors > 0 ? [count(errors, "error")] : [];
  if (none > 0) said.push(`${grouped(none)} not applicable`);
  return said.join(", ");
}
