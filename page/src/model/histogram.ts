/** Values counted in bins of the same width, which all that is compared shares. */

export interface Bins {
  readonly low: number;
  readonly high: number;
  /** How many; 0 for no values. */
  readonly n: number;
  readonly width: number;
}

const MOST = 20;
const FEW = 8; // grades of which each has a bin of its own
const STEPS = [1, 2, 2.5, 5, 10];

/**
 * Bins for the first `size` of these values: from 0 to 1 for shares; a bin for each grade where they are a few whole numbers, or a few other
 * steps as far apart as each other; and else of a round width.
 */
export function binsOf(values: ArrayLike<number>, size = values.length): Bins {
  let [low, high, whole] = [Infinity, -Infinity, true];
  const grades = new Set<number>();
  for (let i = 0; i < size; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    whole &&= Number.isInteger(value);
    if (grades.size <= MOST) grades.add(value);
  }
  if (low > high) return { low: 0, high: 1, n: 0, width: 1 };
  if (whole && (low < 0 || high > 1) && high - low < MOST) {
    return { low: low - 0.5, high: high + 0.5, n: high - low + 1, width: 1 };
  }
  if (low >= 0 && high <= 1) return { low: 0, high: 1, n: MOST, width: 1 / MOST };
  const step = stepOf([...grades]);
  if (step !== undefined) return { low: low - step / 2, high: high + step / 2, n: Math.round((high - low) / step) + 1, width: step };
  const width = roundStep((high - low || Math.abs(high) || 1) / MOST);
  const start = Math.floor(low / width);
  const end = Math.max(start + 1, Math.ceil(high / width));
  return { low: start * width, high: end * width, n: end - start, width };
}

/** How far apart values are that are a few even steps; undefined for all others. */
function stepOf(values: readonly number[]): number | undefined {
  if (values.length < 2 || values.length > FEW) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const step = Math.min(...sorted.slice(1).map((value, i) => value - sorted[i]!));
  const even = sorted.every((value) => Math.abs((value - sorted[0]!) / step - Math.round((value - sorted[0]!) / step)) < 1e-6);
  return even && (sorted.at(-1)! - sorted[0]!) / step < FEW ? step : undefined;
}

/** How many values fall into each bin; its lower end belongs to it, and to the last one its upper end, too. */
export function binned(values: ArrayLike<number>, bins: Bins): Int32Array {
  const counts = new Int32Array(bins.n);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isFinite(value)) counts[binOf(value, bins)]!++;
  }
  return counts;
}

/** The bin that a value falls into; 1e-9 of a bin below an end is that end. */
function binOf(value: number, bins: Bins): number {
  return Math.max(0, Math.min(bins.n - 1, Math.floor((value - bins.low) / bins.width + 1e-9)));
}

/** The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below this. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (STEPS.find((step) => step * power >= least * (1 - 1e-9)) ?? 10);
}

/** About so many round numbers from `low` to `high`, for an axis. */
export function ticks(low: number, high: number, about = 5): number[] {
  const step = roundStep((high - low || 1) / about);
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

/** A line from one end to the other; one that lies beyond the drawing is an arrow that points there. */
export function reach(low: number, high: number, y: number, [first, last]: readonly [number, number]): string {
  const left = low < first ? `M${first + 5} ${y - 4}l-5 4l5 4M${first} ${y}` : `M${low} ${y}`;
  return `${left}H${Math.min(last, high)}${high > last ? `m-5 -4l5 4l-5 4` : ""}`;
}
