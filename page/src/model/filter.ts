/** Which trials a filter chooses: every term over all trials at once, column by column. */
import type { Head, Label, Sought } from "../data/source";
import type { Baseline } from "./baseline";
import { beside } from "./judges";
import type { Measure, NumberTerm, Operator, Term, WordTerm } from "./query";
import { ERROR, FAIL, PASS, type Table } from "./table";

export { changed, parse, quoted, type Names, type Problem, type Term } from "./query";

export interface Context {
  readonly head: Head;
  /** What the source found for each text, by its key: places in the plan. */
  readonly texts: ReadonlyMap<string, ReadonlySet<number>>;
  readonly baseline?: Baseline | undefined;
}

/** As far apart as two numbers may be and pass for the same: means of equal numbers differ in their last digits. */
const SAME = 1e-9;
const STATUS = ["pass", "fail", "error", "na"];

/** The names that a query can use. */
export function namesOf(head: Head, table: Table, baseline: boolean) {
  return { metrics: table.metricNames, columns: head.columns, baseline };
}

/** The texts that the source has to be asked for, regular expressions between slashes: an empty one stands everywhere. */
export function searched(terms: readonly Term[]): Sought[] {
  const found = terms.flatMap((term) => (term.kind === "text" && term.text !== "" ? [{ text: term.text, pattern: term.pattern !== undefined }] : []));
  return [...new Map(found.map((sought) => [keyOf(sought), sought])).values()];
}

/** What tells a text that is sought from all others. */
export function keyOf({ text, pattern }: Sought): string {
  return pattern ? `/${text}/` : `"${text}"`;
}

/** Whether some term asks what changed since the baseline. */
export function usesBaseline(terms: readonly Term[]): boolean {
  return terms.some((term) => {
    if (term.kind !== "number") return term.kind === "word" && term.field === "changed";
    return [term.left, ...term.right].some((each) => typeof each !== "number" && each.name === "change" && !each.metric);
  });
}

/** For each trial 1 where all terms of an alternative hold, and 0 where not. */
export function select(table: Table, terms: readonly Term[], context: Context): Uint8Array {
  const groups = new Map<number, Term[]>();
  for (const term of terms) groups.set(term.group, [...(groups.get(term.group) ?? []), term]);
  if (groups.size === 0) return new Uint8Array(table.size).fill(1);
  return either([...groups.values()].map((group) => all(table, group, context)));
}

function all(table: Table, terms: readonly Term[], context: Context): Uint8Array {
  const chosen = new Uint8Array(table.size).fill(1);
  for (const term of terms) {
    const wanted = term.negated ? 0 : 1;
    const holds = found(table, term, context);
    for (let i = 0; i < chosen.length; i++) if (holds[i] !== wanted) chosen[i] = 0;
  }
  return chosen;
}

function found(table: Table, term: Term, context: Context): Uint8Array {
  if (term.kind === "number") return compared(table, term, context);
  if (term.kind === "word") return worded(table, term, context);
  const places = context.texts.get(keyOf({ text: term.text, pattern: term.pattern !== undefined }));
  return each(table, (trial) => term.text === "" || (places?.has(table.index[trial]!) ?? false));
}

function compared(table: Table, term: NumberTerm, context: Context): Uint8Array {
  const left = measured(table, term.left, context);
  const holds = new Uint8Array(table.size);
  for (const right of term.right) {
    const other = typeof right === "number" ? undefined : measured(table, right, context);
    const test = TESTS[term.operator];
    for (let i = 0; i < holds.length; i++) {
      if (test(left[i]! - (other === undefined ? (right as number) : other[i]!))) holds[i] = 1;
    }
  }
  return holds;
}

const TESTS: Readonly<Record<Operator, (difference: number) => boolean>> = {
  ":": (d) => Math.abs(d) <= SAME,
  "=": (d) => Math.abs(d) <= SAME,
  "!=": (d) => Math.abs(d) > SAME,
  "<": (d) => d < -SAME,
  "<=": (d) => d <= SAME,
  ">": (d) => d > SAME,
  ">=": (d) => d >= -SAME,
};

