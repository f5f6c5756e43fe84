/** How far a rate or a mean can be from what was seen: the intervals of `stats/interval.py`, computed alike. */

export const CONFIDENCE = 0.95;
/** Below so many clusters the interval of a mean is not known: `FEWEST` of `stats/paired_difference.py`. */
export const FEWEST = 5;
/** The normal quantile of it, two-sided. */
const Z = 1.9599639845400536;

/** Wilson's interval of a proportion, from 0 to 1. Source: Wilson (1927), doi:10.1080/01621459.1927.10502953. */
export function wilson(successes: number, n: number): [low: number, high: number] {
  if (n === 0) return [0, 1];
  const p = successes / n;
  const middle = (p + (Z * Z) / (2 * n)) / (1 + (Z * Z) / n);
  const half = (Z / (1 + (Z * Z) / n)) * Math.sqrt((p * (1 - p)) / n + (Z * Z) / (4 * n * n));
  return [
    successes === 0 ? 0 : Math.max(0, middle - half),
    successes === n ? 1 : Math.min(1, middle + half),
  ];
}

/**
 * An interval of a mean of items from 0 to 1 that holds however often one looks: `share_sequence` of `stats/sequential.py`.
 * Source: Robbins (1970), doi:10.1214/aoms/1177696786.
 */
export function shareSequence(successes: number, failures: number): [low: number, high: number] {
  const n = successes + failures;
  if (n === 0) return [0, 1];
  const bound = logGamma(1 + successes) + logGamma(1 + failures) - logGamma(2 + n) + Math.log(1 - CONFIDENCE);
  const times = (count: number, log: number): number => (count === 0 ? 0 : count * log);
  const outside = (share: number): boolean => times(successes, Math.log(share)) + times(failures, Math.log1p(-share)) <= bound;
  const end = (from: number, beyond: number): number => {
    if (!outside(beyond)) return beyond;
    let inside = from;
    for (let i = 0; i < 60; i++) {
      const middle = (inside + beyond) / 2;
      if (outside(middle)) beyond = middle;
      else inside = middle;
    }
    return (inside + beyond) / 2;
  };
  return [end(successes / n, 0), end(successes / n, 1)];
}

export type Cluster = readonly [total: number, n: number];

/** The same in two columns, for many of them: [totals[i], sizes[i]] is a cluster; one of size 0 is none. */
export interface Clusters {
  readonly totals: ArrayLike<number>;
  readonly sizes: ArrayLike<number>;
}

function columnsOf(given: Iterable<Cluster> | Clusters): Clusters {
  if (!(Symbol.iterator in given)) return given;
  const kept = Array.from(given);
  return { totals: kept.map(([total]) => total), sizes: kept.map(([, size]) => size) };
}

/** All totals and all sizes together, and how many clusters there are. */
function summed({ totals, sizes }: Clusters): { all: number; n: number; groups: number } {
  let [all, n, groups] = [0, 0, 0];
  for (let i = 0; i < sizes.length; i++) {
    if (sizes[i]! <= 0) continue;
    all += totals[i]!;
    n += sizes[i]!;
    groups++;
  }
  return { all, n, groups };
}

/** The squares of how far the totals are from what their sizes would give them at this mean. */
function squaresAround({ totals, sizes }: Clusters, value: number): number {
  let sum = 0;
  for (let i = 0; i < sizes.length; i++) if (sizes[i]! > 0) sum += (totals[i]! - sizes[i]! * value) ** 2;
  return sum;
}

