/**
 * Reads the filter: one grammar for the page and the command line (`analysis/filters/query.py`), tested on the same vectors.
 *
 *     query   = all (" OR " all)*                      one of them holds
 *     all     = term (" " ["AND "] term)*              all of them hold
 *     term    = ["-"] (text | "/" pattern "/" | field operator value)
 *     field   = word ["@" column]                      the case's mean in that column
 *     value   = word ("," word)*                       after ":", either of them
 */
import { nearest } from "./nearest";
import { Pattern, PatternError } from "./pattern";

export interface Names {
  /** The metrics that trials have. */
  readonly metrics: readonly string[];
  readonly columns: readonly { readonly name: string; readonly prompt: string; readonly model: string }[];
  /** Whether there is a run to compare with. */
  readonly baseline: boolean;
}

/** Something that is wrong with a query, from `at` to before `end`. */
export interface Problem {
  readonly at: number;
  readonly end: number;
  readonly what: string;
  readonly hint: string;
}

export type Operator = ":" | "<" | "<=" | ">" | ">=" | "=" | "!=";

/** A number of a trial; with a column, the mean of the trial's case there. */
export interface Measure {
  readonly name: string;
  readonly metric: boolean;
  /** The column's place; -1 for the trial's own. */
  readonly column: number;
  /** Of `metadata.KEY`. */
  readonly key?: string;
}

interface Place {
  readonly negated: boolean;
  readonly at: number;
  readonly end: number;
  /** Which of the alternatives of "OR" it belongs to, from 0. */
  readonly group: number;
}
/** A text that is searched for, or a regular expression. */
export type TextTerm = Place & { readonly kind: "text"; readonly text: string; readonly pattern?: Pattern };
export type WordTerm = Place & {
  readonly kind: "word";
  readonly field: string;
  /** Of `metadata.KEY:` or `label@KEY:`, `judge@KEY:`. */
  readonly key: string;
  /** In small letters. */
  readonly values: readonly string[];
  /** Where each of them stands. */
  readonly spans: readonly (readonly [at: number, end: number])[];
};
export type NumberTerm = Place & {
  readonly kind: "number";
  readonly left: Measure;
  readonly operator: Operator;
  readonly right: readonly (number | Measure)[];
};
export type Term = TextTerm | WordTerm | NumberTerm;

/** Fields of words: what they can say, or null for anything. */
export const WORDS: Readonly<Record<string, readonly string[] | null>> = {
  status: ["pass", "fail", "error", "na"],
  has: ["note", "label", "star", "score", "error"],
  is: ["flaky", "different", "cached"],
  label: ["pass", "fail"],
  judge: ["agrees", "lenient", "strict"],
  changed: ["regressed", "improved", "unchanged", "undecided", "new"],
  variant: null,
  prompt: null,
  model: null,
  case: null,
  failing: null,
  tag: null,
  error: null,
};
export const NUMBERS = ["score", "passed", "latency", "cost", "tokens", "repeat", "rating", "change"] as const;

const OPERATOR = /^(<=|>=|!=|:|<|>|=)/;
const NUMBER = /^(\$?)([+−-]?(?:\d+\.?\d*|\.\d+)(?:e[+−-]?\d+)?)(ms|s|m)?$/i;
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60 };

class Wrong extends Error {
  constructor(
    readonly what: string,
    readonly hint: string,
    readonly place?: Word,
  ) {
    super(what);
  }
}

interface Word {
  readonly text: string;
  /** It begins with a quote. */
  readonly quoted: boolean;
  /** Where in the text the last "@" out of quotes is; -1 for none. */
  readonly mark: number;
  readonly from: number;
  readonly to: number;
}

const IN_QUOTES = "In quotes it is a text to search for.";
const [OR, AND] = ["OR", "AND"];

/** The terms of a query, and everything that is wrong with it; terms in which something is wrong are left out. */
export function parse(query: string, names: Names): { terms: Term[]; problems: Problem[] } {
  const terms: Term[] = [];
  const problems: Problem[] = [];
  let [group, before, last] = [0, "", 0];
  for (const [at, end] of spans(query)) {
    const word = query.slice(at, end);
    try {
      if (word === OR || word === AND) {
        if (before === "" || before === OR || before === AND) throw new Wrong(`nothing stands before '${word}'`, IN_QUOTES);
        if (word === OR) group++;
      } else terms.push(term(query, at, end, group, names));
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      const { what, hint, place } = error;
      problems.push({ at: place?.from ?? at, end: place?.to ?? end, what, hint });
    }
    [before, last] = [word, end];
  }
  if (before === OR || before === AND) problems.push({ at: last, end: last, what: `nothing stands after '${before}'`, hint: IN_QUOTES });
  return { terms, problems };
}

/** The alternatives of a query as they are written, without the OR between them; one for a query without. */
export function alternatives(query: string): string[] {
  const found: string[] = [];
  let from = 0;
  for (const [at, end] of spans(query)) {
    if (query.slice(at, end) !== OR) continue;
    found.push(query.slice(from, at).trim());
    from = end;
  }
  return [...found, query.slice(from).trim()];
}

