/** What people said of the run's trials: for the filter, the facets, the cells and the drawer, and what is added to it. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { about, problemOf, type Problem } from "../data/problem";
import type { DataSource, JudgedVerdict, Label, NewLabel } from "../data/source";
import { nameOf } from "../model/labels";
import type { Table } from "../model/table";
import type { Progress } from "./run";

const OTHERS_EVERY = 5000; // ms between two looks for what others of a team said

export interface RunLabels {
  /** Every event, in the order in which they were given. */
  readonly all: readonly Label[];
  /** Changes with `table.labels`. */
  readonly version: number;
  /** Why they could not be read, or the last one not be kept. */
  readonly problem: Problem | undefined;
  /** Gives a label, made of all that was said by then: one after the other, however quickly they are asked for. */
  readonly add: (make: (all: readonly Label[]) => NewLabel | undefined) => void;
}

/** Keeps `table.labels` as it is in the source: read anew with every table. */
export function useRunLabels(source: DataSource, run: string, table: Table, progress: Progress, view: string): RunLabels {
  const [all, set] = useState<readonly Label[]>([]);
  const [version, count] = useState(0);
  const [problem, setProblem] = useState<Problem>();
  const [unread, setUnread] = useState<Problem>();
  const latest = useRef(all);
  const [judged, setJudged] = useState<readonly JudgedVerdict[]>([]);
  const queue = useRef(Promise.resolve());
  const keep = (found: readonly Label[]): void => {
    latest.current = together(latest.current, found);
    set(latest.current);
  };
  useEffect(() => {
    const readAll = (): void => {
      source.labels(run).then(
        (found) => {
          keep(found.labels);
          setJudged(found.judged);
          setUnread(undefined);
        },
        (thrown: unknown) => setUnread(about("the labels could not be read", thrown)),
      );
    };
    readAll();
    if (!source.live) return undefined;
    addEventListener("focus", readAll); // another window may have labelled meanwhile
    const looking = source.person === undefined ? undefined : setInterval(() => document.hidden || readAll(), OTHERS_EVERY);
    return () => {
      removeEventListener("focus", readAll);
      clearInterval(looking);
    };
  }, [source, run, table, view]); // the view Label gives labels by itself
  useEffect(() => {
    if (all.length === 0 && table.labels.size === 0) return;
    table.labels = byTrial(table, all);
    table.judged = new Map(judged.map((each) => [`${each.index} ${each.metric}`, each]));
    count((n) => n + 1);
  }, [table, all, judged, progress.done]);
  const give = async (make: Parameters<RunLabels["add"]>[0]): Promise<void> => {
    const label = make(latest.current);
    if (label === undefined) return;
    try {
      keep([await source.label(run, label)]);
      setProblem(undefined);
    } catch (thrown) {
      setProblem(problemOf(thrown));
    }
  };
  const add = useCallback<RunLabels["add"]>((make) => {
    queue.current = queue.current.then(() => give(make));
  }, [source, run]);
  return { all, version, problem: problem ?? unread, add };
}

/** Events are only ever added: what one of the two lists has, there is. */
function together(one: readonly Label[], other: readonly Label[]): readonly Label[] {
  const known = new Set(one.map(({ seq }) => seq));
  const more = other.filter(({ seq }) => !known.has(seq));
  return more.length === 0 ? one : [...one, ...more].sort((a, b) => a.seq - b.seq);
}

/** By trial the newest of each author, field and metric; what was taken back is left out. */
function byTrial(table: Table, given: readonly Label[]): ReadonlyMap<number, readonly Label[]> {
  const newest = new Map<string, Label>();
  for (const label of given) newest.set(JSON.stringify([label.index, nameOf(label), label.author]), label);
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
