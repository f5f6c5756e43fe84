/** What may be asked for while variants and verdicts are hidden: everything else would tell them. */
import type { Show } from "./shows";
import type { Problem, Term } from "./query";

/** Fields that say nothing of variants and verdicts; of those with values, which of them. */
const OPEN: Readonly<Record<string, readonly string[] | null>> = {
  case: null, tag: null, metadata: null, label: null, rating: null, repeat: null, has: ["note", "label", "star"], is: ["different"],
};
const HINT = "Filter by text, case, tag, metadata or labels.";
export const OPEN_SHOWS: readonly Show[] = ["all", "different", "unlabelled", "drawn"];

/** The terms that tell nothing, and what to say of the others; what was wrong may have named columns and metrics, too. */
export function blinded({ terms, problems }: { terms: readonly Term[]; problems: readonly Problem[] }): { terms: Term[]; problems: Problem[] } {
  const told = [...problems, ...terms.filter((term) => !open(term))];
  return { terms: terms.filter(open), problems: told.map(({ at, end }) => ({ at, end, what: "this is hidden while you label blind, or wrong", hint: HINT })) };
}

/** Whether a field, or a value of it, may be offered. */
export function openField(field: string, value?: string): boolean {
  return Object.hasOwn(OPEN, field) && (value === undefined || (OPEN[field]?.includes(value) ?? true));
}

function open(term: Term): boolean {
  if (term.kind === "text") return true;
  if (term.kind === "word") return term.values.every((value) => openField(term.field, value));
  const measures = [term.left, ...term.right.filter((each) => typeof each !== "number")];
  return measures.every(({ name, metric, column }) => !metric && column < 0 && openField(name));
}
