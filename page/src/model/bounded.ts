/**
 * The mean of what cases have each, on a known scale, with an interval that holds whatever its distribution: `mean_on_scale`
 * of `stats/bounded.py`, where it is explained. Both agree to 1e-6.
 *
 * Source: Gaffke, Mathematical Methods of Statistics 14 (2005); Learned-Miller and Thomas (2019), arXiv:1905.06208.
 */
import { wilson } from "./interval";

/** The lowest and the highest value there can be. */
export type Scale = readonly [low: number, high: number];

/** Of rates, and of yes or no. */
export const SHARES: Scale = [0, 1];

export interface OnScale {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const TAIL = 0.025;
const LEVELS = 256;
const CERTAIN = 10;
const FIRST = -6;
const STEP = 0.15;
const FINEST = 32;
const LARGEST_NODE = 15;
const CLOSE_ENOUGH = 1e-7;

/** A value, and how many cases have it. */
type Group = readonly [value: number, count: number];

/** Undefined for no cases, and where one is off the scale. */
export function meanOnScale(values: ArrayLike<number>, [low, high]: Scale): OnScale | undefined {
  const groups = grouped(values, low, high);
  const n = values.length;
  if (groups === undefined || n === 0) return undefined;
  if (groups.every(([value]) => value === low || value === high)) {
    const highest = groups.find(([value]) => value === high)?.[1] ?? 0;
    const [value, least, most] = [highest / n, ...wilson(highest, n)].map((share) => low + share * (high - low)) as [number, number, number];
    return { value, low: least, high: most };
  }
  const mean = groups.reduce((sum, [value, count]) => sum + value * count, 0) / n;
  const value = Math.min(high, Math.max(low, mean));
  const mirrored = groups.map(([each, count]) => [low + high - each, count] as const);
  return { value, low: limit(groups, value, low), high: low + high - limit(mirrored, low + high - value, low) };
}

/** Equal values together, and no more different ones than LEVELS. */
function grouped(values: ArrayLike<number>, low: number, high: number): readonly Group[] | undefined {
  const slack = 1e-9 * (high - low);
  const counts = new Map<number, number>();
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!(value >= low - slack && value <= high + slack)) return undefined;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  if (counts.size <= LEVELS) return [...counts];
  const steps = new Map<number, [sum: number, count: number]>();
  for (const [value, count] of counts) {
    const at = Math.floor(((value - low) / (high - low)) * LEVELS);
    const step = steps.get(at);
    if (step === undefined) steps.set(at, [value * count, count]);
    else {
      step[0] += value * count;
      step[1] += count;
    }
  }
  return Array.from(steps.values(), ([sum, count]) => [sum / count, count]);
}

/** The lower limit: where the chance that the weighted mean is at most this is TAIL. By false position. */
function limit(groups: readonly Group[], mean: number, end: number): number {
  if (mean <= end) return end;
  const target = Math.sqrt(TAIL);
  let [below, above] = [end, mean];
  let [under, over] = [-target, Math.sqrt(atMost(groups, mean, end)) - target];
  let side = 0;
  for (let i = 0; i < 60 && above - below > CLOSE_ENOUGH * (mean - end); i++) {
    const apart = 0.01 * (above - below);
    const middle = Math.min(Math.max((below * over - above * under) / (over - under), below + apart), above - apart);
    const miss = Math.sqrt(atMost(groups, middle, end)) - target;
    if (miss > 0) {
      [above, over] = [middle, miss];
      if (side > 0) under *= 0.5;
      side = 1;
    } else {
      [below, under] = [middle, miss];
      if (side < 0) over *= 0.5;
      side = -1;
    }
    if (Math.abs(miss) < CLOSE_ENOUGH) return middle;
  }
  return (below + above) / 2;
}

/** The chance that the weighted mean is at most `bound`: half with an imaginary case at the scale's end, half without. */
function atMost(groups: readonly Group[], bound: number, end: number): number {
  const terms = groups.flatMap(([value, count]): Group[] => (value === bound ? [] : [[value - bound, count]]));
  return (share(terms, end - bound) + share(terms, 0)) / 2;
}

/**
 * The chance that Σ a·E + extra·E′ ≤ 0, for independent exponentials E, so many of each factor a as it counts.
 *
 * Source: Gil-Pelaez (1951), doi:10.1093/biomet/38.3-4.481, as in Imhof (1961), doi:10.1093/biomet/48.3-4.419.
 */
function share(terms: readonly Group[], extra: number): number {
  if (extra === 0 && terms.length === 0) return 0.5;
  if (terms.every(([factor]) => factor > 0)) {
    // That E′ is beyond a sum that is never negative: the mean of exp(−sum), a product.
    return extra >= 0 ? 0 : Math.exp(-terms.reduce((sum, [factor, count]) => sum + count * Math.log1p(-factor / extra), 0));
  }
  if (extra <= 0 && terms.every(([factor]) => factor < 0)) return 1;
  let [squares, sum] = [0, extra];
  for (const [factor, count] of terms) {
    squares += factor * factor * count;
    sum += factor * count;
  }
  const spread = Math.sqrt(squares + extra * extra);
  const centre = sum / spread;
  if (Math.abs(centre) > CERTAIN) return centre < 0 ? 1 : 0;
  // Where the one more is by far the widest, as for equal values, all the others together damp the oscillation late.
  const step = STEP / Math.min(FINEST, Math.max(1, spread / Math.sqrt(squares)));
  const factors = terms.map(([factor, count]) => [-factor / spread, count] as const);
  if (extra !== 0) factors.push([-extra / spread, 1]);
  let total = 0;
  for (let node = FIRST; node <= LARGEST_NODE; node += step) {
    const u = Math.exp(node);
    // Π (1 + iuf)^count. It stays finite: the squares of all factors add up to 1, and what comes of large u is cut off.
    let [real, imaginary] = [1, 0];
    for (const [factor, count] of factors) {
      let [x, y] = [1, u * factor];
      for (let left = count; left > 0; left >>= 1) {
        if (left & 1) {
          const before = real;
          real = before * x - imaginary * y;
          imaginary = before * y + imaginary * x;
        }
        if (left > 1) {
          const before = x;
          x = before * before - y * y;
          y = 2 * before * y;
        }
      }
    }
    const size = Math.log(Math.hypot(real, imaginary));
    const turn = Math.atan2(imaginary, real);
    total -= Math.sin(turn) * Math.exp(-size) + centre * u * Math.exp((-u * u) / 2);
    if (size > 21 && u > 7) break;
  }
  return Math.min(1, Math.max(0, 0.5 - (total * step + centre * Math.sqrt(Math.PI / 2)) / Math.PI));
}
