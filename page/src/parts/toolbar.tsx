/** What the matrix shows, and how: filter, display mode, order, columns, sizes. */
import type { ComponentChildren } from "preact";
import type { Head, RunSummary } from "../data/source";
import { OPEN_SHOWS } from "../model/blind";
import type { Column } from "../model/columns";
import type { Extra } from "../model/extras";
import { KEYS, readSort, writeSort, type Sort } from "../model/order";
import { isBaseline } from "../model/runs";
import { SHOW_WORDS, SHOWS, type Show } from "../model/shows";
import type { ColumnSummary } from "../model/summary";
import type { Table } from "../model/table";
import { visible } from "../model/visible";
import type { Selection } from "../state/selection";
import type { Go, RunState, Size } from "../state/url";
import { BaselineSelect } from "./baselineselect";
import { FilterBox } from "./filterbox";
import { Menu } from "./menu";
import { ColumnPicker } from "./picker";

const SIZES: readonly (readonly [Size, string])[] = [["s", "Small"], ["m", "Medium"], ["l", "Large"]];

interface Props {
  readonly head: Head;
  readonly table: Table;
  readonly state: RunState;
  readonly go: Go;
  readonly columns: readonly Column[];
  /** What else could be a column. */
  readonly extras: readonly Extra[];
  readonly selection: Selection;
  readonly summaries: readonly ColumnSummary[];
  readonly runs: readonly RunSummary[];
  readonly compared: boolean;
  readonly unfolded: boolean;
  readonly unfold: (unfolded: boolean) => void;
  /** The facets, where they have no place of their own. */
  readonly facets: ComponentChildren;
  /** What takes what is shown elsewhere. */
  readonly exports: ComponentChildren;
  /** On a narrow screen order and baseline are in the menu. */
  readonly narrow: boolean;
}

export function Toolbar(p: Props) {
  const { head, table, state, go, columns, selection, compared } = p;
  const two = columns.filter(({ variant }) => !state.hide.includes(variant.index)).length === 2;
  const shows = SHOWS.filter((show) => (show !== "verdicts" || two) && (show !== "drawn" || head.review !== null) && (!state.blind || OPEN_SHOWS.includes(show)));
  const against = !state.blind && (
    <>
      <SortSelect {...p} />
      {p.runs.some((each) => isBaseline(head, each)) && <BaselineSelect head={head} runs={p.runs} base={state.base} go={go} none="No baseline" />}
    </>
  );
  return (
    <div class="toolbar" role="toolbar" aria-label="Matrix">
      <FilterBox q={state.q} onChange={(q) => go({ q }, true)} problems={selection.problems} notes={selection.notes} head={head} table={table} compared={compared} searching={selection.searching} blind={state.blind} />
      {p.facets}
      <select class="control" aria-label="Which cases" value={shows.includes(state.show) ? state.show : "all"} onChange={(event) => go({ show: event.currentTarget.value as Show })}>
        {shows.map((show) => <option key={show} value={show}>{SHOW_WORDS[show]}</option>)}
      </select>
      {!p.narrow && against}
      {!p.narrow && columns.length + p.extras.length > 1 && <ColumnPicker all={columns} extras={p.extras} state={state} go={go} summaries={p.summaries} />}
      {!p.narrow && p.exports}
      <Menu name="View" title="Row height, Markdown, prompts, blind mode">
        {p.narrow && <div class="menu-controls">{against}</div>}
        <fieldset class="facet">
          <legend>Rows</legend>
          <div class="segments" role="radiogroup" aria-label="Row height">
            {SIZES.map(([size, words]) => (
              <button key={size} type="button" role="radio" aria-checked={state.size === size} onClick={() => go({ size })}>{words}</button>
            ))}
          </div>
        </fieldset>
        <Check words="Markdown" on={state.md} change={(md) => go({ md })} />
        {!state.blind && <Check words="Prompts in the heads" on={p.unfolded} change={p.unfold} />}
        <Check words="Blind: hide variants, verdicts, scores" on={state.blind} change={(blind) => go({ blind, ...(blind ? { sort: "plan", show: "all" } : {}) })} />
      </Menu>
    </div>
  );
}

function Check({ words, on, change }: { words: string; on: boolean; change: (on: boolean) => void }) {
  return (
    <label class="facet-value">
      <input type="checkbox" checked={on} onChange={() => change(!on)} />
      <span class="facet-words">{words}</span>
    </label>
  );
}

const SORT_WORDS: Readonly<Record<(typeof KEYS)[number], readonly [up: string, down: string]>> = {
  score: ["lowest score first", "highest score first"],
  change: ["worst change first", "best change first"],
  latency: ["fastest first", "slowest first"],
  cost: ["cheapest first", "most expensive first"],
};

const METRICS = 50; // that the menu offers

function wordsOf({ key, metric, down }: Sort): string {
  if (key === "versus") return `${down ? "highest" : "lowest"} against the pinned column first`;
  return key === "metric" ? `${metric}: ${down ? "highest" : "lowest"} first` : SORT_WORDS[key][down ? 1 : 0];
}

/** In the order of the plan, by a number over all columns, or as a column's head has it. */
function SortSelect({ state, go, table, columns, compared }: Props) {
  const now = readSort(state.sort);
  const name = columns.find(({ variant }) => variant.index === now?.column)?.name;
  return (
    <select class="control" aria-label="Order" value={state.sort} onChange={(event) => go({ sort: event.currentTarget.value })}>
      <option value="plan">Plan order</option>
      {now !== undefined && now.column >= 0 && <option value={state.sort}>{`${name ?? "column"}: ${wordsOf(now)}`}</option>}
      {KEYS.filter((key) => compared || key !== "change").flatMap((key) =>
        [false, true].map((down) => {
          const sort = { key, metric: "", column: -1, down };
          const words = wordsOf(sort);
          return <option key={writeSort(sort)} value={writeSort(sort)}>{words[0]!.toUpperCase() + words.slice(1)}</option>;
        }),
      )}
      {table.metricNames.length > 0 && (
        <optgroup label="Metrics">
          {table.metricNames.slice(0, METRICS).flatMap((metric) =>
            [false, true].map((down) => {
              const sort = { key: "metric" as const, metric, column: -1, down };
              return <option key={writeSort(sort)} value={writeSort(sort)}>{visible(wordsOf(sort))}</option>;
            }),
          )}
        </optgroup>
      )}
    </select>
  );
}
