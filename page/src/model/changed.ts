/** What became of each cell since the baseline: its repeats together, on one side and on the other. */
import type { Baseline, Changed } from "./baseline";
import { declaredIn, hull, reachOf, scaleOf } from "./scale";
import { Cells } from "./cells";
import type { Span } from "./rate";
import { ERROR, FAIL, PASS, type Table } from "./table";
import { count, short, signed } from "./words";

/** A cell on one side: its trials by outcome, and the mean of their scores; NaN where there is none. */
export interface Side {
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly score: number;
}

/** What became of a cell, as every view says it. */
export interface Said {
  /** `open`: a side has no verdict, or errors leave open which way it went. */
  readonly kind: "regressed" | "improved" | "open" | "none";
  /** `regressed −0.3`, `−0.2`, `±0`, `no verdict now`, `another test`. */
  readonly words: string;
  /** The errors that leave it open; empty for none. */
  readonly why: string;
}

export interface Change {
  readonly row: number;
  readonly variant: number;
  /** The first of its trials that changed. */
  readonly trial: number;
  readonly before: Side;
  readonly after: Side;
  readonly said: Said;
}

export const OTHER_TEST = "another test";

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

/** The cells that changed, the worst first: what regressed, what lost its verdict, what errors leave open, then the others. */
export function changesOf(table: Table, baseline: Baseline): Change[] {
  const changes: Change[] = [];
  for (let row = 0; row < table.rows.length; row++) {
    for (let variant = 0; variant < table.variantCount; variant++) {
      const [trials, earlier] = [table.cell(row, variant), baseline.cell(row, variant)];
      if (trials.length === 0 || earlier.length === 0) continue;
      const [before, after] = [sideOf(baseline.table, earlier), sideOf(table, trials)];
      const said = changeSaid(before, after, baseline.otherTest(row, variant));
      if (said.kind !== "none") changes.push({ row, variant, trial: trials.find((each) => moved(table, baseline, each)) ?? trials[0]!, before, after, said });
    }
  }
  return changes.sort((a, b) => rankOf(a) - rankOf(b) || difference(a, shareOf) - difference(b, shareOf) || difference(a, scoreOf) - difference(b, scoreOf) || a.trial - b.trial);
}

/** These trials of a cell together. */
export function sideOf(table: Table, trials: readonly number[]): Side {
  const times = (outcome: number): number => trials.filter((trial) => table.outcome[trial] === outcome).length;
  const scores = trials.map((trial) => table.score[trial]!).filter((score) => !Number.isNaN(score));
  const score = scores.reduce((sum, each) => sum + each, 0) / scores.length;
  return { passed: times(PASS), failed: times(FAIL), errors: times(ERROR), score };
}

/**
 * What became of a cell. Its verdict decides which way it went: the share of repeats that passed, whatever its errors were;
 * and where it stayed, its score. A score that went the other way than the verdict is named.
 */
export function changeSaid(before: Side, after: Side, otherTest = false): Said {
  if (otherTest) return { kind: "open", words: OTHER_TEST, why: "asked or judged otherwise in the baseline" };
  const [had, has] = [before, after].map(({ passed, failed }) => passed + failed > 0) as [boolean, boolean];
  const errors = before.errors + after.errors;
  const by = errors > 0 ? NaN : after.score - before.score; // an error may have scored anything
  const moves = Math.abs(by) > 1e-9;
  if (!had || !has) {
    if (had !== has) return { kind: "open", words: has ? "no verdict before" : "no verdict now", why: "" };
    if (errors > 0 || Number.isNaN(by)) return { kind: "none", words: "no verdict in either", why: "" };
  }
  const [from, to] = [shares(before), shares(after)];
  const [least, most] = [to.least - from.most, to.most - from.least];
  const amount = moves ? signed(short(by)) : "";
  if (least > 1e-9 || most < -1e-9) {
    const kind = least > 0 ? "improved" : "regressed";
    const apart = moves && (kind === "improved") !== by > 0;
    return { kind, words: [apart ? `${kind}, score` : kind, amount].filter((part) => part !== "").join(" "), why: "" };
  }
  if (most - least > 1e-9) return { kind: "open", words: "undecided", why: `${count(errors, "trial")} in error could turn it` };
  if (moves) return { kind: by > 0 ? "improved" : "regressed", words: amount, why: "" };
  return { kind: "none", words: "±0", why: "" };
}

/** The share that passed, as far as errors leave it known; 0 of no trials. */
function shares({ passed, failed, errors }: Side): Span {
  const n = passed + failed + errors || 1;
  return { least: passed / n, most: (passed + errors) / n };
}

const shareOf = (side: Side): number => shares(side).least;
const scoreOf = ({ score }: Side): number => score;

/** How much it changed; 0 where that is not known: other things then decide which is worse. */
function difference({ before, after }: Change, of: (side: Side) => number): number {
  return of(after) - of(before) || 0;
}

function rankOf({ said: { kind, words } }: Change): number {
  if (kind === "open") return words === "no verdict before" ? 4 : words === "undecided" ? 2 : words === OTHER_TEST ? 3 : 1;
  return words.startsWith("regressed") ? 0 : words.startsWith("improved") ? 5 : 3;
}

/** Whether a trial's outcome or score is another than before. */
function moved(table: Table, baseline: Baseline, trial: number): boolean {
  const place = baseline.place(trial);
  if (place < 0) return false;
  const [from, to] = [baseline.table.score[place]!, table.score[trial]!];
  return baseline.table.outcome[place] !== table.outcome[trial] || !Object.is(from, to);
}

/**
 * By column how much higher its mean score is, over the shown cases (1 for each) that both have; a range where trials are in
 * error, which may have scored anything. Undefined for no such case.
 */
export function meanChanges(table: Table, baseline: Baseline, rows: Uint8Array): readonly (Span | undefined)[] {
  const score = { name: "score", metric: false };
  const [now, earlier] = [new Cells(table, score), new Cells(baseline.table, score)];
  return Array.from({ length: table.variantCount }, (_, variant) => {
    const column = baseline.column(variant);
    if (column < 0) return undefined;
    const [own, other] = [
      reachOf(table, score, (trial) => table.variant[trial] === variant),
      reachOf(baseline.table, score, (trial) => baseline.table.variant[trial] === column),
    ];
    const seen = own === undefined ? other : (hull(own, other) ?? own);
    const scale = scaleOf(score, declaredIn(baseline.head.columns[column], score), declaredIn(baseline.columns[variant], score), seen) ?? seen;
    let [least, most, n] = [0, 0, 0];
    for (let row = 0; row < table.rows.length; row++) {
      const before = rows[row] === 1 ? baseline.row(row) : -1;
      if (before < 0) continue;
      const [a, b] = [earlier.mean(before, column, scale), now.mean(row, variant, scale)];
      if (a === undefined || b === undefined) continue;
      least += b.least - a.most;
      most += b.most - a.least;
      n++;
    }
    return n === 0 ? undefined : { least: least / n, most: most / n };
  });
}
