/** The matrix: a row for each case, a column for each variant, and as much of it drawn as is seen. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Previews } from "../data/previews";
import type { Problem } from "../data/problem";
import type { DataSource, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { meanChanges } from "../model/changed";
import type { Column } from "../model/columns";
import { ColumnHead, sortedAs } from "../parts/columnhead";
import { useCursor } from "../state/cursor";
import { useLabelKeys, useLabels } from "../parts/labelling";
import { MatrixRow, type RowGiven, shownTrial } from "../parts/matrixrow";
import { usePlace } from "../parts/place";
import { useAcross } from "../parts/across";
import { count, grouped } from "../parts/marks";
import { printedRows, usePrinting } from "../parts/printing";
import { Edge } from "../parts/edge";
import { chanceWords } from "../parts/ranked";
import { shown } from "../parts/text";
import { useVirtual } from "../parts/virtual";
import type { Extra } from "../model/extras";
import { visible } from "../model/visible";
import { useWidths } from "../state/widths";
import { changed, quoted } from "../model/filter";
import { fitted } from "../model/names";
import { differences, readSort, writeSort } from "../model/order";
import type { ColumnSummary } from "../model/summary";
import type { Table } from "../model/table";
import type { RunLabels } from "../state/labelled";
import type { Progress } from "../state/run";
import type { Selection } from "../state/selection";
import { link, type Go, type RunState, type Size } from "../state/url";

const COLUMN = 255; // px of a variant: four fit into 1440 px
const EXTRA = 160; // px of a variable or metadata
const NAME = 52; // characters that fit into two lines of a head
const HEIGHT: Readonly<Record<Size, number>> = { s: 34, m: 136, l: 288 };

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  readonly progress: Progress;
  readonly state: RunState;
  readonly go: Go;
  readonly columns: readonly Column[];
  /** Variables and metadata in columns of their own. */
  readonly extras: readonly Extra[];
  readonly selection: Selection;
  readonly summaries: readonly ColumnSummary[];
  readonly baseline: Baseline | undefined;
  /** Whether what is shown is not yet what was asked for. */
  readonly busy: boolean;
  readonly labels: RunLabels;
  readonly author: string;
  /** Begins a note in the drawer. */
  readonly note: () => void;
  readonly unfolded: boolean;
  /** Nothing in the run could fail. */
  readonly ranked: boolean;
  /** How many cases these are. */
  readonly shown: ComponentChildren;
  readonly toggle: (field: string, value: string) => void;
  /** Told what keeps the outputs from being shown; nothing where they are. */
  readonly trouble: (problem: Problem | undefined) => void;
  /** Goes to the column beside, where only one is shown. */
  readonly step: ((by: 1 | -1) => void) | undefined;
}

