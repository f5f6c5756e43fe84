/**
 * A run's cells in columns: what filters, sorting, facets, summaries and charts compute on. It grows block by block.
 *
 * A *trial* is an entry of the arrays, a *row* is a case, a *cell* is all the trials of a row in one variant.
 */
import type { Block, Head, JudgedVerdict, Label, Row } from "../data/source";

export const PASS = 0;
export const FAIL = 1;
export const ERROR = 2;
export const NOT_APPLICABLE = 3;
export const OUTCOMES = "pfen";
const NONE: readonly string[] = [];
export const OUTCOME_WORDS = ["pass", "fail", "error", "not_applicable"] as const;

/** Typed arrays that grow. NaN stands for what is not known. */
class Numbers<A extends Float64Array | Int32Array | Uint8Array> {
  values: A;

  constructor(private readonly make: new (size: number) => A) {
    this.values = new make(1024);
  }

  put(at: number, numbers: ArrayLike<number | null>): void {
    const end = at + numbers.length;
    if (end > this.values.length) {
      const larger = new this.make(Math.max(end, this.values.length * 2));
      larger.set(this.values);
      this.values = larger;
    }
    const { values } = this;
    for (let i = 0; i < numbers.length; i++) values[at + i] = numbers[i] ?? NaN;
  }

  /** Entries up to here that were never put are NaN. */
  fill(from: number, to: number): void {
    this.put(from, new Array<null>(Math.max(0, to - from)).fill(null));
  }
}

export class Table {
  /** How many trials are here. */
  size = 0;
  readonly rows: Row[] = [];
  /** Every metric that some trial has, in the order of appearance. */
  readonly metricNames: string[] = [];
  /** By trial. */
  readonly error: string[] = [];
  readonly failing: (readonly string[])[] = [];
  /** By trial: what people said of it, newest of each field; a map from author to value. */
  labels: ReadonlyMap<number, readonly Label[]> = new Map();
  /** What judges said of labelled trials: by `INDEX METRIC`. */
  judged: ReadonlyMap<string, JudgedVerdict> = new Map();

  private readonly columns = {
    index: new Numbers(Int32Array),
    row: new Numbers(Int32Array),
    variant: new Numbers(Int32Array),
    repeat: new Numbers(Int32Array),
    outcome: new Numbers(Uint8Array),
    score: new Numbers(Float64Array),
    latency: new Numbers(Float64Array),
    cost: new Numbers(Float64Array),
    tokensIn: new Numbers(Float64Array),
    tokensOut: new Numbers(Float64Array),
    calls: new Numbers(Int32Array),
    cached: new Numbers(Int32Array),
    met: new Numbers(Int32Array),
    asked: new Numbers(Int32Array),
    output: new Numbers(Int32Array),
    cluster: new Numbers(Int32Array),
  };
  private readonly metrics = new Map<string, Numbers<Float64Array>>();
  /** By metric the trials in which what gives it is in error. */
  private readonly open = new Map<string, Set<number>>();
  /** By row × variant: the cell's first trial; by trial: the cell's next one; by place in the plan: the trial. -1: none. */
  private first = new Int32Array();
  private next = new Int32Array();
  private places = new Int32Array();

  private readonly measuring = new Map<string, { readonly size: number; readonly rows: Uint8Array }>();

  /** @param evals Whether evals decide as they run what they measure; the tests of a config list it. */
  constructor(readonly variantCount: number, private readonly evals = true) {}

  get index() { return this.columns.index.values; }
  get row() { return this.columns.row.values; }
  get variant() { return this.columns.variant.values; }
  get repeat() { return this.columns.repeat.values; }
  get outcome() { return this.columns.outcome.values; }
  get score() { return this.columns.score.values; }
  /** Seconds. */
  get latency() { return this.columns.latency.values; }
  get cost() { return this.columns.cost.values; }
  get tokensIn() { return this.columns.tokensIn.values; }
  get tokensOut() { return this.columns.tokensOut.values; }
  get calls() { return this.columns.calls.values; }
  get cached() { return this.columns.cached.values; }
  get met() { return this.columns.met.values; }
  get asked() { return this.columns.asked.values; }
  get output() { return this.columns.output.values; }
  /** What the trial's case belongs to in its column, from 1; 0 where it stands alone. */
  get cluster() { return this.columns.cluster.values; }

  /** A metric's score by trial, NaN where a trial has none; undefined for a metric that no trial has. */
  metric(name: string): Float64Array | undefined {
    return this.metrics.get(name)?.values;
  }

  /** Whether a trial that has no number for this lacks it because of an error: it may have come to anything. */
  isOpen(trial: number, { name, metric }: { readonly name: string; readonly metric: boolean }): boolean {
    if (!metric) return name === "score" && this.outcome[trial] !== NOT_APPLICABLE;
    if (this.open.get(name)?.has(trial) === true) return true;
    return this.outcome[trial] === ERROR && (this.evals || this.mayMeasure(name)[this.row[trial]!] === 1);
  }

