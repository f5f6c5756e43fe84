/**
 * What each cell came to in a number, its repeats together. A trial in error may have had any value of the scale: what rests
 * on it is a range, as in `analysis/comparison/comparison_sides.py`.
 */
import type { Scale } from "./bounded";
import { measured } from "./filter";
import type { Span } from "./rate";
import type { Measured } from "./scale";
import { ERROR, type Table } from "./table";

export class Cells {
  private readonly sums: Float64Array;
  private readonly sizes: Int32Array;
  private readonly errors: Int32Array;
  private readonly columns: number;

  constructor(table: Table, measure: Measured) {
    const values = measured(table, { ...measure, column: -1 }, {});
    this.columns = table.variantCount;
    const size = table.rows.length * this.columns;
    [this.sums, this.sizes, this.errors] = [new Float64Array(size), new Int32Array(size), new Int32Array(size)];
    for (let i = 0; i < table.size; i++) {
      const at = table.row[i]! * this.columns + table.variant[i]!;
      const value = values[i]!;
      if (isBroken(table, i, measure, value)) this.errors[at]!++;
      else if (!Number.isNaN(value)) {
        this.sums[at]! += value;
        this.sizes[at]!++;
      }
    }
  }

  /** Trials that have a value or are in error; and those in error. */
  trials(row: number, column: number): readonly [n: number, errors: number] {
    const at = row * this.columns + column;
    return [this.sizes[at]! + this.errors[at]!, this.errors[at]!];
  }

  /** The mean over those; undefined where there are none, and for errors on an unknown scale. */
  mean(row: number, column: number, scale: Scale | undefined): Span | undefined {
    const at = row * this.columns + column;
    const [sum, size, errors] = [this.sums[at]!, this.sizes[at]!, this.errors[at]!];
    if (size + errors === 0 || (errors > 0 && scale === undefined)) return undefined;
    const [least, most] = [0, 1].map((end) => (errors === 0 ? sum / size : (sum + errors * scale![end]!) / (size + errors))) as [number, number];
    return { least, most };
  }
}

/** Whether a trial's number is not known because of an error; its own metrics may have come before that. */
export function isBroken(table: Table, trial: number, { metric }: Measured, value: number): boolean {
  return table.outcome[trial] === ERROR && (!metric || Number.isNaN(value));
}
