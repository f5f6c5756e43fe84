/** What is shown, to be taken elsewhere: as a file, or copied. */
import type { DataSource, Head } from "../data/source";
import type { Column } from "../model/columns";
import { asTable } from "../model/copied";
import { narrowed, SHOW_WORDS } from "../model/shows";
import type { Table } from "../model/table";
import type { Selection } from "../state/selection";
import type { RunState } from "../state/url";
import { Copy } from "./copy";
import { count, grouped } from "./marks";
import { Menu } from "./menu";

const FORMATS: readonly (readonly [format: string, words: string])[] = [
  ["csv", "CSV, a row a trial"], ["json", "JSON"], ["jsonl", "JSON lines"], ["markdown", "Markdown"], ["junit", "JUnit"], ["html", "This page as one file"],
];

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly selection: Selection;
  readonly columns: readonly Column[];
  readonly state: RunState;
}

export function ExportMenu({ source, head, table, selection, columns, state }: Props) {
  const { order, chosen } = selection;
  const drawn = state.show === "drawn"; // of which no filter says so: the dataset's file is there
  const unknown = selection.waiting || selection.failure !== undefined || selection.problems.length > 0;
  const n = chosen.reduce((sum, each) => sum + each, 0);
  const by = [
    ...(state.q.trim() === "" ? [] : ["the filter"]),
    ...(state.show === "all" ? [] : [`“${SHOW_WORDS[state.show]}”`]),
    ...(columns.length === head.columns.length ? [] : ["the columns shown"]),
  ];
  const hide = head.columns.map(({ index }) => index).filter((index) => !columns.some(({ variant }) => variant.index === index));
  const address = (format: string): string => source.exported!(head.id, { format, where: narrowed(state.q, state.show, columns.map(({ variant }) => variant.index)), hide, baseline: state.base });
  return (
    <Menu name="Export" title="As a file, or copied">
      {source.exported !== undefined && (
        <fieldset class="facet">
          <legend>{by.length === 0 ? `The whole run: ${count(table.size, "trial")}` : unknown ? "The matching trials" : `${grouped(n)} of ${count(table.size, "trial")}`}</legend>
          {by.length > 0 && <p class="note">{selection.problems.length > 0 ? "Mend the filter first: nothing is exported while it has a mistake." : drawn ? "The drawn traces are in the dataset. Choose “All cases” to export the run." : `Chosen by ${by.join(", ")}. Other trials of the same cases are left out.`}</p>}
          {FORMATS.map(([format, words]) => (
            <button key={format} type="button" class="button quiet small menu-link" disabled={unknown || drawn || n === 0} onClick={() => fetched(address(format))}>{words}</button>
          ))}
        </fieldset>
      )}
      <fieldset class="facet">
        <legend>{count(order.length, "shown case")}, outcomes and scores</legend>
        <Copy text={() => asTable(table, order, columns)} what="Copy as a table" />
      </fieldset>
    </Menu>
  );
}

/** Has the browser keep what an address gives; where it gives none, the page stays. */
function fetched(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