export interface Mean {
  readonly value: number;
  /** Infinite below FEWEST clusters: what t makes of two or three reaches beyond any scale. */
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/**
 * The mean of scores that come in clusters, each [sum, how many], with its t interval: `mean_of` of `analysis/summaries/rates.py`, and
 * with a difference in each cluster that of paired scores. Undefined for no scores.
 */
export function meanOfSums(clusters: Iterable<Cluster> | Clusters): Mean | undefined {
  const columns = columnsOf(clusters);
  const { all, n, groups } = summed(columns);
  if (groups === 0) return undefined;
  const value = all / n;
  if (groups < FEWEST) return { value, low: -Infinity, high: Infinity, n: groups };
  const half = (tQuantile(groups - 1) * Math.sqrt((squaresAround(columns, value) * groups) / (groups - 1))) / n;
  return { value, low: value - half, high: value + half, n: groups };
}

/**
 * Where the difference of two pass rates lies, from each case's difference of its shares: `Differences.interval` of
 * `stats/paired_difference.py`. `repeats` is how many trials a case has, on average. From −1 to 1 for no cases.
 *
 * Source: Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B, of as many cases as say as much.
 */
export function intervalOfRates(cases: ArrayLike<number>, repeats: number): [low: number, high: number] {
  const n = cases.length;
  let [ahead, behind, plain] = [0, 0, true];
  for (let i = 0; i < n; i++) {
    const d = cases[i]!;
    if (d > 0) ahead += d;
    else behind -= d;
    plain &&= d === 0 || Math.abs(d) === 1;
  }
  const worth = plain ? 1 : worthOf(cases, (ahead - behind) / n, ahead + behind, repeats);
  return tango(n * worth, ahead * worth, behind * worth);
}

/** How many yes-or-no cases one case is worth: the ratio of the two variances of their sum. */
function worthOf(cases: ArrayLike<number>, mean: number, apart: number, repeats: number): number {
  const n = cases.length;
  const asYesOrNo = apart - n * mean * mean;
  let seen = 0;
  for (let i = 0; i < n; i++) seen += (cases[i]! - mean) ** 2;
  if (n < 2 || seen <= 0 || asYesOrNo <= 0) return 1;
  seen *= (n / (n - 1)) * (tQuantile(n - 1) / Z) ** 2;
  return Math.min(repeats, Math.max(1, asYesOrNo / seen));
}

/** Tango's score interval of a difference of two rates on the same `n` cases; the counts need not be whole. */
function tango(n: number, b: number, c: number): [low: number, high: number] {
  if (n === 0) return [-1, 1];
  const difference = (b - c) / n;
  const score = (delta: number): number => {
    const middle = (2 * n - b + c) * delta - b - c;
    const q = (Math.sqrt(Math.max(0, middle * middle + 8 * n * c * delta * (1 - delta))) - middle) / (4 * n);
    const variance = n * (2 * q + delta * (1 - delta));
    const distance = b - c - n * delta;
    if (variance <= 0) return distance === 0 ? 0 : Math.sign(distance) * Infinity;
    return distance / Math.sqrt(variance);
  };
  return [root((d) => score(d) - Z, -1, difference), root((d) => score(d) + Z, difference, 1)];
}

/** Where a falling function crosses 0 between two points; the nearer end where it does not. */
function root(of: (x: number) => number, low: number, high: number): number {
  if (of(low) <= 0) return low;
  if (of(high) >= 0) return high;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (of(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

const quantiles = new Map<number, number>();

/** How many standard errors a 95 % interval of a mean reaches to each side, with so many degrees of freedom. */
export function tQuantile(df: number): number {
  const before = quantiles.get(df);
  if (before !== undefined) return before;
  let high = 1;
  while (tTail(high, df) > 1 - CONFIDENCE) high *= 2;
  let low = 0;
  for (let i = 0; i < 200; i++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (tTail(middle, df) > 1 - CONFIDENCE) low = middle;
    else high = middle;
  }
  const found = (low + high) / 2;
  quantiles.set(df, found);
  return found;
}

/** How likely a t statistic at least as far from 0 is. Source: DLMF 8.17.22, https://dlmf.nist.gov/8.17. */
function tTail(t: number, df: number): number {
  return betaShare(df / 2, 0.5, df / (df + t * t));
}

function betaShare(a: number, b: number, x: number): number {
  if (x <= 0 || x >= 1) return Math.min(1, Math.max(0, x));
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
}

/** The continued fraction of it, by Lentz's method. Source: Thompson and Barnett (1986), 10.1016/0021-9991(86)90046-X. */
function fraction(a: number, b: number, x: number): number {
  const tiny = 1e-300;
  const off = (value: number): number => (Math.abs(value) > tiny ? value : tiny);
  let c = 1;
  let d = 1 / off(1 - ((a + b) * x) / (a + 1));
  let total = d;
  for (let m = 1; m < 500; m++) {
    for (const step of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 / off(1 + step * d);
      c = off(1 + step / c);
      total *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return total;
}

/** ln Γ(x) for x > 0: Stirling's series, after moving x up. Source: DLMF 5.11.1, https://dlmf.nist.gov/5.11. */
function logGamma(x: number): number {
  let shift = 0;
  while (x < 15) shift += Math.log(x++);
  const y = 1 / (x * x);
  const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * (691 / 360360)))))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
}

/** Sums of signs that are counted, at most: as in `stats/paired_difference.py`. */
const EXACT_WORK = 150_000;
const UNITS = 1e9;

/**
 * The two-sided p-value that differences are as likely to be positive as negative: `sign_flip` of `stats/paired_difference.py`.
 * 1 for none, and undefined where signs can make too many sums to count.
 */
export function signFlip(differences: readonly number[]): number | undefined {
  const sizes = differences.filter((d) => d !== 0).map(Math.abs);
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  if (largest === 0) return 1;
  const units = sizes.map((size) => Math.round((size / largest) * UNITS));
  const observed = Math.abs(differences.reduce((sum, d) => sum + Math.round((d / largest) * UNITS), 0)) - units.length;
  let sums = new Map([[units[0]!, 1]]);
  let work = 0;
  for (const unit of units.slice(1)) {
    work += sums.size;
    if (work > EXACT_WORK) return undefined;
    const longer = new Map<number, number>();
    for (const [total, share] of sums) for (const next of [total + unit, total - unit]) longer.set(next, (longer.get(next) ?? 0) + share / 2);
    sums = longer;
  }
  let p = 0;
  for (const [total, share] of sums) if (Math.abs(total) >= observed) p += share;
  return p;
}
