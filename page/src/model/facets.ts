/** What the chosen trials can be divided by, and how many are in each part. */
import type { Row } from "../data/source";
import { changed, parse, quoted, select, type Context, type Names, type Term } from "./filter";
import { beside, KINDS as JUDGES, type Kind } from "./judges";
import { OUTCOMES, type Table } from "./table";

export interface FacetValue {
  /** As a filter says it. */
  readonly value: string;
  readonly words: string;
  /** How many trials. */
  readonly n: number;
  readonly on: boolean;
}

export interface Facet {
  readonly field: string;
  readonly title: string;
  readonly values: readonly FacetValue[];
}

const STATUS: readonly (readonly [letter: string, value: string, words: string])[] = [
  ["p", "pass", "passed"],
  ["f", "fail", "failed"],
  ["e", "error", "error"],
  ["n", "na", "not applicable"],
];
const MOST = 200; // values of a facet that are worth a list
const MOST_OF_METADATA = 12; // of a key with more, each is hardly more than a case
const KEYS = 8; // keys of metadata that have a facet

/** Facets that have something to choose from. A facet counts as if nothing had been chosen in it. */
export function facets(table: Table, terms: readonly Term[], chosen: Uint8Array, context: Context): Facet[] {
  const found: Facet[] = [];
  const simple = new Set(terms.map(({ group }) => group)).size < 2;
  for (const [field, title, countOf] of [...FACETS, ...labelFacets(table), ...metadataFacets(table)]) {
    const others = simple ? terms.filter((term) => !isOf(term, field)) : terms; // with alternatives the counts are of what is chosen
    const counts = countOf(table, others.length === terms.length ? chosen : select(table, others, context));
    const on = new Set(terms.filter((term) => isOf(term, field)).flatMap((term) => (term.kind === "word" ? term.values : [])));
    const values = [...counts]
      .map(([value, n]) => ({ value, words: wordsOf(field, value), n, on: on.has(value.toLowerCase()) }))
      .filter(({ n, on: chosenNow }) => n > 0 || chosenNow);
    if (field !== "status") values.sort((a, b) => b.n - a.n || (a.value < b.value ? -1 : 1));
    if (values.length > 0) found.push({ field, title, values: values.slice(0, MOST) });
  }
  return found;
}

/** Of each judged metric that people labelled. */
function labelFacets({ labels }: Table): FacetOf[] {
  const metrics = new Set<string>();
  for (const given of labels.values()) for (const { field, metric } of given) if (field === "verdict" && metric) metrics.add(metric);
  return [...metrics].sort().slice(0, KEYS).flatMap((metric): FacetOf[] => [
    [`label@${quoted(metric)}`, `Label: ${metric}`, (table, chosen) => countLabels(table, chosen, metric)],
    ...(metrics.size > 1 ? [[`judge@${quoted(metric)}`, `Judge and people: ${metric}`, (table, chosen) => countJudges(table, chosen, metric)] satisfies FacetOf] : []),
  ]);
}

/** Of the keys whose values divide the cases into few parts. */
function metadataFacets({ rows }: Table): (readonly [field: string, title: string, count: Count])[] {
  const values = new Map<string, Set<string>>();
  for (const { metadata } of rows) {
    for (const key in metadata) {
      const known = values.get(key) ?? new Set();
      if (known.size <= MOST_OF_METADATA) values.set(key, known.add(metadata[key]!));
    }
  }
  return [...values]
    .filter(([key, { size }]) => size > 1 && size <= MOST_OF_METADATA && /^[\w.-]+$/.test(key))
    .slice(0, KEYS)
    .map(([key]) => [`metadata.${key}`, key, (table, chosen) => countByRow(table, chosen, ({ metadata }) => (Object.hasOwn(metadata, key) ? [metadata[key]!] : []))]);
}

type FacetOf = readonly [field: string, title: string, count: Count];
type Count = (table: Table, chosen: Uint8Array) => Map<string, number>;

