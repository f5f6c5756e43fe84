/** What became of each cell since the baseline: its repeats together, on one side and on the other. */
import type { Baseline, Changed } from "./baseline";
import { FAIL, PASS, type Table } from "./table";
import { number, signed } from "./words";

export interface Change {
  readonly row: number;
  readonly variant: number;
  /** The first of its trials that changed. */
  readonly trial: number;
  /** Means over the repeats that both have a number for; NaN where there are none. */
  readonly before: Side;
  readonly after: Side;
  /** How much the share that passed, and the score, changed; NaN where that is not known. */
  readonly passed: number;
  readonly score: number;
}

export interface Side {
  readonly passed: number;
  readonly score: number;
}

/** How trials changed. `passed` and `failed` are parts of `unchanged`: the same before and now. */
export type Counts = Readonly<Record<Changed | "passed" | "failed" | "gone", number>>;

/** Trials by what became of them; `gone` are those of the baseline's paired columns that the run has not. */
export function countsOf(table: Table, baseline: Baseline): Counts {
  const counts = { regressed: 0, improved: 0, unchanged: 0, undecided: 0, new: 0, passed: 0, failed: 0, gone: 0 };
  let met = 0;
  for (let i = 0; i < table.size; i++) {
    const changed = baseline.changed(i);
    counts[changed]++;
    if (changed !== "new") met++;
    if (changed === "unchanged") counts[table.outcome[i] === PASS ? "passed" : "failed"]++;
  }
  return { ...counts, gone: baseline.table.size - met };
}

/** The cells that changed, the worst first: by the share that passed, then by score. */
export function changesOf(table: Table, baseline: Baseline): Change[] {
  const sums = new Map<number, { trial: number; cell: Float64Array }>();
  for (let i = 0; i < table.size; i++) {
    const place = baseline.place(i);
    if (place < 0) continue;
    const key = table.row[i]! * table.variantCount + table.variant[i]!;
    let found = sums.get(key);
    if (found === undefined) sums.set(key, (found = { trial: -1, cell: new Float64Array(6) }));
    const { cell } = found;
    const [before, now] = [baseline.table.outcome[place]!, table.outcome[i]!];
    if (before <= FAIL && now <= FAIL) {
      cell[0]!++;
      cell[1]! += before === PASS ? 1 : 0;
      cell[2]! += now === PASS ? 1 : 0;
    }
    const [from, to] = [baseline.table.score[place]!, table.score[i]!];
    if (found.trial < 0 && (before !== now || from < to || from > to)) found.trial = i;
    if (!Number.isNaN(from) && !Number.isNaN(to)) {
      cell[3]!++;
      cell[4]! += from;
      cell[5]! += to;
    }
  }
  const changes: Change[] = [];
  for (const { trial, cell } of sums.values()) {
    const before = { passed: cell[1]! / cell[0]!, score: cell[4]! / cell[3]! };
    const after = { passed: cell[2]! / cell[0]!, score: cell[5]! / cell[3]! };
    const [passed, score] = [after.passed - before.passed, after.score - before.score];
    if (Math.abs(passed) > 1e-9 || Math.abs(score) > 1e-9) {
      changes.push({ row: table.row[trial]!, variant: table.variant[trial]!, trial, before, after, passed, score });
    }
  }
  return changes.sort((a, b) => (a.passed || 0) - (b.passed || 0) || (a.score || 0) - (b.score || 0) || a.trial - b.trial);
}

/**
 * What became of a cell, as every view says it: `regressed −0.3`, `−0.2`, `±0`. The verdict decides which way it went, and
 * where it stayed, the score; one that went the other way than the verdict is named.
 */
export function changeSaid(passed: number, score: number): { kind: "regressed" | "improved" | "none"; words: string } {
  const way = passed > 1e-9 ? "improved" : passed < -1e-9 ? "regressed" : "";
  const moved = Math.abs(score) > 1e-9;
  const amount = moved ? signed(number(Number(score.toPrecision(3)))) : "";
  if (way === "") return moved ? { kind: score > 0 ? "improved" : "regressed", words: amount } : { kind: "none", words: "±0" };
  const apart = moved && (way === "improved") !== score > 0;
  return { kind: way, words: [apart ? `${way}, score` : way, amount].filter((part) => part !== "").join(" ") };
}
