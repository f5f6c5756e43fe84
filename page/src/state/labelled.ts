/** What people said of the run's trials: for the filter, the facets, the cells and the drawer, and what is added to it. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, Label, NewLabel } from "../data/source";
import type { Table } from "../model/table";
import type { Progress } from "./run";

export interface RunLabels {
  /** Every event, in the order in which they were given. */
  readonly all: readonly Label[];
  /** Changes with `table.labels`. */
  readonly version: number;
  /** Why the last one could not be kept. */
  readonly problem: Problem | undefined;
  readonly add: (label: NewLabel) => void;
}

/** Keeps `table.labels` as it is in the source: read anew with every table. */
export function useRunLabels(source: DataSource, run: string, table: Table, progress: Progress): RunLabels {
  const [all, set] = useState<readonly Label[]>([]);
  const [version, count] = useState(0);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    source.labels(run).then((found) => set((before) => together(before, found)), () => undefined); // a page without its labels is still a page
  }, [source, run, table]);
  useEffect(() => {
    if (all.length === 0 && table.labels.size === 0) return;
    table.labels = byTrial(table, all);
    count((n) => n + 1);
  }, [table, all, progress.done]);
  const add = useCallback(
    (label: NewLabel) => {
      source.label(run, label).then(
        (kept) => {
          set((before) => together(before, [kept]));
          setProblem(undefined);
        },
        (thrown: unknown) => setProblem(problemOf(thrown)),
      );
    },
    [source, run],
  );
  return { all, version, problem, add };
}

/** Events are only ever added: what one of the two lists has, there is. */
function together(one: readonly Label[], other: readonly Label[]): readonly Label[] {
  const known = new Set(one.map(({ seq }) => seq));
  const more = other.filter(({ seq }) => !known.has(seq));
  return more.length === 0 ? one : [...one, ...more].sort((a, b) => a.seq - b.seq);
}

/** By trial the newest of each author and field; what was taken back is left out. */
function byTrial(table: Table, given: readonly Label[]): ReadonlyMap<number, readonly Label[]> {
  const newest = new Map<string, Label>();
  for (const label of given) newest.set(JSON.stringify([label.index, label.field, label.author]), label);
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
