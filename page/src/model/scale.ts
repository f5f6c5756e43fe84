/** Which values a number can have in a column, as far as that is known. */
import type { Variant } from "../data/source";
import { SHARES, type Scale } from "./bounded";
import { measured } from "./filter";
import type { Table } from "./table";

/** A number that can be drawn: a field, or a metric under its name. */
export interface Measured {
  readonly name: string;
  readonly metric: boolean;
}

/** The scale of a number in a column: of the score what the run says; undefined where nobody knows. */
export function scaleIn(table: Table, column: Variant | undefined, measure: Measured): Scale | undefined {
  if (!measure.metric) return measure.name === "passed" ? SHARES : measure.name === "score" ? declaredIn(column, measure) : undefined;
  const seen = reachOf(table, measure, (trial) => column === undefined || table.variant[trial] === column.index);
  return seen === undefined ? undefined : knownScale(declaredIn(column, measure), seen);
}

/** What scorers say of the lowest and the highest value there can be. */
export function declaredIn(column: Variant | undefined, { name, metric }: Measured): Scale | undefined {
  const key = metric ? name : "";
  return column?.scales !== undefined && Object.hasOwn(column.scales, key) ? column.scales[key] : undefined;
}

/**
 * What values can be, of which these are the lowest and the highest: `known_scale` of `analysis/summaries/rates.py`. Values from 0 to 1
 * are taken to be on that scale, and values some of which lie there and the others on the declared one to be on both.
 */
export function knownScale(declared: Scale | undefined, [least, most]: Scale): Scale | undefined {
  return [declared, SHARES, hull(declared, SHARES)].find((scale) => scale !== undefined && scale[0] <= least && most <= scale[1]);
}

/** The scale that two columns share, of which these values were seen; undefined where nobody knows. */
export function scaleOf({ name, metric }: Measured, first: Scale | undefined, second: Scale | undefined, seen: Scale | undefined): Scale | undefined {
  if (!metric && name === "passed") return SHARES;
  if (!metric && name !== "score") return undefined;
  const declared = hull(first, second);
  return seen === undefined ? declared : knownScale(declared, seen);
}

/** The lowest and the highest value that some of these trials have; undefined for none. */
export function reachOf(table: Table, measure: Measured, of: (trial: number) => boolean): Scale | undefined {
  const values = measured(table, { ...measure, column: -1 }, {});
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < table.size; i++) {
    const value = values[i]!;
    if (Number.isNaN(value) || !of(i)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : undefined;
}

/** The scale that holds both; undefined where one of them is not known. */
export function hull(one: Scale | undefined, other: Scale | undefined): Scale | undefined {
  return one === undefined || other === undefined ? undefined : [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
}
