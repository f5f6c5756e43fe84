/** How runs are told apart where one of them is to be chosen. */
import type { RunSummary } from "../data/source";
import { visible } from "./visible";
import { rateFrom } from "./rate";
import { percents, when } from "./words";

const LEAST = 10; // characters of an id that say when the run was made

/** As much of an id as tells it from the others, as the command line prints it. */
export function shortId(id: string, runs: readonly RunSummary[]): string {
  let length = LEAST;
  while (length < id.length && runs.some((other) => other.id !== id && other.id.startsWith(id.slice(0, length)))) length++;
  return id.slice(0, length);
}

/** The runs that one can be held against, those that are likest first, newest first in each group. */
export function baselines(run: RunSummary, runs: readonly RunSummary[]): readonly (readonly [group: string, runs: readonly RunSummary[]])[] {
  const others = runs.filter(({ id, problem }) => id !== run.id && problem === "").sort((a, b) => b.created_at - a.created_at);
  const likeness = ({ fingerprint, title }: RunSummary): number => (fingerprint === run.fingerprint ? 0 : title === run.title ? 1 : 2);
  return ["same plan", "same title", "other runs"].map((group, i) => [group, others.filter((other) => likeness(other) === i)] as const).filter(([, of]) => of.length > 0);
}

/** `88 % · 2026-11-21 15:27 · Science articles · 01M7ZBG41T`. */
export function runWords(run: RunSummary, runs: readonly RunSummary[]): string {
  const of = rateFrom(run.rate);
  const rate = of === null ? "" : percents(of);
  return [rate, when(run.created_at), visible(run.title), shortId(run.id, runs)].filter((part) => part !== "").join(" · ");
}