/** The query with each alternative changed. */
export function changed(query: string, change: (alternative: string) => string): string {
  return alternatives(query).map((each) => change(each).trim()).filter((each) => each !== "").join(" OR ");
}

/** From where to where each term goes. */
export function spans(query: string): [at: number, end: number][] {
  const found: [number, number][] = [];
  for (let i = 0; i < query.length; ) {
    if (/\s/.test(query[i]!)) {
      i++;
      continue;
    }
    const slash = closing(query, query[i] === "-" ? i + 1 : i);
    const end = slash < 0 ? wordEnd(query, i) : slash + 1;
    found.push([i, end]);
    i = end;
  }
  return found;
}

/** Where the word that begins here ends: at a space out of quotes. */
function wordEnd(query: string, at: number): number {
  let quoted = false;
  for (let i = at; i < query.length; i++) {
    const c = query[i]!;
    if (!quoted && /\s/.test(c)) return i;
    if (quoted && c === "\\") i++;
    else if (c === '"') quoted = !quoted;
  }
  return query.length;
}

/** The slash that ends the regular expression which begins here; -1 where none does. */
function closing(query: string, at: number): number {
  if (query[at] !== "/") return -1;
  for (let i = at + 1; i < query.length; i++) {
    if (query[i] === "\\") i++;
    else if (query[i] === "/" && i > at + 1 && (i + 1 === query.length || /\s/.test(query[i + 1]!))) return i;
  }
  return -1;
}

function patternOf(source: string): Pattern {
  try {
    return new Pattern(source);
  } catch (error) {
    if (error instanceof PatternError) throw new Wrong(error.what, error.hint);
    throw error;
  }
}

const NOTHING: Readonly<Record<string, string>> = {
  "|": "Write OR for either of two.", "||": "Write OR for either of two.",
  NOT: `Write a minus sign before a term: -status:fail ${IN_QUOTES}`,
  "&": `Terms beside each other all have to hold. ${IN_QUOTES}`, "&&": `Terms beside each other all have to hold. ${IN_QUOTES}`,
};

function term(query: string, at: number, end: number, group: number, names: Names): Term {
  const negated = query[at] === "-" && at + 1 < end;
  const from = at + (negated ? 1 : 0);
  const place = { negated, at, end, group };
  if (closing(query, from) === end - 1) {
    const text = query.slice(from + 1, end - 1);
    return { ...place, kind: "text", text, pattern: patternOf(text) };
  }
  const word = query.slice(at, end);
  if (Object.hasOwn(NOTHING, word)) throw new Wrong(`'${word}' means nothing here`, NOTHING[word]!);
  const name = read(query, from, end, (i) => OPERATOR.test(query.slice(i, i + 2)));
  const operator = OPERATOR.exec(query.slice(name.to, end))?.[0] as Operator | undefined;
  if (operator === undefined) return { ...place, kind: "text", text: name.text };
  if (name.to === from) {
    throw new Wrong(`nothing stands before '${operator}'`, "Write it without spaces: score<0.5");
  }
  const values: Word[] = [];
  for (let i = name.to + operator.length; i <= end; ) {
    const value = read(query, i, end, (j) => operator === ":" && query[j] === ",");
    values.push(value);
    i = value.to + 1;
  }
  const empty = values.find((value) => value.text === "" && !value.quoted);
  if (empty !== undefined) throw new Wrong(`nothing stands after '${query.slice(from, empty.to)}'`, "");
  if (!name.quoted) {
    const [field = "", ...key] = name.text.split(".");
    if (field.toLowerCase() === "metadata" && (operator === ":" || key.join(".") === "")) return words(place, "metadata", key.join("."), operator, values);
    const [, of, metric] = /^(label|judge)@(.+)$/is.exec(name.text) ?? [];
    if (metric !== undefined) return words(place, of!.toLowerCase(), metric.toLowerCase(), operator, values);
    if (Object.hasOwn(WORDS, name.text.toLowerCase())) {
      return words(place, name.text.toLowerCase(), "", operator, values, names);
    }
  }
  return numbers(place, name, operator, values, names, query);
}

function read(query: string, from: number, end: number, stop: (at: number) => boolean): Word {
  let [text, mark, quoted, i] = ["", -1, false, from];
  for (; i < end; i++) {
    const c = query[i]!;
    if (!quoted && stop(i)) break;
    if (c === '"') quoted = !quoted;
    else if (quoted && c === "\\" && i + 1 < end) text += query[++i];
    else {
      if (c === "@" && !quoted) mark = text.length;
      text += c;
    }
  }
  const word = { text, quoted: query[from] === '"', mark, from, to: i };
  if (quoted) throw new Wrong("a quote is not closed", `Write \\" for a quote in a text.`, word);
  return word;
}

