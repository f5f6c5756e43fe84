/** What could be written next in a filter: fields, metrics, and the values that the run has. */
import type { Head } from "../data/source";
import { openField } from "./blind";
import { NUMBERS, WORDS, quoted, spans } from "./query";
import type { Table } from "./table";

export interface Suggestion {
  /** The whole query when it is taken, and where the caret goes. */
  readonly query: string;
  readonly caret: number;
  /** What is offered, and what it does. */
  readonly text: string;
  readonly words: string;
}

const MOST = 10;
const TOLD: Readonly<Record<string, string>> = {
  status: "outcome", has: "note, label, star, score, error", is: "flaky, different, cached", label: "what people said", judge: "beside people: agrees, lenient, strict",
  changed: "against the baseline", variant: "column", prompt: "column's prompt", model: "column's model",
  case: "id or description", failing: "expectation that did not pass", tag: "of the case", error: "kind of error",
  score: "of the trial", latency: "10s, 300ms", cost: "US dollars", tokens: "in and out", repeat: "from 1",
  rating: "what people gave, 1 to 5", change: "of the score, against the baseline", passed: "share of repeats",
};

export function suggest(query: string, caret: number, head: Head, table: Table, baseline: boolean, blind = false): Suggestion[] {
  const [from, end] = spans(query).find(([at, to]) => at < caret && caret <= to) ?? [caret, caret];
  const word = query.slice(from, caret);
  const minus = word.startsWith("-") ? "-" : "";
  const [, field, list, last] = /^-?(\w+):((?:[^,"]|"[^"]*"?)*,)?([^,]*)$/.exec(word) ?? [];
  const offered = (text: string, words: string, written: string): Suggestion => ({
    text, words, query: query.slice(0, from) + written + query.slice(end), caret: from + written.length,
  });
  if (field !== undefined) {
    const typed = (last ?? "").replaceAll('"', "").toLowerCase();
    const of = field.toLowerCase();
    return valuesOf(of, head, table)
      .filter((value) => value.toLowerCase().includes(typed) && (!blind || openField(of, value)))
      .slice(0, MOST)
      .map((value) => offered(value, "", `${minus}${field}:${list ?? ""}${quoted(value)}`))
      .filter((offer, _, all) => all.length > 1 || offer.query !== query); // nothing is left to offer
  }
  const typed = word.slice(minus.length).replaceAll('"', "").toLowerCase();
  if (typed === "" && minus === "" && caret > 0 && query.trim() !== "" && !/\s$/.test(query.slice(0, caret))) return [];
  const fields = [...Object.keys(WORDS), ...NUMBERS].filter((name) => (blind ? openField(name) : baseline || !name.startsWith("change")));
  const known = [
    ...fields.map((name) => ({ text: Object.hasOwn(WORDS, name) ? `${name}:` : `${name}<`, words: TOLD[name] ?? "", name })),
    ...metadataKeys(table).map((key) => ({ text: `metadata.${key}:`, words: "of the case", name: `metadata.${key}` })),
    ...(blind ? [] : table.metricNames).map((name) => ({ text: `${quoted(name)}<`, words: "metric", name })),
  ];
  const fitting = known.filter(({ name }) => name.toLowerCase().startsWith(typed));
  const further = typed === "" ? [] : known.filter(({ name }) => name.toLowerCase().indexOf(typed) > 0);
  return [...fitting, ...further].slice(0, MOST).map(({ text, words }) => offered(text, words, minus + text));
}

function valuesOf(field: string, head: Head, table: Table): readonly string[] {
  const known = WORDS[field];
  if (known) return known;
  switch (field) {
    case "variant": return distinct(head.columns.map(({ name }) => name));
    case "prompt": return distinct(head.columns.map(({ prompt }) => prompt));
    case "model": return distinct(head.columns.map(({ model }) => model));
    case "tag": return distinct(table.rows.flatMap(({ tags }) => tags));
    case "error": return distinct(table.error);
    case "failing": return distinct(table.failing.flat());
    default: return [];
  }
}

function metadataKeys(table: Table): string[] {
  return distinct(table.rows.slice(0, 200).flatMap(({ metadata }) => Object.keys(metadata))).filter((key) => /^[\w.-]+$/.test(key));
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value !== "").sort();
}
