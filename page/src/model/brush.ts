/** A rectangle of a scatter as terms of the filter, and back. */
import { roundStep } from "./histogram";
import { changed, parse, type Names, type NumberTerm } from "./query";
import { written } from "./series";
import type { Measured } from "./scale";

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** A measure in two columns, by index. */
export interface Plane {
  readonly measure: Measured;
  readonly x: number;
  readonly y: number;
}

/** What is brushed: an end that is not there is open. */
export interface Brushed {
  readonly x: Range;
  readonly y: Range;
}

/** The terms of a query that a brush on this plane wrote, and the rectangle that they mean; undefined for none. */
export function brushedOf(query: string, plane: Plane, names: Names): { terms: string[]; box: Brushed } | undefined {
  const found = parse(query, names).terms.flatMap((term) => (term.group === 0 && term.kind === "number" && isOf(term, plane) ? [term] : [])); // in each alternative it is the same
  if (found.length === 0) return undefined;
  const range = (column: number): Range => {
    let [low, high] = [-Infinity, Infinity];
    for (const term of found) {
      if (term.left.column !== column) continue;
      const bound = term.right[0] as number;
      if (term.operator === ">=") low = Math.max(low, bound);
      else high = Math.min(high, bound);
    }
    return { low, high };
  };
  return { terms: found.map(({ at, end }) => query.slice(at, end)), box: { x: range(plane.x), y: range(plane.y) } };
}

/** The query without what a brush on this plane wrote. */
export function unbrushed(query: string, plane: Plane, names: Names): string {
  return changed(query, (each) => without(each, plane, names));
}

function without(query: string, plane: Plane, names: Names): string {
  let text = query;
  for (const term of parse(query, names).terms.toReversed()) {
    if (term.kind === "number" && isOf(term, plane)) text = text.slice(0, term.at) + text.slice(term.end);
  }
  return text.replace(/\s+/g, " ").trim();
}

/** The query with a rectangle; sides that lie at or beyond the axis' ends are left open. */
export function brushed(query: string, plane: Plane, box: Brushed, axis: Range, names: Names): string {
  const field = written(plane.measure);
  const step = roundStep((axis.high - axis.low) / 400);
  const bounds = (column: number, { low, high }: Range): string[] => [
    ...(low > axis.low ? [`${field}@${column + 1}>=${rounded(Math.floor(low / step + 1e-6) * step)}`] : []),
    ...(high < axis.high ? [`${field}@${column + 1}<=${rounded(Math.ceil(high / step - 1e-6) * step)}`] : []),
  ];
  const terms = [...bounds(plane.x, box.x), ...bounds(plane.y, box.y)];
  const added = terms.join(" ");
  return changed(unbrushed(query, plane, names), (each) => `${each} ${added}`) || added;
}

function isOf({ negated, left, operator, right }: NumberTerm, { measure, x, y }: Plane): boolean {
  return (
    !negated && (operator === "<=" || operator === ">=") && right.length === 1 && typeof right[0] === "number" &&
    left.name === measure.name && left.metric === measure.metric && (left.column === x || left.column === y)
  );
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(12)));
}
