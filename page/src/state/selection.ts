/** Which trials the filter chooses, which rows are shown for them, and in which order. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DataSource, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { blinded, OPEN_SHOWS } from "../model/blind";
import { namesOf, parse, searched, select, type Context, type Names, type Problem, type Term } from "../model/filter";
import { ordered, readSort } from "../model/order";
import type { Table } from "../model/table";
import type { Progress } from "./run";
import type { RunState, Show } from "./url";

/** The display modes, as what they add to the filter. */
const ADDED: Readonly<Record<Show, string>> = {
  all: "",
  failures: "status:fail",
  errors: "status:error",
  different: "is:different",
  flaky: "is:flaky",
  unlabelled: "-has:label",
};

export interface Selection {
  readonly names: Names;
  /** What is asked for, display mode included, and what was wrong in the filter. */
  readonly terms: readonly Term[];
  readonly problems: readonly Problem[];
  readonly context: Context;
  /** By trial: 1 for those that the filter chooses. */
  readonly chosen: Uint8Array;
  /** By row: 1 for those that are shown, because a trial in a shown column was chosen. */
  readonly rows: Uint8Array;
  readonly order: Int32Array;
  /** The source is looking for a text. */
  readonly searching: boolean;
}

interface Given {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly progress: Progress;
  readonly state: RunState;
  readonly baseline: Baseline | undefined;
}

export function useSelection({ source, head, table, progress, state, baseline }: Given): Selection {
  const { q, hide, blind } = state;
  const show = blind && !OPEN_SHOWS.includes(state.show) ? "all" : state.show;
  const sort = blind ? "plan" : state.sort;
  const hidden = hide.join();
  const names = useMemo(() => namesOf(head, table, baseline !== undefined), [head, table, progress, baseline]);
  const { terms, problems } = useMemo(() => {
    const all = parse(q, names);
    const mine = blind ? blinded(all) : all;
    return { terms: [...mine.terms, ...parse(ADDED[show], names).terms], problems: mine.problems };
  }, [q, show, names, blind]);
  const texts = useTexts(source, head.id, table, terms, blind);
  const context = useMemo(() => ({ head, texts, baseline }), [head, texts, baseline]);
  const searching = searched(terms).some((text) => !texts.has(text));
  const before = useRef<{ table: Table; chosen: Uint8Array; rows: Uint8Array }>(undefined);
  const { chosen, rows } = useMemo(() => {
    const last = before.current;
    if (searching && last?.table === table && last.chosen.length === table.size) return last; // until the answer is here
    const found = select(table, terms, context);
    before.current = { table, chosen: found, rows: rowsOf(table, found, hide) };
    return before.current;
  }, [table, progress, table.labels, terms, context, hidden, searching]);
  const order = useMemo(() => ordered(table, rows, readSort(sort), baseline), [table, rows, sort, baseline]);
  return { names, terms, problems, context, chosen, rows, order, searching };
}

/** Trials in hidden columns are not chosen; a row with a chosen trial is shown. */
function rowsOf(table: Table, chosen: Uint8Array, hide: readonly number[]): Uint8Array {
  const rows = new Uint8Array(table.rows.length);
  const hidden = new Uint8Array(table.variantCount);
  for (const index of hide) if (index < hidden.length) hidden[index] = 1;
  const { variant, row } = table;
  for (let i = 0; i < chosen.length; i++) {
    if (hidden[variant[i]!] === 1) chosen[i] = 0;
    else if (chosen[i] === 1) rows[row[i]!] = 1;
  }
  return rows;
}

type Texts = ReadonlyMap<string, ReadonlySet<number>>;
const NO_TEXTS: Texts = new Map();

/** What the source found for the filter's texts, asked for once each; anew when the run is another table. */
function useTexts(source: DataSource, run: string, table: Table, terms: readonly Term[], blind: boolean): Texts {
  const [found, set] = useState<{ table: Table; blind: boolean; texts: Texts }>({ table, blind, texts: new Map() });
  const wanted = searched(terms);
  useEffect(() => {
    let current = true;
    const known: Texts = found.table === table && found.blind === blind ? found.texts : new Map();
    const missing = wanted.filter((text) => !known.has(text));
    if (missing.length === 0) return undefined;
    const asked = missing.map((text) => source.search(run, text, blind).catch((): number[] => []));
    void Promise.all(asked).then((places) => {
      if (current) set({ table, blind, texts: new Map([...known, ...missing.map((text, i) => [text, new Set(places[i])] as const)]) });
    });
    return () => {
      current = false;
    };
  }, [source, run, table, blind, wanted.join("\n")]);
  return found.blind === blind ? found.texts : NO_TEXTS;
}
