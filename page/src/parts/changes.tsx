/** What changed since the baseline: how many trials of each kind, and the cells one by one, the worst first. */
import { useMemo, useState } from "preact/hooks";
import type { Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { OTHER_TEST, changesOf, countsOf, type Change, type Counts, type Side } from "../model/changed";
import { ERROR, FAIL, PASS, type Table } from "../model/table";
import { visible } from "../model/visible";
import { count, grouped, short } from "../model/words";
import type { Go } from "../state/url";
import { Strip } from "./marks";

const FIRST = 20;
const STRIP = 6; // repeats that are shown one by one

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
  const changes = useMemo(() => changesOf(table, baseline), [table, baseline, table.size]);
  const of = (start: string): number => changes.filter(({ said: { words } }) => words.startsWith(start)).length;
  const told = [["regressed", "regressed"], ["improved", "improved"], ["no verdict now", "without a verdict now"], ["no verdict before", "without one before"], ["undecided", "that errors leave open"], [OTHER_TEST, "of another test"]] as const;
  const kinds = told.map(([start, words]) => [of(start), words] as const);
  const rest = changes.length - kinds.reduce((sum, [n]) => sum + n, 0);
  const parts = [...kinds, [rest, "in the score alone"] as const].filter(([n]) => n > 0).map(([n, words]) => `${grouped(n)} ${words}`);
  if (changes.length === 0) return <p class="chart-empty">No cell of both runs changed its verdict or score.</p>;
  return (
    <>
      <p class="chart-said">{`${count(changes.length, "cell")} changed: ${parts.join(", ")}. The worst first; a score is the mean over repeats.`}</p>
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
  const { before, after, trial, said } = change;
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
      <td><span class={`change change-${said.kind}`} title={said.why || undefined}>{said.words}</span></td>
    </tr>
  );
}

/** `✓✓✗ 0.5`; of many repeats how many passed: `12/20 ✓, 3 ! 0.6`. */
function Verdict({ of: { passed, failed, errors, score } }: { of: Side }) {
  const n = passed + failed + errors;
  const outcomes = [...Array<number>(passed).fill(PASS), ...Array<number>(failed).fill(FAIL), ...Array<number>(errors).fill(ERROR)];
  return (
    <>
      {n === 0 && Number.isNaN(score) ? "–" : n > STRIP ? `${passed}/${n} ✓${errors > 0 ? `, ${errors} !` : ""}` : n > 0 && <Strip outcomes={outcomes} />}
      {!Number.isNaN(score) && ` ${short(score)}`}
    </>
  );
}