export function Matrix(p: Props) {
  const { source, head, table, progress, state, go, columns, extras, selection } = p;
  const { order, chosen } = selection;
  const height = HEIGHT[state.size];
  const [widths, setWidth] = useWidths();
  const own = (column: string): number | undefined => (state.blind ? undefined : widths[column]); // blind, a width would tell which column it is
  const outputs = columns.map(({ variant }) => own(columnKey(variant.name)));
  const virtual = useVirtual({ order, most: height, drawn: drawnRows, key: JSON.stringify([head.id, state.size, state.md, state.blind, extras.map(({ key }) => own(key) ?? key), columns.map(({ variant }, i) => outputs[i] ?? variant.index), own("case")]) });
  const { box, cover, reveal } = virtual;
  const list = JSON.stringify([head.id, state.q, state.show, state.sort, state.blind]);
  const keep = usePlace({ list, ready: !p.busy, rowHeight: height, table, order, virtual });
  const pinned = !state.blind && p.step === undefined && columns.length > 1 && columns[0]!.variant.index === state.pin;
  const before = extras.reduce((sum, { key }) => sum + (own(key) ?? EXTRA), 0);
  const fixed = (): number => (cover.current?.firstElementChild as HTMLElement | null)?.offsetWidth ?? 0;
  const inSight = useAcross({ box, widths: outputs.map((width) => width ?? COLUMN), fixed, before, pinned });
  const [scrolled, scroll] = useState(false);
  const onScroll = (): void => {
    if (box.current === null) return; // it has just been taken away
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    // Heads that fold take up less: neither must lead to the other.
    if (scrollTop < 20 ? scrolled : !scrolled && scrollTop > 150 && scrollHeight > clientHeight + 500) scroll(!scrolled);
    virtual.onScroll();
    inSight.onScroll();
    keep();
  };
  const [came, heardOf] = useState(0);
  const [failed, fail] = useState(false);
  const heard = (problem?: Problem): void => {
    p.trouble(problem);
    fail(problem !== undefined);
    if (problem === undefined) heardOf((n) => n + 1);
  };
  const previews = useMemo(() => new Previews(source, head.id, heard), [source, head.id]);
  useEffect(() => () => previews.stop(), [previews]);
  useEffect(() => previews.forget(), [previews, table]);
  const cursor = useCursor({
    table, order, chosen, columns, state, go, box, step: p.step,
    reveal: (row, column) => {
      reveal(row);
      inSight.reveal(column);
    },
  });
  const mine = useLabels(p.labels, cursor.index, p.author, state.blind);
  const note = (): void => {
    p.note();
    go({ cell: cursor.index });
  };
  const drawn = head.review?.places.includes(cursor.index) ?? false;
  useLabelKeys(mine, note, source.writable && state.cell === undefined && cursor.index >= 0, drawn);
  /** The trials whose outputs are shown in these rows and columns, by their place in the plan. */
  const seen = (from: number, to: number, shownColumns: readonly Column[]): number[] => {
    const found: number[] = [];
    for (let at = from; at < to && at < order.length; at++) {
      for (const { variant } of shownColumns) {
        const trial = shownTrial(table, order[at]!, variant.index, chosen);
        if (trial >= 0) found.push(table.index[trial]!);
      }
    }
    return found;
  };
  const printed = printedRows(order.length, columns.length);
  const printing = usePrinting(() => failed || seen(0, printed, columns).every((index) => previews.get(index) !== undefined));
  const across = printing ? { first: 0, last: columns.length } : inSight;
  const { first, last, top } = printing ? { first: 0, last: printed, top: 0 } : virtual;
  useEffect(() => previews.want(seen(first, last, columns.filter((_, i) => (pinned && i === 0) || (i >= across.first && i < across.last)))));
  const missing = head.narrowed ? "left out" : head.status === "finished" ? "not planned" : head.alive ? "not run yet" : "not run";
  const given = useMemo<RowGiven>(
    () => ({ table, columns, extras, first: across.first, last: across.last, pinned, chosen, previews, baseline: p.baseline, state, missing, standings: head.standings }),
    [missing, head.standings, table, columns, extras, across.first, across.last, pinned, chosen, previews, p.baseline, state.blind, state.md, state.size, came, progress, p.labels.version],
  );
  const click = (event: MouseEvent): void => {
    if (!(event.target instanceof Element)) return;
    const chip = event.target.closest<HTMLElement>("[data-metric], [data-tag], [data-link]");
    const { metric, value, tag, link: copied } = chip?.dataset ?? {};
    if (metric !== undefined) {
      const term = `${quoted(metric)}<=${Number(Number(value).toPrecision(4))}`;
      go({ q: changed(state.q, (each) => `${each} ${term}`) || term });
    }
    else if (tag !== undefined) p.toggle("tag", tag);
    else if (copied !== undefined) void copy(chip!, link({ ...state, cell: Number(copied) }), p.source.person === undefined ? "copied, for this browser" : "copied");
    else if (getSelection()?.isCollapsed !== false) cursor.click(event.target);
  };
  const changes = useMemo(() => (p.baseline === undefined ? undefined : meanChanges(table, p.baseline, selection.rows)), [table, p.baseline, selection.rows]);
  const [allMetrics, showMetrics] = useState(false);
  const edge = (column: string, name: string) => p.step === undefined && <Edge column={column} name={visible(name)} width={own(column)} set={setWidth} />;
  const sort = readSort(state.sort);
  const labels = useMemo(() => fitted(columns.map(({ name }) => name), NAME), [columns]);
  const rows = [];
  for (let at = first; at < Math.min(last, order.length); at++) {
    const row = order[at]!;
    rows.push(<MatrixRow key={row} at={at} row={row} given={given} active={cursor.row === at ? cursor.column : -1} open={cursor.row === at && state.cell !== undefined} />);
  }
  return (
    <div
      class={`matrix matrix-${state.size}${scrolled ? " scrolled" : ""}`} role="grid" aria-label="Cases and variants" aria-rowcount={order.length + 1} aria-colcount={columns.length + extras.length + 1}
      aria-activedescendant={cursor.id} aria-busy={p.busy} tabIndex={0} ref={box} onScroll={onScroll} onClick={click} {...cursor.swipe}
      style={{
        "--row": `${height}px`,
        "--count": columns.length + extras.length,
        "--columns": [...extras.map(({ key }) => `${own(key) ?? EXTRA}px`), ...outputs.map((width) => (width === undefined ? `minmax(${COLUMN}px, 1fr)` : `${width}px`))].join(" "),
        "--least": `${before + outputs.reduce<number>((sum, width) => sum + (width ?? COLUMN), 0)}px`,
        ...(own("case") === undefined || p.step !== undefined ? {} : { "--case": `${own("case")}px` }),
      }}
    >
      <div class="matrix-row matrix-head" role="row" aria-rowindex={1} ref={cover}>
        <div class="matrix-case" role="columnheader" aria-colindex={1}><span class="unseen">Case</span>{p.shown}{edge("case", "cases")}</div>
        {extras.map(({ key, name }, i) => (
          <div class="matrix-column" role="columnheader" key={key} aria-colindex={i + 2}><div class="head-name">{shown(name)}</div>{edge(key, name)}</div>
        ))}
        {columns.map((column, i) => (pinned && i === 0 || i >= across.first && i < across.last) && (
          <div class={pinned && i === 0 ? "matrix-column pinned" : "matrix-column"} role="columnheader" key={column.variant.index} aria-colindex={i + extras.length + 2} style={{ gridColumn: i + extras.length + 2 }} aria-sort={sortedAs(sort, column.variant.index)}>
            <ColumnHead
              column={column} label={labels[i]!} summary={p.summaries[column.variant.index]} sort={sort} onSort={(to) => go({ sort: writeSort(to) })}
              blind={state.blind} reading={!progress.done} places={placesOf(head, column.variant.index)} ranked={p.ranked} scripted={head.scripted} change={changes?.[column.variant.index]} versus={pinned && i > 0 ? meanOf(differences(table, column.variant.index, state.pin!), selection.rows) : undefined} unfolded={p.unfolded}
              allMetrics={allMetrics} onAllMetrics={() => showMetrics(!allMetrics)}
            />
            {!state.blind && edge(columnKey(column.variant.name), column.name)}
          </div>
        ))}
      </div>
      <div class="matrix-body" role="rowgroup" style={printing ? {} : { height: `${virtual.height}px` }}>
        <div class="matrix-window" role="presentation" style={{ top: `${top}px` }}>{rows}</div>
      </div>
      {printing && printed < order.length && <p class="print-note">{`The first ${grouped(printed)} of ${count(order.length, "case")}.`}</p>}
    </div>
  );
}

