/** An earlier run that this one is held against: trial against trial, by case id, paired column and repeat. */
import type { Head, State } from "../data/source";
import { FAIL, OUTCOME_WORDS, PASS, type Table } from "./table";

export type Changed = "regressed" | "improved" | "unchanged" | "undecided" | "new";

export class Baseline {
  private readonly rows = new Map<string, number>();
  private readonly columns = new Map<number, number>();
  private readonly places: Int32Array;

  /**
   * `head` and `table` are the baseline's, `run` is the table of the run that is looked at; `pairs` says by index which
   * column of the baseline stands against which of the run.
   */
  constructor(
    readonly head: Head,
    readonly table: Table,
    readonly run: Table,
    pairs: readonly (readonly [number, number])[],
  ) {
    table.rows.forEach((row, i) => this.rows.set(row.id, i));
    for (const [before, after] of pairs) this.columns.set(after, before);
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

  /** By column, over the trials of the shown rows (1 for each): the mean change of the score; undefined where there is none. */
  meanChanges(rows: Uint8Array): readonly (number | undefined)[] {
    const { row, variant, size, variantCount } = this.run;
    const sums = new Float64Array(variantCount);
    const sizes = new Int32Array(variantCount);
    for (let i = 0; i < size; i++) {
      const change = rows[row[i]!] === 1 ? this.change(i) : undefined;
      if (change === undefined) continue;
      sums[variant[i]!]! += change;
      sizes[variant[i]!]!++;
    }
    return Array.from(sums, (sum, i) => (sizes[i] ? sum / sizes[i]! : undefined));
  }

  /** By what it came to: regressed is passed before and failed now; undecided, one of the two has no verdict. */
  changed(trial: number): Changed {
    const place = this.place(trial);
    if (place < 0) return "new";
    const [before, now] = [this.table.outcome[place]!, this.run.outcome[trial]!];
    if (!decided(before) || !decided(now)) return "undecided";
    if (before === now) return "unchanged";
    return now === FAIL ? "regressed" : "improved";
  }

  private find(trial: number): number {
    const row = this.rows.get(this.run.rows[this.run.row[trial]!]!.id);
    const column = this.columns.get(this.run.variant[trial]!);
    if (row === undefined || column === undefined) return -1;
    const repeat = this.run.repeat[trial];
    return this.table.cell(row, column).find((other) => this.table.repeat[other] === repeat) ?? -1;
  }
}

function decided(outcome: number): boolean {
  return outcome === PASS || outcome === FAIL;
}
