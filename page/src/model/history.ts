/** The runs of one config or set, oldest first, and what each column of them came to in one measure. */
import type { CanaryPoint, MeasuredColumn, RunSummary } from "../data/source";
import { roundStep } from "./histogram";

const MOST = 60; // runs in a chart: the newest
export const TICKS = 4;

export interface Point {
  /** The run's place in the list. */
  readonly at: number;
  readonly least: number;
  readonly most: number;
  /** The ends of its interval; null where they are not known. */
  readonly low: number | null;
  readonly high: number | null;
  /** What there is to say of it, beside its number. */
  readonly words?: string;
}

export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
}

/** The runs that were made from what this one was made from: by source and eval set, or by title where it has no source. */
export function runsLike(run: RunSummary, runs: readonly RunSummary[]): RunSummary[] {
  const alike = runs.filter((each) => each.problem === "" && !each.of_judges && !each.edited && each.totals.trials > 0 && each.source === run.source && each.eval_set === run.eval_set && (run.source !== "" || each.title === run.title));
  return alike.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)).slice(-MOST);
}

/** Whether all that was planned is settled: of a part nothing is said. */
export function finished(run: RunSummary): boolean {
  return run.status === "finished" && run.totals.trials >= run.planned;
}

/** What can be drawn: the pass rate, and every number that some run has. Metrics begin with `~`. */
export function measuresIn(found: readonly (readonly MeasuredColumn[])[]): string[] {
  const means = new Set(found.flat().flatMap(({ means: of }) => Object.keys(of)));
  const metrics = [...means].filter((name) => name.startsWith("~")).sort();
  return ["passed", ...["score"].filter((name) => means.has(name)), ...metrics, ...["latency", "cost", "cost per pass"].filter((name) => means.has(name))];
}

/** A line for each column by its name, with a point for each run that has a number for it. */
export function linesOf(found: readonly (readonly MeasuredColumn[] | undefined)[], measure: string): Line[] {
  const lines = new Map<string, Point[]>();
  found.forEach((columns, at) => {
    for (const column of columns ?? []) {
      const point = pointOf(column, measure, at);
      if (point !== undefined) lines.set(column.name, [...(lines.get(column.name) ?? []), point]);
    }
  });
  return [...lines].map(([name, points]) => ({ name, points }));
}

/** The metrics whose judges were asked about canaries, as measures: they begin with `!`. */
export function canaryMeasures(points: readonly CanaryPoint[]): string[] {
  return [...new Set(points.map(({ metric }) => `!${metric}`))].sort();
}

/** Of each judge of a metric two lines: what it is right on of the canaries, and what it passes of the runs' outputs. */
export function canaryLines(points: readonly CanaryPoint[], runs: readonly RunSummary[], measure: string): Line[] {
  const mine = points.filter(({ metric }) => `!${metric}` === measure);
  const place = new Map(runs.map(({ id }, at) => [id, at]));
  const alone = Math.max(...runs.map(({ id }) => mine.filter(({ run }) => run === id).length)) <= 1; // whatever its versions are called
  const lines = new Map<string, Point[]>();
  for (const { run, judge, right, passed, words } of mine) {
    const at = place.get(run);
    if (at === undefined) continue;
    for (const [name, of] of [["right on canaries", right], ["passes in the run", passed]] as const) {
      if (of === null) continue;
      const line = alone ? name : `${judge}: ${name}`;
      lines.set(line, [...(lines.get(line) ?? []), { at, least: of.value, most: of.value, low: of.low, high: of.high, words }]);
    }
  }
  return [...lines].map(([name, all]) => ({ name, points: all.sort((a, b) => a.at - b.at) }));
}

/** Whether errors leave open where it is: it has a range, and no place in it. */
export function isOpen({ least, most }: Point): boolean {
  return most > least;
}

/** The points that a line joins: neighbours of which each is known. */
export function stretches(points: readonly Point[]): Point[][] {
  const found: Point[][] = [[]];
  for (const point of points) {
    if (isOpen(point)) found.push([]);
    else found.at(-1)!.push(point);
  }
  return found.filter(({ length }) => length > 1);
}

function pointOf(column: MeasuredColumn, measure: string, at: number): Point | undefined {
  if (measure === "passed") {
    const { least, most, low, high } = column;
    return least === null || most === null ? undefined : { at, least, most, low, high };
  }
  const mean = Object.hasOwn(column.means, measure) ? column.means[measure]! : undefined;
  if (mean === undefined || mean.least === null || mean.most === null) return undefined; // an error may have had any value
  return { at, least: mean.least, most: mean.most, low: mean.low, high: mean.high };
}

/** From where to where the axis goes: shares from 0 to 1, anything else from one round number to another. */
export function rangeOf(lines: readonly Line[], measure: string): readonly [low: number, high: number] {
  if (measure === "passed" || measure.startsWith("!")) return [0, 1];
  const values = lines.flatMap(({ points }) => points.flatMap(({ least, most, low, high }) => [least, most, low ?? least, high ?? most]));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (values.length === 0) return [0, 1];
  const step = roundStep((high - low || Math.abs(high) || 1) / TICKS);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  return [first * step, Math.max(last, first + 1) * step];
}
