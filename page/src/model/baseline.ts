/** An earlier run that this one is held against: trial against trial, by case id, paired column and repeat. */
import type { Head, State, Variant } from "../data/source";
import { FAIL, OUTCOME_WORDS, PASS, type Table } from "./table";

export type Changed = "regressed" | "improved" | "unchanged" | "undecided" | "new";

export class Baseline {
  private readonly rows = new Map<string, number>();
  private readonly paired = new Map<number, number>();
  private readonly renamed: ReadonlyMap<string, string>;
  private readonly unlike: ReadonlyMap<number, ReadonlySet<string>>;
  private readonly places: Int32Array;

  /**
   * `head` and `table` are the baseline's, `run` is the table of the run that is looked at and `columns` its columns; `pairs`
   * says by index which column of the baseline stands against which of the run, `renamed` what it calls cases that have another id, and
   * `unlike`, by column of the run, which cases it asked otherwise.
   */
  constructor(
    readonly head: Head,
    readonly table: Table,
    readonly run: Table,
    readonly columns: readonly Variant[],
    pairs: readonly (readonly [number, number])[],
    renamed: Readonly<Record<string, string>> = {},
    unlike: Readonly<Record<number, readonly string[]>> = {},
  ) {
    this.unlike = new Map(Object.entries(unlike).map(([column, cases]) => [Number(column), new Set(cases)]));
    this.renamed = new Map(Object.entries(renamed));
    table.rows.forEach((row, i) => this.rows.set(row.id, i));
    for (const [before, after] of pairs) this.paired.set(after, before);
    this.places = Int32Array.from({ length: run.size }, (_, trial) => this.find(trial));
  }

  /** The trial of the baseline that stands against this one; -1 for none. */
  place(trial: number): number {
    return trial < this.places.length ? this.places[trial]! : this.find(trial);
  }

  before(trial: number): { readonly outcome: State; readonly score: number } | undefined {
    const place = this.place(trial);
    if (place < 0) return undefined;
    return { outcome: OUTCOME_WORDS[this.table.outcome[place]!]!, score: this.table.score[place]! };
  }

  /** How much higher its score is now; undefined where one of the two has none. */
  change(trial: number): number | undefined {
    const place = this.place(trial);
    if (place < 0) return undefined;
    const difference = this.run.score[trial]! - this.table.score[place]!;
    return Number.isNaN(difference) ? undefined : difference;
  }

  /** The baseline's row of the same case, and its column that stands against one of the run's; -1 for none. */
  row(row: number): number {
    const { id } = this.run.rows[row]!;
    return this.rows.get(this.renamed.get(id) ?? id) ?? -1;
  }

  column(variant: number): number {
    return this.paired.get(variant) ?? -1;
  }

  /** The baseline's trials that stand against those of a cell of the run; empty for none. */
  cell(row: number, variant: number): readonly number[] {
    const [before, column] = [this.row(row), this.column(variant)];
    return before < 0 || column < 0 ? [] : this.table.cell(before, column);
  }

  /** Whether the baseline asked or judged the cell's case otherwise: the two say nothing of each other. */
  otherTest(row: number, variant: number): boolean {
    return this.unlike.get(variant)?.has(this.run.rows[row]!.id) ?? false;
  }

  /** By what it came to: regressed is passed before and failed now; undecided, one of the two has no verdict or is another test. */
  changed(trial: number): Changed {
    const place = this.place(trial);
    if (place < 0) return "new";
    const [before, now] = [this.table.outcome[place]!, this.run.outcome[trial]!];
    if (!decided(before) || !decided(now) || this.otherTest(this.run.row[trial]!, this.run.variant[trial]!)) return "undecided";
    if (before === now) return "unchanged";
    return now === FAIL ? "regressed" : "improved";
  }

  /** Whether it passed or failed before, and does neither now. */
  lost(trial: number): boolean {
    const place = this.place(trial);
    return place >= 0 && decided(this.table.outcome[place]!) && !decided(this.run.outcome[trial]!);
  }

  private find(trial: number): number {
    const repeat = this.run.repeat[trial];
    return this.cell(this.run.row[trial]!, this.run.variant[trial]!).find((other) => this.table.repeat[other] === repeat) ?? -1;
  }
}

function decided(outcome: number): boolean {
  return outcome === PASS || outcome === FAIL;
}
