/**
 * Cases as points in the plane of two columns. Those that would lie on one another are one mark: a few cases as a circle
 * that is larger by area, very many as a tile that is darker.
 */
import type { Range } from "./brush";
import type { Series } from "./series";

export interface Mark {
  readonly x: number;
  readonly y: number;
  /** The first rows in it, and how many there are; of these, how many are chosen. */
  readonly rows: readonly number[];
  readonly n: number;
  readonly chosen: number;
}

const NAMED = 5;
/** Up to so many cases only equal points are one mark. */
const FEW = 1500;
const SHADES = 5;

/** Whether so many cases are drawn as tiles. */
export function tiled(n: number): boolean {
  return n > FEW;
}

/** How dark a tile is, from 1 to SHADES, by the logarithm of how many cases it has. */
export function shadeOf(n: number, most: number): number {
  return most <= 1 ? SHADES : Math.max(1, Math.ceil((Math.log(n + 1) / Math.log(most + 1)) * SHADES));
}

/** The axis that both columns share: from 0 to 1 for shares, else from the least to the most, with some room. */
export function axisOf(first: Series, second: Series): Range {
  let [low, high] = [Infinity, -Infinity];
  for (const means of [first.means, second.means]) {
    for (const value of means) {
      if (Number.isNaN(value)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) return { low: 0, high: 1 };
  if (low >= 0 && high <= 1) return { low: -0.04, high: 1.04 };
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return { low: low - room, high: high + room };
}

/** The marks; `cells` is how many of them fit side by side along an axis. */
export function marksOf(first: Series, second: Series, chosen: Uint8Array, axis: Range, cells: number): Mark[] {
  const found = new Map<number | string, { x: number; y: number; rows: number[]; n: number; chosen: number }>();
  const n = first.means.length;
  const size = (axis.high - axis.low) / cells;
  for (let row = 0; row < n; row++) {
    const [x, y] = [first.means[row]!, second.means[row]!];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    const key = !tiled(n) ? `${x} ${y}` : Math.floor((x - axis.low) / size) * 65536 + Math.floor((y - axis.low) / size);
    let mark = found.get(key);
    if (mark === undefined) found.set(key, (mark = { x: 0, y: 0, rows: [], n: 0, chosen: 0 }));
    mark.n++;
    mark.x += (x - mark.x) / mark.n;
    mark.y += (y - mark.y) / mark.n;
    mark.chosen += chosen[row]!;
    if (mark.rows.length < NAMED) mark.rows.push(row);
  }
  return [...found.values()].sort((a, b) => b.n - a.n);
}

/** A mark's radius in pixels: by area, so that a large one does not hide what it says. */
export function radiusOf(n: number, most: number): number {
  const least = 3;
  return most <= 1 ? 4 : Math.min(16, least + Math.sqrt((n - 1) / Math.max(1, most - 1)) * Math.min(13, 2 + Math.sqrt(most)));
}
