/** The matrix with its tools: filter and facets beside it, progress above it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Problem } from "../data/problem";
import type { DataSource, Head, RunSummary } from "../data/source";
import type { Baseline } from "../model/baseline";
import { columnsOf, type Column } from "../model/columns";
import { extraOf, extrasOf, type Extra } from "../model/extras";
import { facets as facetsOf } from "../model/facets";
import { toggled } from "../model/facets";
import type { ColumnSummary } from "../model/summary";
import type { Table } from "../model/table";
import { ExportMenu } from "../parts/exportmenu";
import { Facets } from "../parts/facets";
import { count, grouped } from "../parts/marks";
import { Menu } from "../parts/menu";
import { SearchFailed, Told, TroubleLine } from "../parts/told";
import { Toolbar } from "../parts/toolbar";
import { useMedia } from "../state/media";
import { useLate } from "../state/late";
import type { RunLabels } from "../state/labelled";
import type { Progress } from "../state/run";
import type { Selection } from "../state/selection";
import type { Go, RunState } from "../state/url";
import { Matrix } from "./matrix";

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly progress: Progress;
  readonly state: RunState;
  readonly go: Go;
  readonly selection: Selection;
  readonly summaries: readonly ColumnSummary[];
  readonly baseline: Baseline | undefined;
  /** Whether the baseline has not been read yet: nothing is known of changes. */
  readonly awaited: boolean;
  /** Nothing in the run could fail. */
  readonly ranked: boolean;
  readonly labels: RunLabels;
  /** Who labels, and what begins a note in the drawer. */
  readonly author: string;
  readonly note: () => void;
  readonly runs: readonly RunSummary[];
}

const NARROW = "(max-width: 700px)";
const WIDE = "(min-width: 1100px)";

export function MatrixView(p: Props) {
  const { head, table, state, go, selection } = p;
  const [unfolded, unfold] = useState(false);
  const [trouble, setTrouble] = useState<Problem>();
  const [narrow, wide] = [useMedia(NARROW), useMedia(WIDE)];
  const all = useMemo(() => columnsOf(head, state.blind), [head, state.blind]);
  const seen = useMemo(() => {
    const shown = all.filter(({ variant }) => !state.hide.includes(variant.index));
    if (state.blind) return shown;
    const rank = ({ variant }: Column): number => (variant.index === state.pin ? Infinity : state.best ? (variant.rate?.least ?? variant.rate?.value ?? -1) : 0);
    return shown.sort((a, b) => rank(b) - rank(a) || a.variant.index - b.variant.index);
  }, [all, state.hide.join(), state.blind, state.pin, state.best]);
  const at = Math.max(0, seen.findIndex(({ variant }) => variant.index === state.col));
  const columns = useMemo(() => (narrow ? seen.slice(at, at + 1) : seen), [seen, narrow, at]);
  const shownExtras = useMemo(() => state.extra.flatMap((key) => extraOf(key) ?? []), [state.extra.join("\n")]);
  const step = (by: 1 | -1): void => {
    const next = seen[at + by];
    if (next !== undefined) go({ col: next.variant.index });
  };
  const extras = useExtras(p);
  const { terms, chosen, context, order } = selection;
  const unknown = selection.waiting || selection.failure !== undefined;
  const facets = useLate(() => (state.blind || unknown ? [] : facetsOf(table, terms, chosen, context)), [table, terms, chosen, context, state.blind, unknown], []);
  const toggle = (field: string, value: string): void => go({ q: toggled(state.q, selection.names, field, value) });
  const panel = facets.length > 0 ? <Facets of={facets} toggle={toggle} /> : <p class="note">{unknown || !p.progress.done ? "" : "There is nothing to filter by."}</p>;
  return (
    <section class="matrix-view" aria-label="Matrix">
      <Toolbar
        head={head} table={table} state={state} go={go} columns={all} extras={extras} selection={selection} summaries={p.summaries} runs={p.runs}
        compared={p.baseline !== undefined} unfolded={unfolded} unfold={unfold} narrow={narrow}
        exports={!state.blind && p.progress.done && <ExportMenu source={p.source} head={head} table={table} selection={selection} columns={seen} state={state} />}
        facets={!wide && !state.blind ? <Menu name="Facets">{panel}</Menu> : null}
      />
      {narrow && seen.length > 1 && (
        <div class="one-column">
          <button type="button" class="button" disabled={at === 0} onClick={() => step(-1)} aria-label="Column to the left">‹</button>
          <select class="control" aria-label="Column" value={seen[at]?.variant.index} onChange={(event) => go({ col: Number(event.currentTarget.value) })}>
            {seen.map(({ variant, name }) => <option key={variant.index} value={variant.index}>{name}</option>)}
          </select>
          <button type="button" class="button" disabled={at === seen.length - 1} onClick={() => step(1)} aria-label="Column to the right">›</button>
        </div>
      )}
      {!p.progress.done ? <Reading {...p} /> : p.awaited && <div class="reading"><span role="status">Reading the baseline…</span></div>}
      <TroubleLine problem={trouble} />
      <div class="matrix-frame">
        {wide && !state.blind && <aside class="facet-panel">{panel}</aside>}
        {selection.failure !== undefined ? (
          <SearchFailed problem={selection.failure} again={selection.again} />
        ) : order.length === 0 && p.progress.done && !selection.searching && !selection.waiting ? (
          <Nothing {...p} />
        ) : (
          <Matrix
            source={p.source} head={head} table={table} progress={p.progress} state={state} go={go} columns={columns} selection={selection}
            summaries={p.summaries} baseline={p.baseline} busy={!p.progress.done || p.awaited || selection.waiting} labels={p.labels} author={p.author} note={p.note} unfolded={unfolded} ranked={p.ranked} toggle={toggle} trouble={setTrouble} step={narrow ? step : undefined} extras={narrow ? NO_EXTRAS : shownExtras}
            shown={<ShownOf table={table} selection={selection} blind={state.blind} progress={p.progress} />}
          />
        )}
      </div>
    </section>
  );
}

