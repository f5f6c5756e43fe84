/** Which values a number can have in a column, as far as that is known. */
import type { Variant } from "../data/source";
import { SHARES, type Scale } from "./bounded";
import { measured } from "./filter";
import type { Measured } from "./series";
import type { Table } from "./table";

/**
 * The scale of a number: of a score what the run says; of a metric what its scorer declared where all values are on it, else
 * from 0 to 1 where they are within it, else whatever holds both; undefined where nobody knows.
 */
export function scaleIn(table: Table, column: Variant | undefined, { name, metric }: Measured): Scale | undefined {
  if (!metric) return name === "score" ? (column?.scale ?? undefined) : name === "passed" ? SHARES : undefined;
  const declared = column?.scales !== undefined && Object.hasOwn(column.scales, name) ? column.scales[name] : undefined;
  const seen = reachOf(table, { name, metric }, (trial) => column === undefined || table.variant[trial] === column.index);
  if (seen === undefined) return declared;
  if (declared !== undefined && declared[0] <= seen[0] && seen[1] <= declared[1]) return declared;
  if (seen[0] >= 0 && seen[1] <= 1) return SHARES;
  return declared === undefined ? undefined : hull(declared, seen);
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