  /** By row whether trials that broke off may have measured this: where another one did, or none came to an end. */
  private mayMeasure(name: string): Uint8Array {
    const known = this.measuring.get(name);
    if (known?.size === this.size) return known.rows;
    const rows = new Uint8Array(this.rows.length).fill(1);
    const values = this.metric(name);
    for (let i = 0; i < this.size; i++) if (this.outcome[i] !== ERROR) rows[this.row[i]!] = 0;
    for (let i = 0; i < this.size; i++) {
      const has = values !== undefined && !Number.isNaN(values[i]!);
      if (this.outcome[i] !== ERROR && (has || this.open.get(name)?.has(i) === true)) rows[this.row[i]!] = 1;
    }
    this.measuring.set(name, { size: this.size, rows });
    return rows;
  }

  /** The trials of a cell, by repeat; empty for one that has not been settled. */
  cell(row: number, variant: number): readonly number[] {
    const found: number[] = [];
    for (let trial = this.firstOf(row, variant); trial >= 0; trial = this.next[trial]!) found.push(trial);
    return found;
  }

  /** The first trial of a cell; -1 for a cell that has not been settled. */
  firstOf(row: number, variant: number): number {
    return this.first[row * this.variantCount + variant] ?? -1;
  }

  /** The trial with this place in the plan; -1 for one that is not here. */
  at(index: number): number {
    return this.places[index] ?? -1;
  }

  add(block: Block): void {
    const at = this.size;
    const n = block.index.length;
    const { columns } = this;
    for (const row of block.rows) this.rows.push(row);
    columns.index.put(at, block.index);
    columns.row.put(at, block.row);
    columns.variant.put(at, block.variant);
    columns.repeat.put(at, block.repeat);
    columns.outcome.put(at, Array.from(block.outcome, (letter) => OUTCOMES.indexOf(letter)));
    columns.score.put(at, block.score);
    columns.latency.put(at, block.latency);
    columns.cost.put(at, block.cost);
    columns.tokensIn.put(at, block.tokens_in);
    columns.tokensOut.put(at, block.tokens_out);
    columns.calls.put(at, block.calls);
    columns.cached.put(at, block.cached);
    columns.met.put(at, block.met);
    columns.asked.put(at, block.asked);
    columns.output.put(at, block.output);
    columns.cluster.put(at, block.cluster?.length ? block.cluster : new Int32Array(n));
    for (const slug of block.error) this.error.push(slug);
    for (const names of block.failing) this.failing.push(names.length === 0 ? NONE : names);
    this.addMetrics(block, at, n);
    this.placeAll(at, n);
    this.size = at + n;
  }

  private addMetrics(block: Block, at: number, n: number): void {
    for (const [name, scores] of Object.entries(block.metrics)) {
      let column = this.metrics.get(name);
      if (column === undefined) {
        column = new Numbers(Float64Array);
        column.fill(0, at);
        this.metrics.set(name, column);
        this.metricNames.push(name);
      }
      column.put(at, scores);
    }
    for (const [name, cells] of Object.entries(block.open ?? {})) {
      const trials = this.open.get(name) ?? new Set();
      this.open.set(name, trials);
      for (const cell of cells) trials.add(at + cell);
    }
    for (const [name, column] of this.metrics) {
      if (!Object.hasOwn(block.metrics, name)) column.fill(at, at + n);
    }
  }

  private placeAll(at: number, n: number): void {
    const { index, row, variant } = this;
    let most = 0;
    for (let trial = at; trial < at + n; trial++) most = Math.max(most, index[trial]!);
    this.places = grown(this.places, most + 1);
    this.first = grown(this.first, this.rows.length * this.variantCount);
    this.next = grown(this.next, at + n);
    for (let trial = at; trial < at + n; trial++) {
      this.places[index[trial]!] = trial;
      const cell = row[trial]! * this.variantCount + variant[trial]!;
      let last = this.first[cell]!;
      if (last < 0) {
        this.first[cell] = trial;
        continue;
      }
      while (this.next[last]! >= 0) last = this.next[last]!;
      this.next[last] = trial;
    }
  }
}

/** A run's table, without cells yet. */
export function tableOf({ columns }: Head): Table {
  return new Table(columns.length, columns.some((column) => column.eval !== ""));
}

/** The same numbers with room for at least so many; what is new is -1. */
function grown(numbers: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  if (numbers.length >= size) return numbers;
  const larger = new Int32Array(Math.max(size, numbers.length * 2)).fill(-1);
  larger.set(numbers);
  return larger;
}