/** Over the shown rows that have one. */
function meanOf(values: Float64Array, rows: Uint8Array): number {
  const known = values.filter((value, row) => rows[row] === 1 && !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The drawn rows with their places. */
function* drawnRows(box: HTMLElement): Iterable<readonly [place: number, element: HTMLElement]> {
  for (const row of box.querySelectorAll<HTMLElement>(".matrix-window > [aria-rowindex]")) yield [Number(row.ariaRowIndex) - 2, row];
}

/** A variant's places in the run's rankings: `place 1 of 3: preferred 99 % [93–100]`. */
function placesOf({ standings }: Head, column: number): readonly string[] {
  return standings.flatMap(({ name, ranked }) => {
    const at = ranked.findIndex((place) => place.column === column);
    return at < 0 ? [] : [`${standings.length > 1 ? `${name}: ` : ""}place ${at + 1} of ${ranked.length}: preferred ${chanceWords(ranked[at]!)}`];
  });
}

/** What a variant's width is kept under. */
function columnKey(name: string): string {
  return `column.${name}`;
}

/** Says on the button itself whether it went well, for a moment. */
async function copy(button: HTMLElement, text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.dataset["said"] = done;
  } catch {
    button.dataset["said"] = "not allowed";
  }
  setTimeout(() => delete button.dataset["said"], 1500);
}
