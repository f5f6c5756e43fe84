/** The run that this one is held against: read whole, once, however many parts of the page ask for it. */
import { useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { Comparison, DataSource, Head } from "../data/source";
import { Baseline } from "../model/baseline";
import { tableOf, type Table } from "../model/table";

export interface Against {
  /** In words and numbers; undefined while it is being computed. */
  readonly comparison: Comparison | undefined;
  readonly baseline: Baseline | undefined;
  readonly problem: Problem | undefined;
}

interface Read {
  readonly head: Head;
  readonly table: Table;
}

const NOTHING: Against = { comparison: undefined, baseline: undefined, problem: undefined };
/** What was read, and of which run: until the next one is here, nothing is said of either. */
type Known = Against & { readonly base: string };
const KEPT = 4;
const runs = new Map<string, Promise<Read>>();
const comparisons = new Map<string, Promise<Comparison>>();

/** `done` says that the table is whole: pairs are looked up in it. Nothing is read while `base` is empty. */
export function useBaseline(source: DataSource, head: Head | undefined, table: Table | undefined, done: boolean, base: string): Against {
  const [against, set] = useState<Known>({ ...NOTHING, base });
  const [run, seq, columns] = [head?.id, head?.seq, head?.columns];
  useEffect(() => {
    let stopped = false;
    if (base === "" || run === undefined || columns === undefined || table === undefined || !done) {
      set({ ...NOTHING, base });
      return undefined;
    }
    const told = once(comparisons, `${run} ${seq} ${base}`, () => source.compare(run, base));
    const read = once(runs, base, () => readAll(source, base));
    Promise.all([told, read]).then(
      ([comparison, before]) => {
        if (stopped) return;
        set({ base, comparison, baseline: new Baseline(before.head, before.table, table, columns, comparison.pairs, comparison.renamed, comparison.unlike), problem: undefined });
      },
      (thrown: unknown) => {
        if (!stopped) set({ ...NOTHING, base, problem: problemOf(thrown) });
      },
    );
    return () => {
      stopped = true;
    };
  }, [source, run, seq, table, done, base]);
  return against.base === base ? against : NOTHING;
}

async function readAll(source: DataSource, run: string): Promise<Read> {
  const head = await source.head(run);
  const table = tableOf(head);
  for await (const block of source.blocks(run)) table.add(block);
  return { head, table };
}

/** What is kept under this key, or made now; what failed is forgotten, and the oldest of many. */
function once<T>(kept: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const before = kept.get(key);
  if (before !== undefined) return before;
  const made = make();
  made.catch(() => kept.delete(key));
  kept.set(key, made);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
  }
  return made;
}
