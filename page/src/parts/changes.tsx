/** What changed since the baseline: how many trials of each kind, and the cells one by one, the worst first. */
import { useState } from "preact/hooks";
import type { Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { changeSaid, changesOf, countsOf, type Change, type Counts } from "../model/changed";
import { PASS, FAIL, type Table } from "../model/table";
import { visible } from "../model/visible";
import { count, grouped, number, percent } from "../model/words";
import type { Go } from "../state/url";
import { Mark } from "./marks";

const FIRST = 20;

const KINDS: readonly { key: keyof Counts; words: string; query: string; mark: string }[] = [
  { key: "regressed", words: "passed before, fail now", query: "changed:regressed", mark: "✓→✗" },
  { key: "improved", words: "failed before, pass now", query: "changed:improved", mark: "✗→✓" },
  { key: "passed", words: "pass in both", query: "changed:unchanged status:pass", mark: "✓→✓" },
  { key: "failed", words: "fail in both", query: "changed:unchanged status:fail", mark: "✗→✗" },
  { key: "undecided", words: "without a verdict in one of the two", query: "changed:undecided", mark: "!" },
  { key: "new", words: "only in this run", query: "changed:new", mark: "+" },
];

/** Each kind of change as a button that shows its trials in the matrix. */
export function Kinds({ table, baseline, go }: { table: Table; baseline: Baseline; go: Go }) {
  const counts = countsOf(table, baseline);
  return (
    <ul class="kinds">
      {KINDS.map(({ key, words, query, mark }) => (
        <li key={key}>
          <button class={`kind kind-${key}`} type="button" disabled={counts[key] === 0} onClick={() => go({ q: query, view: "matrix", show: "all" })}>
            <span class="kind-mark" aria-hidden="true">{mark}</span>
            <b>{grouped(counts[key])}</b>
            <span class="kind-words">{words}</span>
          </button>
        </li>
      ))}
      {counts.gone > 0 && <li class="kind-gone">{`${count(counts.gone, "trial")} of the baseline ${counts.gone === 1 ? "has" : "have"} no counterpart here.`}</li>}
    </ul>
  );
}

/** The cells that changed. */
export function Changes({ head, table, baseline, go }: { head: Head; table: Table; baseline: Baseline; go: Go }) {
  const [most, set] = useState(FIRST);
  const changes = changesOf(table, baseline);
  const [worse, better] = [-1, 1].map((sign) => changes.filter(({ passed }) => passed * sign > 1e-9).length) as [number, number];
  if (changes.length === 0) return <p class="chart-empty">No cell that both have changed its verdict or its score.</p>;
  return (
    <>
      <p class="chart-said">{`${count(changes.length, "cell")} changed: ${grouped(worse)} regressed, ${grouped(better)} improved, ${grouped(changes.length - worse - better)} in the score alone. The worst first; a score is the mean over repeats.`}</p>
      <div class="chart-scroll changes">
        <table>
          <thead>
            <tr>
              <th scope="col">case</th><th scope="col">before</th><th scope="col">now</th><th scope="col">change</th>
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, most).map((each) => <ChangeRow key={each.trial} change={each} head={head} table={table} go={go} />)}
          </tbody>
        </table>
      </div>
      {changes.length > most && (
        <button class="button" type="button" onClick={() => set(most * 5)}>{`${grouped(changes.length - most)} more`}</button>
      )}
    </>
  );
}

function ChangeRow({ change, head, table, go }: { change: Change; head: Head; table: Table; go: Go }) {
  const row = table.rows[change.row]!;
  const { before, after, trial } = change;
  const said = changeSaid(change.passed, change.score);
  return (
    <tr>
      <th scope="row">
        <button class="link" type="button" onClick={() => go({ cell: table.index[trial]!, tab: "output.baseline" })}>
          {visible(row.description || row.id)}
        </button>
        {head.columns.length > 1 && <span class="of-column">{visible(head.columns[change.variant]!.name)}</span>}
      </th>
      <td><Verdict of={before} /></td>
      <td><Verdict of={after} /></td>
      <td><span class={`change change-${said.kind}`}>{said.words}</span></td>
    </tr>
  );
}

function Verdict({ of }: { of: { passed: number; score: number } }) {
  const score = Number.isNaN(of.score) ? "" : number(Number(of.score.toPrecision(3)));
  if (Number.isNaN(of.passed)) return <>{score || "–"}</>;
  if (of.passed === 0 || of.passed === 1) return <><Mark outcome={of.passed === 1 ? PASS : FAIL} short />{` ${score}`}</>;
  return <>{`${percent(of.passed)} ✓ ${score}`}</>;
}
