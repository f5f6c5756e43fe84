/** The names that a run has, held against those that a filter asks for: what does not exist is said, as `analysis/filters/vocabulary.py` says it. */
import type { Head } from "../data/source";
import { nearest } from "./nearest";
import type { Problem, Term } from "./query";
import type { Table } from "./table";

const SAID: Readonly<Record<string, (name: string) => string>> = {
  tag: (name) => `no case has the tag '${name}'`,
  variant: (name) => `no column is called '${name}'`,
  prompt: (name) => `no prompt is called '${name}'`,
  model: (name) => `no model is called '${name}'`,
  case: (name) => `no case is called '${name}'`,
  failing: (name) => `no expectation called '${name}' has failed`,
  error: (name) => `no trial has the error '${name}'`,
};
const IN_PART: readonly string[] = ["variant", "prompt", "model", "case", "failing"];
const MOST = 5_000; // names of a kind that are looked at
const LISTED = 12;
const JOINING: Readonly<Record<string, string>> = { or: "Write OR for either of two terms.", and: "Write AND, or nothing: both hold." };

/** What the filter asks for and nothing has, in its order. */
export function notesOn(table: Table, head: Head, terms: readonly Term[]): Problem[] {
  return terms.flatMap((term) => {
    const { at, end } = term;
    if (term.kind === "text") {
      const hint = term.pattern === undefined && Object.hasOwn(JOINING, term.text) ? JOINING[term.text] : undefined;
      return hint === undefined ? [] : [{ at, end, what: `'${term.text}' is searched for as a word`, hint }];
    }
    for (const key of keysOf(term)) {
      const keys = new Set(table.rows.flatMap(({ metadata }) => Object.keys(metadata)));
      if (!keys.has(key)) return [{ at, end, what: `no case has the metadata '${key}'`, hint: hintOf(key, keys) }];
    }
    if (term.kind !== "word" || !(term.field === "metadata" || Object.hasOwn(SAID, term.field))) return [];
    const known = namesOf(table, head, term.field, term.key);
    if (known.size >= MOST) return [];
    return term.values.flatMap((value, i) => {
      if (isThere(value, known, term.field)) return [];
      const [from, to] = term.spans[i]!;
      return [{ at: from, end: to, what: SAID[term.field]?.(value) ?? `no case's ${term.key} is '${value}'`, hint: hintOf(value, known) }];
    });
  });
}

/** The keys of metadata that a term asks for. */
function keysOf(term: Exclude<Term, { kind: "text" }>): readonly string[] {
  if (term.kind === "word") return term.field === "metadata" ? [term.key] : [];
  return [term.left, ...term.right].flatMap((each) => (typeof each !== "number" && each.key !== undefined ? [each.key] : []));
}

function namesOf({ rows, failing, error }: Table, { columns }: Head, field: string, key: string): Set<string> {
  const found = new Set<string>();
  const keep = (names: Iterable<string>): void => {
    for (const name of names) if (name !== "" && found.size < MOST) found.add(name);
  };
  if (field === "variant") keep(columns.map(({ name }) => name));
  else if (field === "prompt") keep(columns.map(({ prompt }) => prompt));
  else if (field === "model") keep(columns.flatMap(({ model, provider_id }) => [model, provider_id]));
  else if (field === "error") keep(error);
  else if (field === "failing") for (const names of failing) keep(names);
  else for (const row of rows) keep(field === "tag" ? row.tags : field === "case" ? [row.id, row.description] : Object.hasOwn(row.metadata, key) ? [row.metadata[key]!] : []);
  return found;
}

function isThere(value: string, known: ReadonlySet<string>, field: string): boolean {
  for (const name of known) {
    const lower = name.toLowerCase();
    if (IN_PART.includes(field) ? lower.includes(value) : lower === value) return true;
  }
  return false;
}

function hintOf(word: string, known: ReadonlySet<string>): string {
  if (word.includes("|")) return "Between values stands a comma: a,b";
  const every = [...known].sort();
  if (every.length === 0) return "";
  const near = nearest(word, every);
  return near !== "" ? `Did you mean '${near}'?` : `There are: ${every.slice(0, LISTED).join(", ")}.`;
}
