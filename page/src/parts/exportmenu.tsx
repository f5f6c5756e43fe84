/** What is shown, to be taken elsewhere: as a file, or copied. */
import type { DataSource, Head } from "../data/source";
import type { Column } from "../model/columns";
import { asTable } from "../model/copied";
import type { Table } from "../model/table";
import type { RunState } from "../state/url";
import { Copy } from "./copy";
import { count } from "./marks";
import { Menu } from "./menu";

const FORMATS: readonly (readonly [format: string, words: string])[] = [
  ["csv", "CSV, a row a trial"], ["json", "JSON"], ["jsonl", "JSON lines"], ["markdown", "Markdown"], ["junit", "JUnit"], ["html", "This page as one file"],
];

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly order: Int32Array;
  readonly columns: readonly Column[];
  readonly state: RunState;
}

export function ExportMenu({ source, head, table, order, columns, state }: Props) {
  const filtered = state.q.trim() !== "";
  return (
    <Menu name="Export" title="As a file, or copied">
      {source.exported !== undefined && (
        <fieldset class="facet">
          <legend>{filtered ? "The trials that the filter chooses" : "The whole run"}</legend>
          {FORMATS.map(([format, words]) => (
            <button key={format} type="button" class="button quiet small menu-link" onClick={() => fetched(source.exported!(head.id, format, state.q, state.base))}>{words}</button>
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