const NO_EXTRAS: readonly Extra[] = [];
const LOOKED_AT = 30; // cases whose variables are taken for those of all

/** What could be a column besides the variants. */
function useExtras({ source, head, table, progress }: Props): readonly Extra[] {
  const [extras, set] = useState(NO_EXTRAS);
  useEffect(() => {
    let on = true;
    const firsts = Array.from({ length: Math.min(LOOKED_AT, table.rows.length) }, (_, row) => head.columns.map(({ index }) => table.firstOf(row, index)).find((trial) => trial >= 0));
    const indexes = firsts.flatMap((trial) => (trial === undefined ? [] : [table.index[trial]!]));
    if (indexes.length === 0) return undefined;
    source.previews(head.id, indexes).then(
      (previews) => on && set(extrasOf(previews, table.rows)),
      () => undefined, // the matrix says what keeps it from reading
    );
    return () => {
      on = false;
    };
  }, [source, head.id, table, progress.done]);
  return extras;
}

/** How many of the cases are shown. */
function ShownOf({ table, selection, blind, progress }: Pick<Props, "table" | "selection" | "progress"> & { blind: boolean }) {
  const [n, of] = [selection.order.length, table.rows.length];
  if (!progress.done) return <div class="shown-of" role="status">{`${count(n, "case")} so far`}</div>;
  if (selection.waiting) return <div class="shown-of" role="status">…</div>;
  return (
    <div class="shown-of" role="status">
      {n === of ? count(of, "case") : <><b>{grouped(n)}</b> of {count(of, "case")}{!blind && <small>totals count only these</small>}</>}
    </div>
  );
}

/** How far the reading is. */
export function Reading({ head, progress }: Pick<Props, "head" | "progress">) {
  const trials = Math.max(head.totals.trials, progress.cells);
  return (
    <div class="reading">
      <progress max={trials} value={progress.cells} aria-label="Reading the run" />
      <span>{`${grouped(progress.cells)} of ${count(trials, "trial")} read so far`}</span>
    </div>
  );
}

function Nothing({ table, head, state, go }: Props) {
  if (table.rows.length === 0) {
    return (
      <Told title={head.alive ? "No results yet" : "This run has no results"}>
        <p>{head.alive ? "Cases appear here as they finish." : head.status === "finished" ? "There was nothing to run." : "It ended before its first case finished."}</p>
      </Told>
    );
  }
  return (
    <Told title="No case matches">
      <p>{`None of the ${count(table.rows.length, "case")} has a cell that fits the filter and the display mode.`}</p>
      <button type="button" class="button" onClick={() => go({ q: "", show: "all", hide: state.hide })}>Show all cases</button>
    </Told>
  );
}
