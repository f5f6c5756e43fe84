/** The head of a column: which variant it is, and what it comes to over the rows that are shown. Its numbers sort. */
import type { ComponentChildren } from "preact";
import type { Column } from "../model/columns";
import { nextSort, sortsBy, type Key, type Sort, type SortKey } from "../model/order";
import type { Span } from "../model/rate";
import { fitted } from "../model/names";
import { apart, counted, type ColumnSummary } from "../model/summary";
import { count, ends, grouped, interval, mean, middle, paid, percents, RateBar, seconds, short, shortBeside, signed } from "./marks";
import { shown } from "./text";

interface Props {
  readonly column: Column;
  /** Its name, cut so that it differs from the other columns' names. */
  readonly label: string;
  readonly summary: ColumnSummary | undefined;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
  readonly blind: boolean;
  /** The run is not read yet. */
  readonly reading: boolean;
  /** Its places in rankings, in words. */
  readonly places: readonly string[];
  /** None of its trials that are shown could fail. */
  readonly ranked: boolean;
  /** A script answered in place of models. */
  readonly scripted: boolean;
  /** Of the mean score against the baseline; nothing where there is none. */
  readonly change: Span | undefined;
  /** How much its mean score is above the pinned column's; nothing where none is pinned. */
  readonly versus: number | undefined;
  /** With its prompt. */
  readonly unfolded: boolean;
  /** With the means of all metrics, not of the first ones alone. */
  readonly allMetrics: boolean;
  readonly onAllMetrics: () => void;
}

/** Metrics whose means a head shows, until all are asked for. */
const METRICS = 4;
const NAME = 20; // characters of a metric's name

export function ColumnHead(p: Props) {
  const { variant, name } = p.column;
  return (
    <>
      <div class="head-name" title={p.blind ? undefined : [variant.prompt, variant.model, variant.prompt_raw].filter(Boolean).join("\n\n")}>{shown(p.label)}</div>
      {!p.blind && !name.includes(variant.model) && <div class="head-model">{shown(variant.model)}</div>}
      {!p.blind && p.summary !== undefined && <Numbers {...p} summary={p.summary} />}
      {!p.blind && p.reading && <div class="cell-none cell-awaited">reading…</div>}
      {!p.blind && p.unfolded && <pre class="head-prompt">{shown(variant.prompt_raw || "no prompt of its own")}</pre>}
    </>
  );
}

function Numbers(p: Props & { summary: ColumnSummary }) {
  const { column, summary: of, sort, onSort, change } = p;
  const { rate } = of;
  const trials = counted(of.outcomes);
  const without = apart(of.outcomes);
  const cost = paid(of.cost, { scripted: p.scripted, calls: of.calls });
  const labels = fitted(of.metrics.map(({ name: metric }) => metric), NAME);
  const by = (key: Key, children: ComponentChildren, title: string, metric = "", label: string = key) => (
    <Sorter key={key + metric} by={{ key, metric }} label={label} column={column.variant.index} sort={sort} onSort={onSort} title={title}>{children}</Sorter>
  );
  return (
    <>
      {p.places.map((place) => <div key={place} class="head-place">{shown(place)}</div>)}
      {!p.ranked && <div class="head-rate">
        <b>{rate === null ? "–" : percents(rate)}</b>
        <RateBar of={rate} />
        <span class="head-n" title={`${grouped(of.outcomes[0])} of ${count(trials, "trial")} passed${of.outcomes[2] > 0 ? `; ${grouped(of.outcomes[2])} in error may have` : ""}. In the rate every case, or cluster of cases, counts once.`}>{rate === null ? "no verdicts" : `${interval(rate.low, rate.high)} % · ${many(of.outcomes[0])}/${many(trials)}`}</span>
      </div>}
      <div class="head-numbers">
        {of.metrics.slice(0, p.allMetrics ? undefined : METRICS).map((one, i) => by("metric", middle(one, short), `Mean of ${one.name}: ${middle(one)}, ${count(one.n, "case")}`, one.name, labels[i]))}
        {of.metrics.length > METRICS && <button type="button" class="head-sort" onClick={p.onAllMetrics} aria-expanded={p.allMetrics} title="Means of the other metrics">{p.allMetrics ? "fewer" : `${of.metrics.length - METRICS} more`}</button>}
        {by("score", <Ends of={of.score} />, `Mean score: ${mean(of.score)}`)}
        {change !== undefined && by("change", changeWords(change), "Mean change of the score against the baseline, over cases; errors may have scored anything")}
        {p.versus !== undefined && by("versus", signed(short(p.versus)), "Mean difference of the score from the pinned column's, over the cases in which both have one", "", "vs pinned")}
        {!p.ranked && <span class="head-number" title="Expectations met">{grouped(of.met)}/{grouped(of.asked)} <i>met</i></span>}
        {by("latency", seconds(of.latency?.value), `Mean latency: ${mean(of.latency, seconds)}`)}
        <span class="head-number" title={`${grouped(of.tokensIn)} tokens in, ${grouped(of.tokensOut)} out`}><i>tokens</i> {inAndOut(of.tokensIn, of.tokensOut)}</span>
        {cost !== "scripted" && by("cost", cost, "Cost of all trials shown")}
        {without !== "" && <span class="head-number head-apart" title="An error may have passed or failed, so the rate is a range. Trials that are not applicable don't count.">{without}</span>}
      </div>
    </>
  );
}

function Ends({ of }: { of: ColumnSummary["score"] }) {
  if (of === null) return <>–</>;
  return (
    <>
      {middle(of, (value) => shortBeside(value, of))}
      <span class="head-ends">{ends(of, (value) => shortBeside(value, of))}</span>
    </>
  );
}

function Sorter(p: { by: SortKey; label: string; column: number; title: string; children: ComponentChildren } & Pick<Props, "sort" | "onSort">) {
  const on = sortsBy(p.sort, p.by, p.column);
  const way = !on ? "" : p.sort?.down ? " ↓" : " ↑";
  return (
    <button
      type="button"
      class={on ? "head-number head-sort head-sorted" : "head-number head-sort"}
      title={`${p.title}. Click to sort.`}
      aria-pressed={on}
      onClick={() => p.onSort(nextSort(p.sort, p.by, p.column))}
    >
      <i>{shown(p.label)}</i> {p.children}{way}
    </button>
  );
}

/** `aria-sort` of a column. */
export function sortedAs(sort: Sort | undefined, column: number): "ascending" | "descending" | undefined {
  if (sort === undefined || sort.column !== column) return undefined;
  return sort.down ? "descending" : "ascending";
}

/** Both rounded alike. */
function inAndOut(first: number, second: number): string {
  return [first, second].map((n) => many(n, Math.max(first, second))).join(" → ");
}

/** In thousands or millions where the largest of its kind has many of them. */
function many(n: number, largest = n): string {
  if (largest < 10_000) return grouped(n);
  const [unit, name] = largest < 999_500 ? [1e3, "k"] : [1e6, "M"];
  return `${(n / unit).toFixed(n >= 100 * unit ? 0 : 1)} ${name}`;
}

/** `+0.1`, or `−0.1 to +0.3` where errors leave it open. */
function changeWords({ least, most }: Span): string {
  const [low, high] = [least, most].map((end) => signed(short(end)));
  return low === high ? low! : `${low} to ${high}`;
}
