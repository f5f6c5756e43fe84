/** Which measure and which two columns are drawn, as the address says it. */
import type { Question } from "../data/source";
import type { Measured } from "./scale";

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

/** A question's key in the address: the metric that charts would show, or `*` for all together. */
function questionKey({ metric }: Question): string {
  return metric === "" ? "*" : metric === "passed" ? metric : `~${metric}`;
}

/** The question that an address asks of two runs; what it does not say is the first: whether trials passed. */
export function questionOf(plot: string, questions: readonly Question[]): Question | undefined {
  const key = /^(.*)\.\d+\.\d+$/.exec(plot)?.[1];
  return questions.find((each) => questionKey(each) === key) ?? questions[0];
}

/** The address's part that asks it, with the columns as they were. */
export function asking(question: Question, plot: string): string {
  return `${questionKey(question)}${/\.\d+\.\d+$/.exec(plot)?.[0] ?? ".0.1"}`;
}
