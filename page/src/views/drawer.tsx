/** One cell, whole. */
import type { DataSource, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import type { Table } from "../model/table";
import type { Go } from "../state/url";

interface Props {
  source: DataSource;
  head: Head;
  table: Table;
  index: number;
  tab: string;
  baseline?: Baseline;
  blind: boolean;
  go: Go;
  author: string;
  labelled: () => void;
}

export function Drawer(_: Props) {
  return null;
}
