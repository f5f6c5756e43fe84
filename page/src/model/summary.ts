/** What each column comes to over the rows that are shown: the same numbers as on the command line, for any choice. */
import type { Interval } from "../data/source";
import { type Cluster, meanOfSums, wilsonOfClusters } from "./interval";
import { ERROR, FAIL, NOT_APPLICABLE, PASS, type Table } from "./table";

export interface ColumnSummary {
  /** Trials by outcome. */
  readonly outcomes: readonly [passed: number, failed: number, errors: number, notApplicable: number];
  /** Of trials with a verdict; the interval is that of cases. */
  readonly rate: Interval | null;
  readonly score: Interval | null;
  /** Seconds. */
  readonly latency: Interval | null;
  /** Expectations that passed, of those with a verdict. */
  readonly met: number;
  readonly asked: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** null: a price is not known. */
  readonly cost: number | null;
}

/** By row, for one column: sums, and of how many trials. */
class Sums {
  readonly totals: Float64Array;
  readonly sizes: Int32Array;

  constructor(rows: number) {
    this.totals = new Float64Array(rows);
    this.sizes = new Int32Array(rows);
  }

  add(row: number, value: number): void {
    if (Number.isNaN(value)) return;
    this.totals[row]! += value;
    this.sizes[row]!++;
  }

  clusters(): Cluster[] {
    const found: Cluster[] = [];
    for (let row = 0; row < this.sizes.length; row++) {
      if (this.sizes[row]! > 0) found.push([this.totals[row]!, this.sizes[row]!]);
    }
    return found;
  }
}

/** Each column's summary; `rows` has 1 for each row that counts. */
export function summaries(table: Table, rows: Uint8Array): ColumnSummary[] {
  return Array.from({ length: table.variantCount }, (_, variant) => summary(table, rows, variant));
}

function summary(table: Table, rows: Uint8Array, variant: number): ColumnSummary {
  const outcomes: [number, number, number, number] = [0, 0, 0, 0];
  const [passed, scores, latencies] = [0, 1, 2].map(() => new Sums(rows.length)) as [Sums, Sums, Sums];
  let [met, asked, tokensIn, tokensOut, cost] = [0, 0, 0, 0, 0];
  for (let i = 0; i < table.size; i++) {
    const row = table.row[i]!;
    if (table.variant[i] !== variant || rows[row] !== 1) continue;
    const outcome = table.outcome[i]!;
    outcomes[outcome as 0 | 1 | 2 | 3]++;
    if (outcome === PASS || outcome === FAIL) passed.add(row, outcome === PASS ? 1 : 0);
    scores.add(row, table.score[i]!);
    latencies.add(row, table.latency[i]!);
    met += table.met[i]!;
    asked += table.asked[i]!;
    tokensIn += table.tokensIn[i]! || 0;
    tokensOut += table.tokensOut[i]! || 0;
    cost += table.cost[i]!; // NaN once one is not known
  }
  return {
    outcomes,
    rate: rateOf(outcomes, passed),
    score: meanOf(scores),
    latency: meanOf(latencies),
    met, asked, tokensIn, tokensOut,
    cost: Number.isNaN(cost) ? null : cost,
  };
}

function rateOf(outcomes: readonly number[], passed: Sums): Interval | null {
  const n = outcomes[PASS]! + outcomes[FAIL]!;
  if (n === 0) return null;
  const clusters = passed.clusters();
  const [low, high] = wilsonOfClusters(clusters);
  return { value: outcomes[PASS]! / n, low, high, n: clusters.length };
}

function meanOf(sums: Sums): Interval | null {
  const mean = meanOfSums(sums.clusters());
  if (mean === undefined) return null;
  const known = Number.isFinite(mean.low) && Number.isFinite(mean.high);
  return { value: mean.value, low: known ? mean.low : null, high: known ? mean.high : null, n: mean.n };
}

/** Trials without a verdict, in words: `2 errors, 1 not applicable`; empty for none. */
export function apart(outcomes: readonly number[]): string {
  const [errors, none] = [outcomes[ERROR]!, outcomes[NOT_APPLICABLE]!];
  const said = errors > 0 ? [`${errors} ${errors === 1 ? "error" : "errors"}`] : [];
  if (none > 0) said.push(`${none} not applicable`);
  return said.join(", ");
}