const FACETS: readonly (readonly [field: string, title: string, count: Count])[] = [
  ["status", "Outcome", countOutcomes],
  ["tag", "Tag", (table, chosen) => countByRow(table, chosen, ({ tags }) => tags)],
  ["failing", "Did not pass", (table, chosen) => countEach(table.failing, chosen)],
  ["error", "Error", (table, chosen) => countEach(table.error, chosen)],
  ["label", "Label", (table, chosen) => countLabels(table, chosen)],
  ["judge", "Judge and people", (table, chosen) => countJudges(table, chosen)],
];

function countOutcomes({ outcome }: Table, chosen: Uint8Array): Map<string, number> {
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < chosen.length; i++) if (chosen[i] === 1) counts[outcome[i]!]!++;
  return new Map(STATUS.map(([letter, value]) => [value, counts[OUTCOMES.indexOf(letter)]!]));
}

/** First by row: there are fewer of them than of trials. */
function countByRow({ row, rows }: Table, chosen: Uint8Array, valuesOf: (row: Row) => readonly string[]): Map<string, number> {
  const byRow = new Int32Array(rows.length);
  for (let i = 0; i < chosen.length; i++) if (chosen[i] === 1) byRow[row[i]!]!++;
  const counts = new Map<string, number>();
  rows.forEach((each, i) => {
    if (byRow[i]! > 0) for (const value of new Set(valuesOf(each))) counts.set(value, (counts.get(value) ?? 0) + byRow[i]!);
  });
  return counts;
}

/** Of each trial a word, or several; none is an empty one. */
function countEach(values: readonly (string | readonly string[])[], chosen: Uint8Array): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < chosen.length; i++) {
    if (chosen[i] !== 1 || values[i]!.length === 0) continue;
    const given = values[i]!;
    for (const value of typeof given === "string" ? [given] : given) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

/** Of all verdicts, or of those on a judged metric. */
function countLabels(table: Table, chosen: Uint8Array, of?: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const trial of table.labels.keys()) {
    if (chosen[trial] === 1) for (const value of verdicts(table, trial, of)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

/** Of all that people judged, or of a metric: how the judge stands beside them. */
function countJudges(table: Table, chosen: Uint8Array, of?: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const trial of table.labels.keys()) {
    if (chosen[trial] !== 1) continue;
    const kinds = new Set(beside(table, trial).flatMap(({ metric, kind }) => (of === undefined || metric === of ? [kind] : [])));
    for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

function verdicts(table: Table, trial: number, of?: string): string[] {
  const given = table.labels.get(trial) ?? [];
  return [...new Set(given.flatMap(({ field, value, metric }) => (field === "verdict" && value !== null && (of === undefined || metric === of) ? [String(value)] : [])))];
}

function wordsOf(field: string, value: string): string {
  if (field.startsWith("judge")) return JUDGES[value as Kind];
  return field === "status" ? (STATUS.find(([, each]) => each === value)?.[2] ?? value) : value;
}

function isOf(term: Term, field: string): boolean {
  if (term.kind !== "word" || term.negated) return false;
  if (term.key === "") return term.field === field;
  return term.field === "metadata" ? `metadata.${term.key}` === field : `${term.field}@${quoted(term.key)}` === field.toLowerCase();
}

/** The filter with this value of a field chosen, or no longer chosen if it was. */
export function toggled(query: string, names: Names, field: string, value: string): string {
  return query.trim() === "" ? toggledIn("", names, field, value) : changed(query, (each) => toggledIn(each, names, field, value));
}

function toggledIn(query: string, names: Names, field: string, value: string): string {
  const term = parse(query, names).terms.find((each) => isOf(each, field));
  if (term === undefined || term.kind !== "word") return `${query} ${field}:${quoted(value)}`.trim();
  const lower = value.toLowerCase();
  const values = term.values.includes(lower) ? term.values.filter((each) => each !== lower) : [...term.values, value];
  const written = values.length === 0 ? "" : `${field}:${values.map(quoted).join(",")}`;
  return `${query.slice(0, term.at)}${written}${query.slice(term.end)}`.replace(/\s{2,}/g, " ").trim();
}
