/** Two columns of a run held against each other, case by case, as `evenhand compare` does it with two runs. */
import type { Variant } from "../data/source";
import { meanOnScale, type Scale } from "./bounded";
import { Cells } from "./cells";
import { measured } from "./filter";
import { CONFIDENCE, FEWEST, intervalOfRates, signFlip } from "./interval";
import type { Span } from "./rate";
import { declaredIn, reachOf, scaleOf, type Measured } from "./scale";
import type { Table } from "./table";
import { count, signed } from "./words";

/** The places of the columns, those first that are compared where nobody says which: of one eval, the one with the lowest
    pass rate and the one with the highest, where these differ. Undefined where each eval has one column. */
export function comparedFirst(columns: readonly Variant[]): number[] | undefined {
  const first = columns.find((each) => columns.some((other) => other !== each && other.eval === each.eval));
  if (first === undefined) return undefined;
  const middle = ({ rate }: Variant): number => ((rate?.least ?? rate?.value ?? NaN) + (rate?.most ?? rate?.value ?? NaN)) / 2;
  const alike = columns.filter((each) => each.eval === first.eval);
  const known = alike.filter((each) => !Number.isNaN(middle(each))).sort((a, b) => middle(a) - middle(b) || a.index - b.index);
  const [low, high] = [known[0], known.at(-1)];
  const ends = low === undefined || high === undefined || middle(low) === middle(high) ? alike : [low, high];
  return [...new Set([...ends, ...alike, ...columns])].map(({ index }) => index);
}

/** How much higher the second is on the mean over cases, with the outer ends of its interval. */
export interface Difference extends Span {
  readonly low: number;
  readonly high: number;
}

export interface CasePair {
  readonly row: number;
  readonly first: Span;
  readonly second: Span;
}

export interface Pair {
  /** The cases with a number in both, or with errors that may have been one. */
  readonly cases: readonly CasePair[];
  /** Trials in error in these cases. */
  readonly errors: number;
  /** The numbers are shares. */
  readonly rates: boolean;
  readonly difference: Difference | undefined;
  /** Cases of which errors leave open which variant is higher. */
  readonly open: number;
}

/** Second minus first, had the errors of the second been as low and those of the first as high as can be, and the reverse. */
export function differenceOf({ first, second }: CasePair): Span {
  return { least: second.least - first.most, most: second.most - first.least };
}

/** The two columns, by their places, over the rows that count, 1 for each. */
export function paired(table: Table, columns: readonly Variant[], measure: Measured, [x, y]: readonly [number, number], rows: Uint8Array): Pair {
  const cells = new Cells(table, measure);
  const seen = reachOf(table, measure, (trial) => rows[table.row[trial]!] === 1 && [x, y].includes(table.variant[trial]!));
  const known = scaleOf(measure, declaredIn(columns[x], measure), declaredIn(columns[y], measure), seen);
  const scale = known ?? seen;
  const passed = !measure.metric && measure.name === "passed";
  const rates = passed || (known?.[0] === 0 && known[1] === 1 && isYesOrNo(table, measure, rows, [x, y]));
  const cases: CasePair[] = [];
  let [errors, trials, open] = [0, 0, 0];
  for (let row = 0; row < rows.length; row++) {
    const [first, second] = rows[row] === 1 ? [cells.mean(row, x, scale), cells.mean(row, y, scale)] : [];
    if (first === undefined || second === undefined) continue;
    const pair = { row, first, second };
    cases.push(pair);
    for (const column of [x, y]) {
      const [n, broken] = cells.trials(row, column);
      trials += n;
      errors += broken;
    }
    const { least, most } = differenceOf(pair);
    if (least < most && least <= 0 && most >= 0) open++;
  }
  const repeats = trials / 2 / cases.length;
  return { cases, errors, rates, open, difference: cases.length === 0 ? undefined : over(cases.map(differenceOf), rates ? { repeats } : { scale }) };
}

/** What is said of the two: the difference, and what trials in error leave open of it. `which` says which column less which. */
export function pairSaid({ cases, difference, errors, open }: Pair, form: (value: number) => string, which = ""): string {
  if (difference === undefined) return "No case has a number in both.";
  const { least, most, low, high } = difference;
  const [from, to, ...ends] = [least, most, low, high].map((end) => signed(form(end)));
  const told = [
    `The mean difference over ${count(cases.length, "case")}${which} is ${from === to ? from : `${from} to ${to}`}` +
      (Number.isFinite(low) && Number.isFinite(high) ? ` [${ends.join(", ")}], paired, 95 %.` : "."),
  ];
  if (errors > 0) {
    const turned = least <= 0 && most >= 0;
    told.push(`${count(errors, "trial")} in error may have had any value: ${turned ? "which variant is higher is undecided" : "this holds for all of them"}.`);
  }
  if (open > 0) told.push(`Errors leave ${count(open, "case")} open.`);
  return told.join(" ");
}

/** Whether all of its values are 0 or 1. */
function isYesOrNo(table: Table, measure: Measured, rows: Uint8Array, columns: readonly number[]): boolean {
  const values = measured(table, { ...measure, column: -1 }, {});
  let some = false;
  for (let i = 0; i < table.size; i++) {
    const value = values[i]!;
    if (Number.isNaN(value) || rows[table.row[i]!] !== 1 || !columns.includes(table.variant[i]!)) continue;
    if (value !== 0 && value !== 1) return false;
    some = true;
  }
  return some;
}

type Kind = { readonly repeats: number } | { readonly scale: Scale | undefined };

/** The mean of the cases' differences; infinite ends where the cases are too few to know. */
function over(cases: readonly Span[], kind: Kind): Difference {
  const [least, most] = (["least", "most"] as const).map((end) => {
    const differences = cases.map((each) => each[end]);
    const value = differences.reduce((sum, each) => sum + each, 0) / differences.length;
    return { value, ends: endsOf(differences, kind) };
  }) as [End, End];
  return { least: least.value, most: most.value, low: least.ends[0], high: most.ends[1] };
}

interface End {
  readonly value: number;
  readonly ends: readonly [low: number, high: number];
}

/** Of rates Tango's, which holds 0 where the test shows no difference; of scores that of a mean on the scale of differences. */
function endsOf(differences: readonly number[], kind: Kind): readonly [low: number, high: number] {
  if ("repeats" in kind) {
    const [low, high] = intervalOfRates(differences, kind.repeats);
    const shown = (low > 0 || high < 0) && (signFlip(differences) ?? 0) <= 1 - CONFIDENCE;
    return shown ? [low, high] : [Math.min(low, 0), Math.max(high, 0)];
  }
  const length = kind.scale === undefined ? 0 : kind.scale[1] - kind.scale[0];
  const found = differences.length < FEWEST || length <= 0 ? undefined : meanOnScale(differences, [-length, length]);
  return found === undefined ? [-Infinity, Infinity] : [found.low, found.high];
}
