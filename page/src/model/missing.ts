/** Cases that a column has no number for, and why: a number over all that are shown may be of fewer of them. */
import { ERROR, NOT_APPLICABLE, type Table } from "./table";
import { grouped } from "./words";

/** Cases by why they are not counted. */
export interface Missing {
  readonly errors: number;
  readonly notApplicable: number;
  /** They have trials, but this number was not measured. */
  readonly without: number;
  readonly unrun: number;
}

const [UNRUN, WITHOUT, NONE, BROKEN, THERE] = [0, 1, 2, 3, 4];

/**
 * For each column the cases that are missing; `values` has a number for each trial, or NaN, and `rows` 1 for each case that
 * counts. Of a rate no case is missing because of errors: they count in it.
 */
export function missingOf(table: Table, rows: Uint8Array, values: ArrayLike<number>, rate = false): Missing[] {
  const states = Array.from({ length: table.variantCount }, () => new Uint8Array(rows.length));
  for (let i = 0; i < table.size; i++) {
    const [column, row, came] = [states[table.variant[i]!]!, table.row[i]!, table.outcome[i]];
    const state = !Number.isNaN(values[i]!) || (rate && came === ERROR) ? THERE : came === ERROR ? BROKEN : came === NOT_APPLICABLE ? NONE : WITHOUT;
    if (state > column[row]!) column[row] = state;
  }
  return states.map((of) => {
    const counts = [0, 0, 0, 0, 0];
    of.forEach((state, row) => {
      if (rows[row] === 1) counts[state]!++;
    });
    return { errors: counts[BROKEN]!, notApplicable: counts[NONE]!, without: counts[WITHOUT]!, unrun: counts[UNRUN]! };
  });
}

/**
 * Why n is less than the cases that are shown: `1–2 in error, 3 not applicable`, the least and the most of the columns; empty
 * where it is not. `what` is what is counted: `a verdict`.
 */
export function missingSaid(cases: number, what: string, columns: readonly Missing[]): string {
  const reasons = [["errors", "in error"], ["notApplicable", "not applicable"], ["without", `without ${what}`], ["unrun", "not run"]] as const;
  const told = reasons.flatMap(([key, words]) => {
    const counts = columns.map((of) => of[key]);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    return most > 0 ? [`${least < most ? `${grouped(least)}–` : ""}${grouped(most)} ${words}`] : [];
  });
  if (told.length === 0) return "";
  return `n counts the cases that have ${what}. Left out of the ${grouped(cases)}${columns.length > 1 ? ", of a variant" : ""}: ${told.join(", ")}.`;
}