function words(place: Place, field: string, key: string, operator: Operator, given: Word[], names?: Names): WordTerm {
  const known = WORDS[field] ?? null;
  if (operator !== ":") {
    const example = known?.[0] ?? "…";
    const whole = field === "metadata" ? `metadata.${key || "KEY"}` : field;
    throw new Wrong(`${field} takes ':', not '${operator}'`, `E.g. ${whole}:${example}`);
  }
  if (field === "metadata" && key === "") throw new Wrong("metadata needs a key", "E.g. metadata.topic:billing");
  if (field === "changed" && names?.baseline === false) throw noBaseline(field);
  const values = given.map((value) => value.text.toLowerCase());
  for (const [i, value] of values.entries()) {
    if (known === null || known.includes(value)) continue;
    const near = nearest(value, known);
    const all = `There are: ${known.join(", ")}.`;
    throw new Wrong(`'${field}' has no value '${given[i]!.text}'`, near ? `Did you mean '${near}'? ${all}` : all, given[i]!);
  }
  return { ...place, kind: "word", field, key, values, spans: given.map(({ from, to }) => [from, to] as const) };
}

function numbers(
  place: Place, name: Word, operator: Operator, given: Word[], names: Names, query: string,
): NumberTerm {
  const left = measure(name, names);
  if (left === undefined) {
    const near = nearest(name.text, [...Object.keys(WORDS), ...NUMBERS, ...names.metrics]);
    const text = `In quotes it is a text to search for: "${query.slice(place.at + Number(place.negated), place.end).replaceAll('"', "")}"`;
    throw new Wrong(`there is no field or metric '${name.text}'`, near ? `Did you mean '${near}'? ${text}` : text, name);
  }
  if (left.name === "change" && !left.metric && !names.baseline) throw noBaseline("change");
  const right = given.map((value) => numberOf(left, value) ?? measure(value, names) ?? notNumber(left, value));
  return { ...place, kind: "number", left, operator, right };
}

function noBaseline(field: string): Wrong {
  return new Wrong(`${field}: there is no run to compare with`, "Choose a baseline first (on the command line: --baseline RUN).");
}

function notNumber(left: Measure, value: Word): never {
  const examples: Readonly<Record<string, string>> = { latency: "10s (ms, s, m)", cost: "$0.01" };
  const example = (!left.metric && examples[left.name]) || "0.5";
  throw new Wrong(`'${value.text}' is neither a number nor a metric`, `A number is written like ${example}.`, value);
}

function numberOf(left: Measure, value: Word): number | undefined {
  const [, dollar, digits, unit] = NUMBER.exec(value.text) ?? [];
  if (digits === undefined || value.quoted) return undefined;
  const is = left.metric ? "" : left.name;
  if ((dollar && is !== "cost") || (unit && is !== "latency")) return undefined;
  return Number(digits.replaceAll("−", "-")) * (unit ? SECONDS[unit.toLowerCase()]! : 1);
}

function measure(word: Word, names: Names): Measure | undefined {
  const whole = own(word.text, word.quoted, names);
  if (whole !== undefined || word.mark < 0) return whole;
  const found = own(word.text.slice(0, word.mark), word.quoted, names);
  if (found === undefined) return undefined;
  if (found.name === "repeat" && !found.metric) throw new Wrong("repeat is the same in every column", "", word);
  return { ...found, column: column(word.text.slice(word.mark + 1), word, names) };
}

function own(text: string, quoted: boolean, names: Names): Measure | undefined {
  const lower = text.toLowerCase();
  const field = quoted ? undefined : NUMBERS.find((name) => name === lower);
  if (field !== undefined) return { name: field, metric: false, column: -1 };
  const exact = names.metrics.find((name) => name === text);
  const [, key] = /^metadata\.(.+)$/is.exec(text) ?? [];
  if (exact === undefined && !quoted && key !== undefined) return { name: "metadata", metric: false, column: -1, key };
  const metric = exact ?? names.metrics.find((name) => name.toLowerCase() === lower);
  return metric === undefined ? undefined : { name: metric, metric: true, column: -1 };
}

/** A column by its name, prompt or model where only one has it, or by its number from 1. */
function column(text: string, word: Word, names: Names): number {
  const lower = text.toLowerCase();
  for (const key of ["name", "prompt", "model"] as const) {
    const found = names.columns.flatMap((each, i) => (each[key].toLowerCase() === lower ? [i] : []));
    if (found.length === 1) return found[0]!;
  }
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= names.columns.length) return Number(text) - 1;
  const every = names.columns.map((each) => each.name);
  const near = nearest(text, every);
  throw new Wrong(
    `there is no column '${text}'`,
    near ? `Did you mean '${near}'?` : `There are: ${every.slice(0, 12).join(", ")}.`,
    word,
  );
}

/** A word as it is written in a query: in quotes where it has to be. */
export function quoted(word: string): string {
  return /^[^\s"@:,<>=!-][^\s"@:,<>=!]*$/.test(word) ? word : `"${word.replace(/["\\]/g, "\\$&")}"`;
}
