/**
 * Pass rates where some trials are in error: as `stats/tallies.py` has them. A trial in error may have been either, so a
 * case's share of passes is a range, from what it would be had all of its errors failed to what it would be had all passed.
 * Every case counts once, however many repeats it has.
 */
import type { RateInterval } from "../data/source";
import { meanOnScale, SHARES } from "./bounded";
import { some, together } from "./clusters";
import { shareSequence } from "./interval";

/** A number that errors may leave open; without errors both ends are the same. */
export interface Span {
  readonly least: number;
  readonly most: number;
}

/** A pass rate, with the outer ends of its interval, over `n` cases. */
export interface Rate extends Span {
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/** How many trials of each case passed, failed and are in error; cases of none of them are left out. */
export interface Tallies {
  readonly passed: ArrayLike<number>;
  readonly failed: ArrayLike<number>;
  readonly errors: ArrayLike<number>;
  /** What cases belong to, as `Block` has it; without it each stands alone. */
  readonly cluster?: ArrayLike<number> | undefined;
}

/**
 * The rate over cases; undefined for none.
 *
 * @param stopped The run stopped as soon as it was decided: the interval is one that allows for having looked.
 */
export function rateOf(tallies: Tallies, stopped = false): Rate | undefined {
  const { passed, failed, errors, cluster } = tallies;
  if (cluster !== undefined && some(cluster)) {
    const sizes = Array.from(passed, (n, i) => n + failed[i]!);
    const joined = together({ totals: passed, sizes, errors }, cluster);
    const rate = rateOf({ passed: joined.totals, failed: Array.from(joined.sizes, (n, i) => n - joined.totals[i]!), errors: joined.errors }, stopped);
    return rate && { ...rate, n: sizes.reduce((n, size, i) => n + (size + errors[i]! > 0 ? 1 : 0), 0) };
  }
  const [least, most] = [new Float64Array(passed.length), new Float64Array(passed.length)];
  let [n, broken] = [0, 0];
  for (let i = 0; i < passed.length; i++) {
    const of = passed[i]! + failed[i]! + errors[i]!;
    if (of === 0) continue;
    least[n] = passed[i]! / of;
    most[n++] = (passed[i]! + errors[i]!) / of;
    broken += errors[i]!;
  }
  const lowest = meanOnScale(least.subarray(0, n), SHARES);
  const highest = broken === 0 ? lowest : meanOnScale(most.subarray(0, n), SHARES);
  if (lowest === undefined || highest === undefined) return undefined;
  const span = { least: lowest.value, most: highest.value };
  if (!stopped) return { ...span, low: lowest.low, high: highest.high, n };
  const [low] = shareSequence(span.least * n, (1 - span.least) * n);
  const [, high] = shareSequence(span.most * n, (1 - span.most) * n);
  return { ...span, low, high, n };
}

/** A rate as it came from a server, or out of a report. */
export function rateFrom(of: RateInterval | null): Rate | null {
  const [least, most] = [of?.least ?? of?.value, of?.most ?? of?.value];
  if (!of?.n || least == null || most == null) return null;
  return { least, most, low: of.low ?? 0, high: of.high ?? 1, n: of.n };
}
