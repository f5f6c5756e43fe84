/** The cell beside a cell, in the plan's order: for views that have no order of their own. */
import type { Table } from "./table";

/** The trial so many cases or columns on; -1 at the end. Cells that have not been settled are stepped over. */
export function neighbour(table: Table, trial: number, rows: -1 | 0 | 1, columns: -1 | 0 | 1): number {
  const repeat = table.repeat[trial];
  let row = table.row[trial]! + rows;
  let column = table.variant[trial]! + columns;
  while (row >= 0 && row < table.rows.length && column >= 0 && column < table.variantCount) {
    const trials = table.cell(row, column);
    const found = trials.find((each) => table.repeat[each] === repeat) ?? trials[0];
    if (found !== undefined) return found;
    row += rows;
    column += columns;
  }
  return -1;
}
