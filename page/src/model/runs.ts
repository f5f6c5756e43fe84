/** How runs are told apart where one of them is to be chosen. */
import type { RunSummary } from "../data/source";
import { visible } from "./visible";
import { percent, when } from "./words";

/** As much of an id as the command line prints. */
export function shortId(id: string): string {
  return id.slice(0, 10);
}

/** The runs that one can be held against, those that are likest first, newest first in each group. */
export function baselines(run: RunSummary, runs: readonly RunSummary[]): readonly (readonly [group: string, runs: readonly RunSummary[]])[] {
  const others = runs.filter(({ id, problem }) => id !== run.id && problem === "").sort((a, b) => b.created_at - a.created_at);
  const likeness = ({ fingerprint, title }: RunSummary): number => (fingerprint === run.fingerprint ? 0 : title === run.title ? 1 : 2);
  return ["same plan", "same title", "other runs"].map((group, i) => [group, others.filter((other) => likeness(other) === i)] as const).filter(([, of]) => of.length > 0);
}

/** `2026-11-21 15:27 · 88 % of 8 cases · Science articles · 01M7ZBG41T`. */
export function runWords(run: RunSummary): string {
  const rate = run.rate === null ? "" : `${percent(run.rate.value)} of ${run.rate.n} cases`;
  return [when(run.created_at), rate, visible(run.title), shortId(run.id)].filter((part) => part !== "").join(" · ");
}
