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

/** When a run began: to the second where another one began in the same minute. */
export function started(run: RunSummary, runs: readonly RunSummary[]): string {
  const minute = Math.floor(run.created_at / 60);
  return when(run.created_at, runs.some((other) => other.id !== run.id && other.problem === "" && Math.floor(other.created_at / 60) === minute));
}

/** Whether a run can be held against another: one of judges only against its like. */
export function isBaseline(run: RunSummary, other: RunSummary): boolean {
  return other.id !== run.id && other.problem === "" && other.of_judges === run.of_judges;
}

/** The runs that one can be held against, those that are likest first, newest first in each group. */
export function baselines(run: RunSummary, runs: readonly RunSummary[]): readonly (readonly [group: string, runs: readonly RunSummary[]])[] {
  const others = runs.filter((each) => isBaseline(run, each)).sort((a, b) => b.created_at - a.created_at);
  const likeness = ({ fingerprint, title }: RunSummary): number => (fingerprint === run.fingerprint ? 0 : title === run.title ? 1 : 2);
  return ["same plan", "same title", "other runs"].map((group, i) => [group, others.filter((other) => likeness(other) === i)] as const).filter(([, of]) => of.length > 0);
}

/** `2026-11-21 15:27 · 88 % · Science articles · 01M7ZBG41T`: what tells it from others stands first, for the rest may be cut off. */
export function runWords(run: RunSummary, runs: readonly RunSummary[]): string {
  const of = rateFrom(run.rate);
  const rate = of === null ? "" : percents(of);
  return [started(run, runs), rate, visible(run.title), shortId(run.id, runs)].filter((part) => part !== "").join(" · ");
}
