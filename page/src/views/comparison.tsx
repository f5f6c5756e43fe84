/** Two runs, held against each other. */
import type { DataSource, Head, RunSummary } from "../data/source";
import type { Table } from "../model/table";
import type { Go, RunState } from "../state/url";

interface Props {
  source: DataSource;
  head: Head;
  table: Table;
  state: RunState;
  go: Go;
  runs: readonly RunSummary[];
}

export function ComparisonView(_: Props) {
  return null;
}
