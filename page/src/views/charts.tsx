/** The charts of a run. */
import type { Head } from "../data/source";
import type { Table } from "../model/table";
import type { Go, RunState } from "../state/url";

export function Charts(_: { head: Head; table: Table; chosen: Uint8Array; go: Go; state: RunState }) {
  return null;
}