/** A number for each trial, NaN where it has none: no comparison holds of it. */
export function measured(table: Table, measure: Measure, context: Pick<Context, "baseline">): ArrayLike<number> {
  const own = ownNumbers(table, measure, context);
  if (measure.column < 0) return own;
  const sums = new Float64Array(table.rows.length);
  const sizes = new Int32Array(table.rows.length);
  for (let i = 0; i < table.size; i++) {
    if (table.variant[i] !== measure.column || Number.isNaN(own[i]!)) continue;
    sums[table.row[i]!]! += own[i]!;
    sizes[table.row[i]!]!++;
  }
  for (let row = 0; row < sums.length; row++) sums[row] = sizes[row] ? sums[row]! / sizes[row]! : NaN;
  return made(table, (i) => sums[table.row[i]!]!);
}

function ownNumbers(table: Table, { name, metric, key = "" }: Measure, context: Pick<Context, "baseline">): ArrayLike<number> {
  if (metric) return table.metric(name) ?? made(table, () => NaN);
  switch (name) {
    case "metadata": {
      const numbers = table.rows.map((row) => numberIn(Object.hasOwn(row.metadata, key) ? row.metadata[key] : undefined));
      return made(table, (i) => numbers[table.row[i]!]!);
    }
    case "score": return table.score;
    case "latency": return table.latency;
    case "cost": return table.cost;
    case "passed": return made(table, (i) => (table.outcome[i] === PASS ? 1 : table.outcome[i] === FAIL ? 0 : NaN));
    case "tokens": return made(table, (i) => table.tokensIn[i]! + table.tokensOut[i]!);
    case "repeat": return made(table, (i) => table.repeat[i]! + 1);
    case "change": return made(table, (i) => context.baseline?.change(i) ?? NaN);
    default: return made(table, (i) => rating(table.labels.get(i)));
  }
}

/** The number that a value of metadata is, also where it is written as text; NaN for any other. */
function numberIn(value: string | undefined): number {
  return value !== undefined && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value) ? Number(value) : NaN;
}

/** The mean of what people gave. */
function rating(labels: readonly Label[] | undefined): number {
  const given = (labels ?? []).flatMap(({ field, value }) => (field === "score" && typeof value === "number" ? [value] : []));
  return given.length === 0 ? NaN : given.reduce((a, b) => a + b, 0) / given.length;
}

function worded(table: Table, { field, key, values }: WordTerm, context: Context): Uint8Array {
  const some = (holds: (value: string) => boolean): boolean => values.some(holds);
  const is = (text: string | undefined): boolean => text !== undefined && values.includes(text.toLowerCase());
  const has = (text: string): boolean => some((value) => text.toLowerCase().includes(value));
  const columns = context.head.columns;
  switch (field) {
    case "status": {
      const wanted = STATUS.map((word) => (values.includes(word) ? 1 : 0));
      return each(table, (i) => wanted[table.outcome[i]!] === 1);
    }
    case "variant": return byColumn(table, columns.map(({ name }) => has(name)));
    case "prompt": return byColumn(table, columns.map(({ prompt }) => has(prompt)));
    case "model": return byColumn(table, columns.map(({ model, provider_id }) => has(model) || has(provider_id)));
    case "case": return byRow(table, table.rows.map((row) => has(row.id) || has(row.description)));
    case "tag": return byRow(table, table.rows.map((row) => row.tags.some(is)));
    case "metadata": return byRow(table, table.rows.map((row) => is(Object.hasOwn(row.metadata, key) ? row.metadata[key] : undefined)));
    case "failing": return each(table, (i) => table.failing[i]!.some(has));
    case "error": return each(table, (i) => is(table.error[i]));
    case "changed": return each(table, (i) => is(context.baseline?.changed(i)));
    case "label": return each(table, (i) => labelled(table, i, ({ field: of, value, metric }) => of === "verdict" && is(String(value)) && (key === "" || (metric ?? "").toLowerCase() === key)));
    case "judge": return each(table, (i) => beside(table, i).some(({ metric, kind }) => values.includes(kind) && (key === "" || metric.toLowerCase() === key)));
    case "is": return either(values.map((value) => KINDS[value]!(table)));
    default: return each(table, (i) => some((value) => HAVING[value]!(table, i)));
  }
}

