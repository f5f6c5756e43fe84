/** The rows that are shown as a table to be pasted elsewhere: outcomes and scores, a column for each variant. */
import type { Column } from "./columns";
import { OUTCOME_WORDS, type Table } from "./table";

/** Tab-separated, the head first. What begins like a formula is a text to whatever program it is pasted into. */
export function asTable(table: Table, order: ArrayLike<number>, columns: readonly Column[]): string {
  const lines = [["case", "description", "tags", ...columns.flatMap(({ name }) => [`${name}: outcome`, `${name}: score`])]];
  for (let at = 0; at < order.length; at++) {
    const row = order[at]!;
    const { id, description, tags } = table.rows[row]!;
    const cells = columns.flatMap(({ variant }) => {
      const trials = table.cell(row, variant.index);
      const scores = trials.map((trial) => table.score[trial]!).filter((score) => !Number.isNaN(score));
      const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
      return [trials.map((trial) => OUTCOME_WORDS[table.outcome[trial]!]).join(" "), scores.length === 0 ? "" : String(Number(mean.toPrecision(6)))];
    });
    lines.push([id, description, tags.join(" "), ...cells]);
  }
  return lines.map((line) => line.map(plain).join("\t")).join("\n");
}

function plain(text: string): string {
  const one = text.replace(/[\t\r\n]+/g, " ");
  return /^[=+@-]/.test(one) && Number.isNaN(Number(one)) ? `'${one}` : one;
}
