/** What each column comes to over the rows that are shown: the same numbers as on the command line, for any choice. */
import type { Interval } from "../data/source";
import { meanOfSums, wilsonOfClusters, type Clusters } from "./interval";
import { ERROR, FAIL, NOT_APPLICABLE, PASS, type Table } from "./table";
import { count, grouped } from "./words";

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
class Sums implements Clusters {
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
}

/** Everything of one column that is added up. */
class Tally {
  readonly outcomes: [number, number, number, number] = [0, 0, 0, 0];
  readonly passed: Sums;
  readonly scores: Sums;
  readonly latencies: Sums;
  met = 0;
  asked = 0;
  tokensIn = 0;
  tokensOut = 0;
  cost = 0;

  constructor(rows: number) {
    [this.passed, this.scores, this.latencies] = [new Sums(rows), new Sums(rows), new Sums(rows)];
  }
}

/** Each column's summary; `rows` has 1 for each row that counts. */
export function summaries(table: Table, rows: Uint8Array): ColumnSummary[] {
  const tallies = Array.from({ length: table.variantCount }, () => new Tally(rows.length));
  const { row: rowOf, variant, outcome, score, latency, met, asked, tokensIn, tokensOut, cost } = table;
  for (let i = 0; i < table.size; i++) {
    const row = rowOf[i]!;
    if (rows[row] !== 1) continue;
    const tally = tallies[variant[i]!]!;
    const came = outcome[i]!;
    tally.outcomes[came as 0 | 1 | 2 | 3]++;
    if (came === PASS || came === FAIL) tally.passed.add(row, came === PASS ? 1 : 0);
    tally.scores.add(row, score[i]!);
    tally.latencies.add(row, latency[i]!);
    tally.met += met[i]!;
    tally.asked += asked[i]!;
    tally.tokensIn += tokensIn[i]! || 0;
    tally.tokensOut += tokensOut[i]! || 0;
    tally.cost += cost[i]!; // NaN once one is not known
  }
  return tallies.map(summary);
}

function summary({ outcomes, passed, scores, latencies, cost, met, asked, tokensIn, tokensOut }: Tally): ColumnSummary {
  return {
    outcomes, met, asked, tokensIn, tokensOut,
    rate: rateOf(outcomes, passed),
    score: meanOf(scores),
    latency: meanOf(latencies),
    cost: Number.isNaN(cost) ? null : cost,
  };
}

function rateOf(outcomes: readonly number[], passed: Sums): Interval | null {
  const n = outcomes[PASS]! + outcomes[FAIL]!;
  if (n === 0) return null;
  const [low, high] = wilsonOfClusters(passed);
  return { value: outcomes[PASS]! / n, low, high, n: passed.sizes.reduce((cases, size) => cases + Number(size > 0), 0) };
}

function meanOf(sums: Sums): Interval | null {
  const mean = meanOfSums(sums);
  if (mean === undefined) return null;
  const known = Number.isFinite(mean.low) && Number.isFinite(mean.high);
  return { value: mean.value, low: known ? mean.low : null, high: known ? mean.high : null, n: mean.n };
}

/** Trials without a verdict, in words: `2 errors, 1 not applicable`; empty for none. */
export function apart(outcomes: readonly number[]): string {
  const [errors, none] = [outcomes[ERROR]!, outcomes[NOT_APPLICABLE]!];
  const said = errors > 0 ? [count(errors, "error")] : [];
  if (none > 0) said.push(`${grouped(none)} not applicable`);
  return said.join(", ");
}
