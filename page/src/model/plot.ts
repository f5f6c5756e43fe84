/** Which measure and which two columns are drawn, as the address says it. */
import type { Measured } from "./series";

/** A measure's key: a metric may be called like a field. */
export function keyOf({ name, metric }: Measured): string {
  return metric ? `~${name}` : name;
}

/** What an address asks for: measure and two columns, `score.0.1`; what it does not say is as usual. */
export function plotOf(plot: string, measures: readonly Measured[], shown: readonly number[]) {
  const [, key = "", first, second] = /^(.*)\.(\d+)\.(\d+)$/.exec(plot) ?? [];
  const measure = measures.find((each) => keyOf(each) === key) ?? measures[0]!;
  const x = shown.find((index) => index === Number(first)) ?? shown[0] ?? 0;
  const y = shown.find((index) => index === Number(second) && index !== x) ?? shown.find((index) => index !== x) ?? x;
  return { measure, x, y };
}