const labelled = (table: Table, trial: number, which: (label: Label) => boolean): boolean =>
  table.labels.get(trial)?.some((label) => label.value !== null && label.value !== false && which(label)) ?? false;

const HAVING: Readonly<Record<string, (table: Table, trial: number) => boolean>> = {
  note: (table, i) => labelled(table, i, ({ field }) => field === "note"),
  label: (table, i) => labelled(table, i, ({ field }) => field === "verdict" || field === "score" || field === "preference"),
  star: (table, i) => labelled(table, i, ({ field }) => field === "star"),
  score: (table, i) => !Number.isNaN(table.score[i]!),
  error: (table, i) => table.outcome[i] === ERROR,
};

const KINDS: Readonly<Record<string, (table: Table) => Uint8Array>> = {
  cached: (table) => each(table, (i) => table.calls[i]! > 0 && table.cached[i] === table.calls[i]),
  flaky,
  different,
};

/** The trials of cells whose repeats both passed and failed. */
export function flaky(table: Table): Uint8Array {
  const seen = new Uint8Array(table.rows.length * table.variantCount);
  const cell = (trial: number): number => table.row[trial]! * table.variantCount + table.variant[trial]!;
  for (let i = 0; i < table.size; i++) {
    const outcome = table.outcome[i]!;
    if (outcome === PASS || outcome === FAIL) seen[cell(i)]! |= outcome === PASS ? 1 : 2;
  }
  return each(table, (i) => seen[cell(i)] === 3);
}

/** The trials of rows in which columns answered differently in the same repeat. Errors have no answer. */
export function different(table: Table): Uint8Array {
  const differ = new Uint8Array(table.rows.length);
  let repeats = 1;
  for (let i = 0; i < table.size; i++) repeats = Math.max(repeats, table.repeat[i]! + 1);
  const first = new Int32Array(table.rows.length * repeats).fill(-1); // by row and repeat: a trial that has answered
  for (let i = 0; i < table.size; i++) {
    if (table.outcome[i] === ERROR) continue;
    const key = table.row[i]! * repeats + table.repeat[i]!;
    const before = first[key]!;
    if (before < 0) first[key] = i;
    else if (table.output[before] !== table.output[i]) differ[table.row[i]!] = 1;
  }
  return byRow(table, differ);
}

function made(table: Table, of: (trial: number) => number): Float64Array {
  const found = new Float64Array(table.size);
  for (let i = 0; i < found.length; i++) found[i] = of(i);
  return found;
}

function each(table: Table, holds: (trial: number) => boolean): Uint8Array {
  const found = new Uint8Array(table.size);
  for (let i = 0; i < found.length; i++) found[i] = holds(i) ? 1 : 0;
  return found;
}

function byRow(table: Table, holds: ArrayLike<boolean | number>): Uint8Array {
  return each(table, (i) => Boolean(holds[table.row[i]!]));
}

function byColumn(table: Table, holds: readonly boolean[]): Uint8Array {
  return each(table, (i) => holds[table.variant[i]!] ?? false);
}

function either(masks: readonly Uint8Array[]): Uint8Array {
  if (masks.length === 1) return masks[0]!;
  return Uint8Array.from(masks[0]!, (_, i) => (masks.some((mask) => mask[i] === 1) ? 1 : 0));
}
