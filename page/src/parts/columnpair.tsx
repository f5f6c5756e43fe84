/** Two columns of one run, case by case: which is higher where, and by how much. */
import { useMemo, useState } from "preact/hooks";
import { isEmbedded } from "../data/embedded";
import type { Head } from "../data/source";
import { columnsOf } from "../model/columns";
import { comparedFirst, differenceOf, paired, pairSaid, type Pair } from "../model/pair";
import type { Span } from "../model/rate";
import { formOf, measuresOf, seriesOf, sidesOf, written } from "../model/series";
import type { Measured } from "../model/scale";
import { FAIL, type Table } from "../model/table";
import { visible } from "../model/visible";
import { grouped, signed } from "../model/words";
import { plotOf } from "../model/plot";
import type { Go, RunState } from "../state/url";
import { ColumnScatter, MeasureChoice } from "./columnscatter";

const FIRST = 20;

interface Props {
  head: Head;
  table: Table;
  state: RunState;
  go: Go;
  /** There is another run that this one could be held against; undefined where that is not known. */
  others: boolean | undefined;
}

export function ColumnPair({ head, table, state, go, others }: Props) {
  const columns = useMemo(() => columnsOf(head, state.blind), [head, state.blind]);
  const measures = ordered(measuresOf(table), table);
  const order = comparedFirst(columns.map(({ variant }) => variant));
  const { measure, x, y } = plotOf(state.plot, measures, order ?? []);
  const evalOf = (index: number): string => head.columns[index]!.eval;
  const rows = useMemo(() => new Uint8Array(table.rows.length).fill(1), [table, table.rows.length]);
  const series = useMemo(() => seriesOf(table, head.columns, measure, rows), [table, head, rows, measure.name, measure.metric, table.size]);
  const named = (index: number): string => visible(columns.find(({ variant }) => variant.index === index)?.name ?? "");
  const [first, second] = [series[x]!, series[y]!];
  const found = useMemo(() => sidesOf(first, second, rows), [first, second, rows]);
  const pair = useMemo(() => paired(table, head.columns, measure, [x, y], rows), [table, head, measure.name, measure.metric, x, y, rows, table.size]);
  if (order === undefined) {
    const todo = others === undefined
      ? ""
      : others
      ? `${head.of_gate ? "Its gate's verdict stands above. " : ""}Choose a baseline to compare it with an earlier run.`
      : isEmbedded()
        ? "Nothing can be compared in this report, which holds no other run: `evenhand export --baseline RUN` writes one that does."
        : "There is no other run to compare it with yet.";
    return <p class="chart-empty">{`This run has one variant${columns.length > 1 ? " of each eval, and evals ask different things" : ""}. ${todo}`}</p>;
  }
  const form = formOf(measure);
  const [a, b] = [`${written(measure)}@${x + 1}`, `${written(measure)}@${y + 1}`];
  const kinds = [
    { n: found.lower + found.higher, words: "differ", query: `${a}!=${b}` },
    { n: found.lower, words: `higher in ${named(x)}`, query: `${a}>${b}` },
    { n: found.higher, words: `higher in ${named(y)}`, query: `${a}<${b}` },
    { n: found.alike, words: "alike", query: `${a}=${b}` },
    { n: rows.length - found.n, words: "without a number in one of the two", query: `-${a}=${b} -${a}!=${b}` },
  ];
  return (
    <section aria-labelledby="pair">
      <div class="chart-bar">
        <MeasureChoice measures={measures} measure={measure} change={(key) => go({ plot: `${key}.${x}.${y}` })} />
      </div>
      <h2 id="pair" class="chart-title">{`${visible(measure.name)}: ${named(y)} against ${named(x)}`}</h2>
      <p class="chart-said">
        {evalOf(x) === evalOf(y) ? "" : "These are different evals, which ask different things. "}
        {pairSaid(pair, form)}
      </p>
      <ul class="kinds">
        {kinds.map(({ n, words, query }) => (
          <li key={query}>
            <button class="kind" type="button" disabled={n === 0} onClick={() => go({ q: query, view: "matrix", show: "all" })}>
              <b>{grouped(n)}</b>
              <span class="kind-words">{words}</span>
            </button>
          </li>
        ))}
      </ul>
      <div class="chart-grid">
        <Differing table={table} pair={pair} names={[named(x), named(y)]} columns={[x, y]} form={form} go={go} />
        <ColumnScatter head={head} table={table} columns={columns} measure={measure} x={x} y={y} chosen={rows} state={state} go={go} />
      </div>
    </section>
  );
}

/** What decides whether a trial passed comes first, where some did not. */
function ordered(measures: readonly Measured[], table: Table): readonly Measured[] {
  const verdict = measures.filter(({ name, metric }) => name === "passed" && !metric);
  return table.outcome.subarray(0, table.size).some((outcome) => outcome === FAIL) ? [...new Set([...verdict, ...measures])] : measures;
}

interface DifferingProps {
  table: Table;
  pair: Pair;
  names: readonly [string, string];
  columns: readonly [number, number];
  form: (value: number) => string;
  go: Go;
}

/** The cases in which the two differ, or may; the ones in which the second is lowest against the first come first. */
function Differing({ table, pair, names, columns, form, go }: DifferingProps) {
  const [most, set] = useState(FIRST);
  const differ = pair.cases.map((of) => ({ ...of, by: differenceOf(of) }))
    .filter(({ by }) => by.least < -1e-9 || by.most > 1e-9)
    .sort((a, b) => a.by.least - b.by.least || a.row - b.row);
  const open = (row: number): void => {
    const trial = table.cell(row, columns[1])[0];
    if (trial !== undefined) go({ cell: table.index[trial]! });
  };
  if (differ.length === 0) return <p class="chart-empty">No case differs.</p>;
  return (
    <div>
      <div class="chart-scroll changes">
        <table>
          <thead>
            <tr><th scope="col">case</th><th scope="col">{names[0]}</th><th scope="col">{names[1]}</th><th scope="col">difference</th></tr>
          </thead>
          <tbody>
            {differ.slice(0, most).map(({ row, first, second, by }) => (
              <tr key={row}>
                <th scope="row">
                  <button class="link" type="button" onClick={() => open(row)}>{visible(table.rows[row]!.description || table.rows[row]!.id)}</button>
                </th>
                <td>{spanned(first, form, "–")}</td>
                <td>{spanned(second, form, "–")}</td>
                <td>{spanned(by, (value) => signed(form(value)), " to ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {differ.length > most && <button class="button" type="button" onClick={() => set(most * 5)}>{`${grouped(differ.length - most)} more`}</button>}
    </div>
  );
}

/** A number, or the two between which errors leave it. */
function spanned({ least, most }: Span, form: (value: number) => string, between: string): string {
  const [low, high] = [form(least), form(most)];
  return low === high ? low : low + between + high;
}
