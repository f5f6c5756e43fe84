/** Cases that belong together count once, as `analysis/summaries/clusters.py` has it. */
import type { Clusters } from "./interval";

/** By case the sum of what its trials have, of how many, and how many of its trials are in error. */
export interface Sums extends Clusters {
  readonly errors: ArrayLike<number>;
}

/**
 * Sums of cases, those of a cluster as one: each of its cases weighs the same, whatever its repeats.
 *
 * @param cluster By case the number of what it belongs to; 0 for one that stands alone.
 */
export function together({ totals, sizes, errors }: Sums, cluster: ArrayLike<number>): Sums {
  const places = new Map<number, number>();
  const [sum, size, broken]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < sizes.length; i++) {
    const trials = sizes[i]! + (errors[i] ?? 0);
    const number = cluster[i]!;
    let at = number > 0 ? places.get(number) : undefined;
    if (at === undefined) {
      at = sum.length;
      if (number > 0) places.set(number, at);
      [sum[at], size[at], broken[at]] = [0, 0, 0];
    }
    const weight = number > 0 ? trials : 1;
    if (trials === 0) continue;
    sum[at]! += totals[i]! / weight;
    size[at]! += sizes[i]! / weight;
    broken[at]! += (errors[i] ?? 0) / weight;
  }
  return { totals: sum, sizes: size, errors: broken };
}

/** Whether one of these is above 0. */
export function some(counts: ArrayLike<number>): boolean {
  for (let i = 0; i < counts.length; i++) if (counts[i]! > 0) return true;
  return false;
}
