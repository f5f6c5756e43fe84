/** Which trials the filter chooses, which rows are shown for them, and in which order. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { problemOf, type Problem as Failure } from "../data/problem";
import type { DataSource, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { blinded, OPEN_SHOWS } from "../model/blind";
import { keyOf, namesOf, parse, searched, select, usesBaseline, type Context, type Names, type Problem, type Term } from "../model/filter";
import { ordered, readSort } from "../model/order";
import { added } from "../model/shows";
import { notesOn } from "../model/vocabulary";
import type { Table } from "../model/table";
import type { Progress } from "./run";
import type { RunState } from "./url";

export interface Selection {
  readonly names: Names;
  /** What is asked for, display mode included, and what was wrong in the filter. */
  readonly terms: readonly Term[];
  readonly problems: readonly Problem[];
  /** What the filter names and the run does not have. */
  readonly notes: readonly Problem[];
  readonly context: Context;
  /** By trial: 1 for those that the filter chooses. */
  readonly chosen: Uint8Array;
  /** By row: 1 for those that are shown, because a trial in a shown column was chosen. */
  readonly rows: Uint8Array;
  readonly order: Int32Array;
  /** The source is looking for a text. */
  readonly searching: boolean;
  /** What is chosen is not known yet: of a text, or of a baseline that is being read. Nothing is shown meanwhile. */
  readonly waiting: boolean;
  /** Why a text could not be looked for: then nothing is known of what the filter chooses. */
  readonly failure: Failure | undefined;
  /** Looks for the texts again. */
  readonly again: () => void;
}

interface Given {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly progress: Progress;
  readonly state: RunState;
  readonly baseline: Baseline | undefined;
  /** The baseline is being read. */
  readonly awaited: boolean;
}

export function useSelection({ source, head, table, progress, state, baseline, awaited }: Given): Selection {
  const { q, hide, blind } = state;
  const show = blind && !OPEN_SHOWS.includes(state.show) ? "all" : state.show;
  const sort = blind ? "plan" : state.sort;
  const hidden = hide.join();
  const names = useMemo(() => namesOf(head, table, awaited || baseline !== undefined), [head, table, progress, baseline, awaited]);
  const { terms, problems } = useMemo(() => {
    const all = parse(q, names);
    const mine = blind ? blinded(all) : all;
    const groups = new Set(mine.terms.map(({ group }) => group));
    const shown = head.columns.flatMap(({ index }) => (hide.includes(index) ? [] : [index]));
    const more = parse(added(show, shown), names).terms;
    const every = [...(groups.size === 0 ? [0] : groups)].flatMap((group) => more.map((term) => ({ ...term, group })));
    return { terms: [...mine.terms, ...every], problems: mine.problems };
  }, [q, show, names, blind, hidden]);
  const notes = useMemo(() => (progress.done && !blind ? notesOn(table, head, terms) : []), [table, head, terms, progress, blind]);
  const { texts, failure, again } = useTexts(source, head.id, table, terms, blind);
  const context = useMemo(() => ({ head, texts, baseline }), [head, texts, baseline]);
  const searching = failure === undefined && searched(terms).some((sought) => !texts.has(keyOf(sought)));
  const unread = awaited && usesBaseline(terms);
  const before = useRef<Shown>(undefined);
  const { chosen, rows, waiting } = useMemo<Shown>(() => {
    const last = before.current;
    const kept = last?.table === table && last.chosen.length === table.size ? last : undefined;
    if (searching && !unread && kept !== undefined) return kept; // until the answer is here
    if (searching || unread || failure !== undefined) {
      return { table, chosen: new Uint8Array(table.size), rows: new Uint8Array(table.rows.length), waiting: failure === undefined };
    }
    const found = select(table, terms, context);
    if (show === "drawn" && head.review !== null) {
      const places = new Set(head.review.places);
      for (let i = 0; i < found.length; i++) if (!places.has(table.index[i]!)) found[i] = 0;
    }
    before.current = { table, chosen: found, rows: rowsOf(table, found, hide), waiting: false };
    return before.current;
  }, [table, progress, table.labels, terms, context, hidden, show, head.review, searching, unread, failure]);
  const order = useMemo(() => ordered(table, rows, readSort(sort), baseline, state.pin), [table, rows, sort, baseline, state.pin]);
  return { names, terms, problems, notes, context, chosen, rows, order, searching, waiting, failure, again };
}

interface Shown extends Pick<Selection, "chosen" | "rows" | "waiting"> {
  readonly table: Table;
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

interface Asked {
  readonly table: Table;
  readonly blind: boolean;
  readonly texts: Texts;
  /** Why these could not be looked for. */
  readonly failed?: { readonly wanted: string; readonly problem: Failure };
}

/** What the source found for the filter's texts, asked for once each; anew when the run is another table. */
function useTexts(source: DataSource, run: string, table: Table, terms: readonly Term[], blind: boolean) {
  const [found, set] = useState<Asked>({ table, blind, texts: NO_TEXTS });
  const [times, count] = useState(0);
  const texts = searched(terms);
  const wanted = JSON.stringify(texts);
  useEffect(() => {
    let current = true;
    const known = found.table === table && found.blind === blind ? found.texts : NO_TEXTS;
    const missing = texts.filter((sought) => !known.has(keyOf(sought)));
    if (missing.length === 0) return undefined;
    Promise.all(missing.map((sought) => source.search(run, sought, blind))).then(
      (places) => {
        if (current) set({ table, blind, texts: new Map([...known, ...missing.map((sought, i) => [keyOf(sought), new Set(places[i])] as const)]) });
      },
      (thrown: unknown) => {
        if (current) set({ table, blind, texts: known, failed: { wanted, problem: problemOf(thrown) } });
      },
    );
    return () => {
      current = false;
    };
  }, [source, run, table, blind, wanted, times]);
  const again = useCallback(() => {
    set(({ failed: _, ...rest }) => rest);
    count((n) => n + 1);
  }, []);
  const failure = found.failed?.wanted === wanted && found.blind === blind ? found.failed.problem : undefined;
  return { texts: found.blind === blind ? found.texts : NO_TEXTS, failure, again };
}
