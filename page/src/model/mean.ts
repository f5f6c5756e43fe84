/** Mean scores over cases with their intervals, as `report/rates.py` has them. */
import type { Interval } from "../data/source";
import { meanOnScale, type Scale } from "./bounded";
import { meanOfSums, type Clusters } from "./interval";

/** `scaled`: the interval is that of a mean on a known scale, and need not lie evenly around it. */
export type Mean = Interval & { readonly scaled?: boolean };

/** By case the sum of what its trials have, of how many, and how many of its trials are in error. */
export interface Sums extends Clusters {
  readonly errors: ArrayLike<number>;
}

/**
 * The mean of what trials have, with its interval. On a known scale a trial in error may have had anything on it; without one
 * the interval is Student's, and not known where all values are alike.
 *
 * @param floor Nothing of this number is below it; of an unknown scale alone.
 * @returns null for no values.
 */
export function meanOf(sums: Sums, scale: Scale | undefined, floor = -Infinity): Mean | null {
  const plain = meanOfSums(sums);
  if (plain === undefined) return null;
  const found = scale === undefined ? undefined : onScale(sums, scale, plain.n);
  if (found !== undefined) return found;
  const known = Number.isFinite(plain.low) && Number.isFinite(plain.high) && plain.low < plain.high;
  return { value: plain.value, low: known ? Math.max(floor, plain.low) : null, high: known ? plain.high : null, n: plain.n };
}

function onScale({ totals, sizes, errors }: Sums, scale: Scale, n: number): Mean | undefined {
  const ends = scale.map((end) => {
    const means: number[] = [];
    for (let i = 0; i < sizes.length; i++) {
      const of = sizes[i]! + errors[i]!;
      if (of > 0) means.push((totals[i]! + errors[i]! * end) / of);
    }
    return means;
  });
  let sum = 0;
  for (let i = 0; i < sizes.length; i++) if (sizes[i]! > 0) sum += totals[i]! / sizes[i]!;
  const lowest = meanOnScale(ends[0]!, scale);
  const highest = some(errors) ? meanOnScale(ends[1]!, scale) : lowest;
  if (lowest === undefined || highest === undefined) return undefined; // the scale is not what it was said to be
  return { value: sum / n, low: lowest.low, high: highest.high, n, scaled: true };
}

function some(counts: ArrayLike<number>): boolean {
  for (let i = 0; i < counts.length; i++) if (counts[i]! > 0) return true;
  return false;
}
