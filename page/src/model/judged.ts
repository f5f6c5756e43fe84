/** Which of a trial's model calls an expectation rests on. */
import type { Call, Outcome } from "../data/source";
import { answerIn } from "./conversation";

const SAID = 40; // characters of a reason that tell it from others

/**
 * The judge's calls in whose answers stand this expectation's reason, or what it kept of the answer. With none of them,
 * and a judge named, all of the trial's judge calls that no other expectation has: `certain` is false then.
 */
export function judgeCalls(outcome: Outcome, calls: readonly Call[]): { readonly calls: readonly Call[]; readonly certain: boolean } {
  const judges = calls.filter((call) => call.role === "judge");
  const wanted = [outcome.reason, ...texts(outcome.metadata, 4)].map(start).filter((text) => text.length >= 8);
  const found = judges.filter((call) => {
    const answer = plain(`${answerIn(call.response) ?? ""} ${call.response}`);
    return wanted.some((text) => answer.includes(text));
  });
  if (found.length > 0) return { calls: found, certain: true };
  return { calls: Object.hasOwn(outcome.metadata, "judge") ? judges : [], certain: judges.length === 1 };
}

const KEPT = new Set(["reply", "reasoning", "reason", "explanation", "jury", "judgement", "verdicts", "output", "first", "second", "swapped"]);

/** What an expectation kept of its judge's words. */
function texts(of: unknown, deep: number, all = false): readonly string[] {
  if (typeof of === "string") return all ? [of] : [];
  if (typeof of !== "object" || of === null || deep === 0) return [];
  return Object.entries(of).flatMap(([key, value]) => texts(value, deep - 1, Array.isArray(of) ? all : KEPT.has(key)));
}

function start(text: string): string {
  return plain(text).slice(0, SAID);
}

/** Without what JSON puts before quotes and line feeds, and all space the same. */
function plain(text: string): string {
  return text.replace(/\\[nrt"\\]/g, " ").replace(/["\s]+/g, " ").trim();
}
