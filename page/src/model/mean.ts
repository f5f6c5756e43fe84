/** Mean scores over cases with their intervals, as `analysis/summaries/rates.py` has them. */
import type { Interval } from "../data/source";
import { meanOnScale, type Scale } from "./bounded";
import { some, type Sums } from "./clusters";
import { FEWEST, meanOfSums, type Clusters } from "./interval";

/**
 * `scaled`: the interval is that of a mean on a known scale, and need not lie evenly around it. `open`: the lowest and the highest mean
 * that errors leave possible; NaN where those may have had any value.
 */
export type Mean = Interval & { readonly scaled?: boolean; readonly open?: Scale };

/**
 * The mean over cases, each of which counts once, with its interval: `mean_of` of `analysis/summaries/rates.py`. On a known scale a trial
 * in error may have had anything on it; otherwise anything that a case has, and the interval is Student's, which says nothing
 * of fewer than FEWEST cases and of such as are all alike.
 *
 * @param floor Nothing of this number is below it; of an unknown scale alone.
 * @returns null for no values.
 */
export function meanOf(sums: Sums, scale: Scale | undefined, floor = -Infinity): Mean | null {
  const { value, n, low, high } = middleOf(sums);
  if (n === 0) return null;
  if (scale !== undefined) {
    const [lowest, highest] = both(sums, scale, (means) => meanOnScale(means, scale));
    if (lowest !== undefined && highest !== undefined) return { value, low: lowest.low, high: highest.high, n, scaled: true, ...openOf(sums, scale) };
  }
  if (n < FEWEST || low === high) return { value, low: null, high: null, n, ...openOf(sums, [NaN, NaN]) };
  const [lowest, highest] = both(sums, [low, high], (means) => meanOfSums({ totals: means, sizes: means.map(() => 1) }));
  return { value, low: Math.max(floor, lowest?.low ?? NaN), high: highest?.high ?? null, n, ...openOf(sums, [low, high]) };
}

/** The ends between which errors leave a mean, those having the ends of a scale; nothing without errors. */
function openOf(sums: Sums, scale: Scale): { readonly open?: Scale } {
  return some(sums.errors) ? { open: both(sums, scale, (means) => means.reduce((sum, mean) => sum + mean, 0) / means.length) as Scale } : {};
}

/** The same without its interval, which takes longer than all else. */
export function meanAlone(sums: Sums, scale: Scale | undefined): Mean | null {
  const { value, n, low, high } = middleOf(sums);
  if (n === 0) return null;
  return { value, low: null, high: null, n, ...openOf(sums, scale ?? (n < FEWEST || low === high ? [NaN, NaN] : [low, high])) };
}

/** A mean without its interval, of a run that stopped as soon as it was decided: none allows for that. */
export function looked(mean: Mean | null, stopped: boolean): Mean | null {
  return mean === null || !stopped ? mean : { ...mean, low: null, high: null };
}

/** The mean over cases, each of which counts once, of how many, and the lowest and highest of them; NaN for none. */
export function middleOf({ totals, sizes }: Clusters): { readonly value: number; readonly n: number; readonly low: number; readonly high: number } {
  let [sum, n, low, high] = [0, 0, Infinity, -Infinity];
  for (let i = 0; i < sizes.length; i++) {
    if (sizes[i]! <= 0) continue;
    const mean = totals[i]! / sizes[i]!;
    [sum, n, low, high] = [sum + mean, n + 1, Math.min(low, mean), Math.max(high, mean)];
  }
  return { value: sum / n, n, low, high };
}

/** Something of the cases' means, had all errors been as low, and as high, as can be. */
function both<T>({ totals, sizes, errors }: Sums, scale: Scale, of: (means: number[]) => T): readonly [T, T] {
  const at = (end: number): T => {
    const means: number[] = [];
    for (let i = 0; i < sizes.length; i++) {
      const trials = sizes[i]! + errors[i]!;
      if (trials > 0) means.push((totals[i]! + errors[i]! * end) / trials);
    }
    return of(means);
  };
  const lowest = at(scale[0]);
  return [lowest, some(errors) ? at(scale[1]) : lowest];
}
