/** How far a rate or a mean can be from what was seen: the intervals of `stats/interval.py`, computed alike. */

const CONFIDENCE = 0.95;
/** Below so many clusters the interval of a mean is not known: `FEWEST` of `stats/paired.py`. */
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

/**
 * Wilson's interval of a pass rate whose trials come in clusters: the repeats of one case are not new cases. Each
 * cluster is [passed, trials]; (0, 1) for nothing.
 *
 * Source: Miller (2024), arXiv:2411.00640, §2.2; the effective sample size is Kish's (1965).
 */
export function wilsonOfClusters(clusters: Iterable<Cluster> | Clusters): [low: number, high: number] {
  const columns = columnsOf(clusters);
  const { all: passed, n, groups } = summed(columns);
  if (n === 0) return [0, 1];
  const meanSize = n / groups;
  const p = passed / n;
  if (meanSize === 1) return wilson(passed, n);
  let effect = meanSize; // nothing tells repeats of one case from one another
  if (p > 0 && p < 1 && groups > 1) {
    const clustered = squaresAround(columns, p) * (groups / (groups - 1)) * (tQuantile(groups - 1) / Z) ** 2;
    effect = Math.min(meanSize, Math.max(1, clustered / (n * p * (1 - p))));
  }
  return wilson(passed / effect, n / effect);
}

export interface Mean {
  readonly value: number;
  /** Infinite below FEWEST clusters: what t makes of two or three reaches beyond any scale. */
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/**
 * The mean of scores that come in clusters, each [sum, how many], with its t interval: `mean_of` of `report/rates.py`, and
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
