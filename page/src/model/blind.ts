/** What may be asked for while variants and verdicts are hidden: everything else would tell them. */
import type { Show } from "../state/url";
import type { Problem, Term } from "./query";

/** Fields that say nothing of variants and verdicts; of those with values, which of them. */
const OPEN: Readonly<Record<string, readonly string[] | null>> = {
  case: null, tag: null, metadata: null, label: null, rating: null, repeat: null, has: ["note", "label", "star"], is: ["different"],
};
export const OPEN_SHOWS: readonly Show[] = ["all", "different", "unlabelled"];

/** The terms that tell nothing, and what to say of the others. */
export function blinded(terms: readonly Term[]): { terms: Term[]; problems: Problem[] } {
  const problems = terms.filter((term) => !open(term)).map(({ at, end }) => ({
    at, end, what: "this is hidden while you label blind", hint: "Filter by text, case, tag, metadata or labels.",
  }));
  return { terms: terms.filter(open), problems };
}

function open(term: Term): boolean {
  if (term.kind === "text") return true;
  if (term.kind === "word") return Object.hasOwn(OPEN, term.field) && term.values.every((value) => OPEN[term.field]?.includes(value) ?? true);
  const measures = [term.left, ...term.right.filter((each) => typeof each !== "number")];
  return measures.every(({ name, metric, column }) => !metric && column < 0 && Object.hasOwn(OPEN, name));
}
