/** Where a requirement is drawn: from where to where its axis goes. */
import type { Requirement } from "../data/source";

/** From 0 to 1 for shares; otherwise around all that is drawn, and from 0 where nothing is below. Undefined where nothing was measured. */
export function axisOf({ shares, least, most, low, high, at_least, at_most }: Requirement): { readonly low: number; readonly high: number } | undefined {
  if (least === null || most === null) return undefined;
  if (shares) return { low: 0, high: 1 };
  const ends = [least, most, low, high, at_least, at_most].filter((end) => end !== null);
  const [first, last] = [Math.min(...ends), Math.max(...ends)];
  const start = first >= 0 ? 0 : first;
  const end = first >= 0 && last <= 1 ? 1 : last;
  const air = (end - start || 1) * 0.05;
  return { low: first >= 0 ? 0 : start - air, high: end === 1 ? 1 : end + air };
}
