/** Judges beside people, as `analysis/trust/beside_people.py` has it: where they agree, and where a judge is lenient or strict. */
import type { Label } from "../data/source";
import { FAIL, PASS, type Table } from "./table";

/** lenient: the judge passes what people fail; strict: the other way round. */
export type Kind = "agrees" | "lenient" | "strict";
export const KINDS: Readonly<Record<Kind, string>> = {
  strict: "judge failed, people passed",
  lenient: "judge passed, people failed",
  agrees: "judge and people agree",
};

export interface Beside {
  /** Empty for the trial as a whole. */
  readonly metric: string;
  readonly kind: Kind;
  /** Why the judge said so; empty where it gave no reason. */
  readonly reason: string;
  /** People's verdicts on it. */
  readonly people: readonly Label[];
}

/** How a trial's verdicts stand beside people's. People's is that of most of them; where they are split there is none. */
export function beside(table: Table, trial: number): readonly Beside[] {
  const people = new Map<string, Label[]>();
  for (const label of table.labels.get(trial) ?? []) {
    if (label.field === "verdict") people.set(label.metric ?? "", [...(people.get(label.metric ?? "") ?? []), label]);
  }
  const outcome = table.outcome[trial];
  const whole = { passed: outcome === PASS || outcome === FAIL ? [outcome === PASS] : [], reason: "" };
  return [...people].flatMap(([metric, labels]) => {
    const passes = labels.filter(({ value }) => value === "pass").length;
    if (2 * passes === labels.length) return [];
    const pass = 2 * passes > labels.length;
    const judged = metric === "" ? whole : table.judged.get(`${table.index[trial]!} ${metric}`);
    return (judged?.passed ?? []).map((passed) => ({ metric, kind: passed === pass ? ("agrees" as const) : passed ? ("lenient" as const) : ("strict" as const), reason: judged!.reason, people: labels }));
  });
}

/** Whether a judge and people differ on a trial. */
export const isDisputed = (table: Table, trial: number): boolean => table.labels.has(trial) && beside(table, trial).some(({ kind }) => kind !== "agrees");

/** By metric all that was said of it twice, in the order of the trials. */
export function byMetric(table: Table): ReadonlyMap<string, readonly (Beside & { readonly trial: number })[]> {
  const found = new Map<string, (Beside & { readonly trial: number })[]>();
  for (const trial of [...table.labels.keys()].sort((a, b) => a - b)) {
    for (const each of beside(table, trial)) found.set(each.metric, [...(found.get(each.metric) ?? []), { ...each, trial }]);
  }
  return found;
}
