/** What people said of the run's trials, for the filter, the facets and the cells. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { DataSource, Label } from "../data/source";
import type { Table } from "../model/table";
import type { Progress } from "./run";

/** Keeps `table.labels` as it is in the source; `again` reads it anew. The number that comes back changes with them. */
export function useLabelled(source: DataSource, run: string, table: Table | undefined, progress: Progress): [version: number, again: () => void] {
  const [given, set] = useState<readonly Label[]>([]);
  const [version, count] = useState(0);
  const again = useCallback(() => {
    source.labels(run).then(set, () => undefined); // a page without its labels is still a page
  }, [source, run]);
  useEffect(again, [again, table]);
  useEffect(() => {
    if (table === undefined || (given.length === 0 && table.labels.size === 0)) return;
    table.labels = byTrial(table, given);
    count((n) => n + 1);
  }, [table, given, progress.done]);
  return [version, again];
}

/** By trial the newest of each author and field; what was taken back is left out. */
function byTrial(table: Table, given: readonly Label[]): ReadonlyMap<number, readonly Label[]> {
  const newest = new Map<string, Label>();
  for (const label of [...given].sort((a, b) => a.seq - b.seq)) {
    newest.set(JSON.stringify([label.index, label.field, label.author]), label);
  }
  const found = new Map<number, Label[]>();
  for (const label of newest.values()) {
    const trial = table.at(label.index);
    if (trial < 0 || label.value === null) continue;
    const before = found.get(trial);
    if (before === undefined) found.set(trial, [label]);
    else before.push(label);
  }
  return found;
}
