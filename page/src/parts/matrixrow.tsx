/** A row of the matrix: a case and what each variant made of it. Drawn again only when something in it is another. */
import type { Previews } from "../data/previews";
import type { Standings } from "../data/source";
import type { Baseline } from "../model/baseline";
import type { Column } from "../model/columns";
import { valueOf, type Extra } from "../model/extras";
import { onlyRanked } from "../model/summary";
import { PASS, type Table } from "../model/table";
import type { RunState } from "../state/url";
import { CaseCell } from "./casecell";
import { word } from "./marks";
import { memo } from "./memo";
import { OutputCell } from "./outputcell";
import { shown } from "./text";

/** What all rows share; another object whenever something in it has changed. */
export interface RowGiven {
  readonly table: Table;
  readonly columns: readonly Column[];
  /** Of these, the columns from `first` to before `last` are drawn. */
  readonly first: number;
  readonly last: number;
  /** The first column is always drawn, and stays. */
  readonly pinned: boolean;
  readonly extras: readonly Extra[];
  readonly chosen: Uint8Array;
  readonly previews: Previews;
  readonly baseline: Baseline | undefined;
  readonly state: RunState;
  readonly standings: readonly Standings[];
  /** What a cell without a trial says. */
  readonly missing: string;
}

interface Props {
  readonly given: RowGiven;
  /** Its place among the rows that are shown, and among all. */
  readonly at: number;
  readonly row: number;
  /** The column that the keyboard is at; -1 for none in this row. */
  readonly active: number;
  readonly open: boolean;
}

/** The id of a cell's element. */
export function cellId(row: number, column: number): string {
  return `cell-${row}-${column}`;
}

/** The trial whose output a cell shows: one that the filter chose, and rather one that did not pass; -1 for none. */
export function shownTrial(table: Table, row: number, variant: number, chosen: Uint8Array): number {
  const trials = table.cell(row, variant);
  const fitting = trials.filter((trial) => chosen[trial] === 1);
  const among = fitting.length > 0 ? fitting : trials;
  return among.find((trial) => table.outcome[trial] !== PASS) ?? among[0] ?? -1;
}

export const MatrixRow = memo<Props>(({ given, at, row, active, open }) => {
  const { table, columns, extras, chosen, previews, baseline, state, missing, standings } = given;
  const places = columns.map((_, i) => i).filter((i) => (given.pinned && i === 0) || (i >= given.first && i < given.last));
  const drawn = places.map((i) => columns[i]!);
  const cells = drawn.map(({ variant }) => shownTrial(table, row, variant.index, chosen));
  const any = cells.find((trial) => trial >= 0);
  const preview = any === undefined ? undefined : previews.get(table.index[any]!);
  const awaited = cells.some((trial) => trial >= 0 && previews.get(table.index[trial]!) === undefined);
  return (
    <div class={awaited ? "matrix-row awaited" : "matrix-row"} role="row" aria-rowindex={at + 2} aria-selected={active >= 0}>
      <div class="matrix-case" role="rowheader" aria-colindex={1}>
        <CaseCell row={table.rows[row]!} preview={preview} extras={extras} />
      </div>
      {extras.map((extra, i) => (
        <div key={extra.key} class="matrix-extra" role="gridcell" aria-colindex={i + 2}>{shown(valueOf(extra, table.rows[row]!, preview))}</div>
      ))}
      {drawn.map(({ variant, name }, n) => {
        const i = places[n]!;
        const trial = cells[n]!;
        const index = trial < 0 ? -1 : table.index[trial]!;
        const trials = table.cell(row, variant.index);
        const ranked = onlyRanked({ standings }, table, trials);
        const outcome = trial < 0 || state.blind ? "" : `, ${ranked ? "ranked" : word(table.outcome[trial]!)}`;
        return (
          <div
            key={variant.index} class={`matrix-cell${given.pinned && i === 0 ? " pinned" : ""}${active === i ? " active" : ""}${active === i && open ? " opened" : ""}`}
            role="gridcell" id={cellId(row, i)} aria-colindex={i + extras.length + 2} style={{ gridColumn: i + extras.length + 2 }}
            data-at={at} data-column={i}
          >
            <span class="unseen">{shown(`${name}, case ${table.rows[row]!.number}${outcome}: `)}</span>
            <OutputCell
              table={table} trials={trials} trial={trial} preview={index < 0 ? undefined : previews.get(index)}
              baseline={baseline} blind={state.blind} md={state.md} size={state.size} missing={missing} ranked={ranked}
            />
            {index >= 0 && <button type="button" class="cell-link" tabIndex={-1} data-link={index} title="Copy a link to this cell">link</button>}
          </div>
        );
      })}
    </div>
  );
});
