/** The head of a column: which variant it is, and what it comes to over the rows that are shown. Its numbers sort. */
import type { ComponentChildren } from "preact";
import type { Column } from "../model/columns";
import { KEYS, nextSort, type Key, type Sort } from "../model/order";
import { apart, type ColumnSummary } from "../model/summary";
import { grouped, interval, mean, money, number, percent, RateBar, seconds, signed } from "./marks";
import { shown } from "./text";

interface Props {
  readonly column: Column;
  readonly summary: ColumnSummary | undefined;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
  readonly blind: boolean;
  /** Of the mean score against the baseline; nothing where there is none. */
  readonly change: number | undefined;
  /** With its prompt. */
  readonly unfolded: boolean;
}

export function ColumnHead(p: Props) {
  const { variant, name } = p.column;
  return (
    <>
      <div class="head-name" title={p.blind ? undefined : [variant.prompt, variant.model, variant.prompt_raw].filter(Boolean).join("\n\n")}>{shown(name)}</div>
      {!p.blind && !name.includes(variant.model) && <div class="head-model">{shown(variant.model)}</div>}
      {!p.blind && p.summary !== undefined && <Numbers {...p} summary={p.summary} />}
      {!p.blind && p.unfolded && <pre class="head-prompt">{shown(variant.prompt_raw || "no prompt of its own")}</pre>}
    </>
  );
}

function Numbers({ column, summary: of, sort, onSort, change }: Props & { summary: ColumnSummary }) {
  const { rate } = of;
  const verdicts = of.outcomes[0] + of.outcomes[1];
  const without = apart(of.outcomes);
  const by = (key: Key, children: ComponentChildren, title: string) => (
    <Sorter key={key} by={key} column={column.variant.index} sort={sort} onSort={onSort} title={title}>{children}</Sorter>
  );
  return (
    <>
      <div class="head-rate">
        <b>{rate === null ? "–" : percent(rate.value)}</b>
        <RateBar of={rate} />
        <span class="head-n" title={`${grouped(of.outcomes[0])} of ${grouped(verdicts)} trials with a verdict passed`}>{rate === null ? "no verdicts" : `${interval(rate.low ?? 0, rate.high ?? 1)} % · ${short(of.outcomes[0])}/${short(verdicts)}`}</span>
      </div>
      <div class="head-numbers">
        {by("score", <Ends of={of.score} />, `Mean score: ${mean(of.score)}`)}
        {change !== undefined && by("change", signed(short2(change)), "Mean change of the score against the baseline")}
        <span class="head-number" title="Expectations that passed, of those with a verdict">{grouped(of.met)}/{grouped(of.asked)} <i>met</i></span>
        {by("latency", seconds(of.latency?.value), `Mean latency: ${mean(of.latency, seconds)}`)}
        <span class="head-number" title={`${grouped(of.tokensIn)} tokens in, ${grouped(of.tokensOut)} out`}><i>tokens</i> {inAndOut(of.tokensIn, of.tokensOut)}</span>
        {by("cost", money(of.cost), "Cost of all trials shown")}
        {without !== "" && <span class="head-number head-apart" title="Not in the rate">{without}</span>}
      </div>
    </>
  );
}

function Ends({ of }: { of: ColumnSummary["score"] }) {
  if (of === null) return <>–</>;
  return (
    <>
      {short2(of.value)}
      {of.low !== null && of.high !== null && <span class="head-ends"> [{short2(of.low)}, {short2(of.high)}]</span>}
    </>
  );
}

function Sorter(p: { by: Key; column: number; title: string; children: ComponentChildren } & Pick<Props, "sort" | "onSort">) {
  const on = p.sort?.key === p.by && p.sort.column === p.column;
  const way = !on ? "" : p.sort?.down ? " ↓" : " ↑";
  return (
    <button
      type="button"
      class={on ? "head-number head-sort head-sorted" : "head-number head-sort"}
      title={`${p.title}. Click to sort.`}
      aria-pressed={on}
      onClick={() => p.onSort(nextSort(p.sort, p.by, p.column))}
    >
      <i>{p.by}</i> {p.children}{way}
    </button>
  );
}

/** `aria-sort` of a column. */
export function sortedAs(sort: Sort | undefined, column: number): "ascending" | "descending" | undefined {
  if (sort === undefined || sort.column !== column || !KEYS.includes(sort.key)) return undefined;
  return sort.down ? "descending" : "ascending";
}

/** Both rounded alike. */
function inAndOut(first: number, second: number): string {
  return [first, second].map((n) => short(n, Math.max(first, second))).join(" → ");
}

/** In thousands or millions where the largest of its kind has many of them. */
function short(n: number, largest = n): string {
  if (largest < 10_000) return grouped(n);
  const [unit, name] = largest < 999_500 ? [1e3, "k"] : [1e6, "M"];
  return `${(n / unit).toFixed(n >= 100 * unit ? 0 : 1)} ${name}`;
}

/** In two digits after the point: more is not known of a mean. */
function short2(value: number): string {
  return Math.abs(value) < 100 ? number(Number(value.toFixed(2))) : number(value);
}
