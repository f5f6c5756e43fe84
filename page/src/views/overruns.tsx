/** What is read of all runs of one config or set: its measures, its cases and its prompts. */
import { useState } from "preact/hooks";
import type { CaseLine, DataSource, Head, PromptVersion, RunSummary } from "../data/source";
import { OVER_RUNS } from "../model/overruns";
import { rateFrom } from "../model/rate";
import { started } from "../model/runs";
import { OUTCOME_WORDS } from "../model/table";
import { Diff } from "../parts/diff";
import { count, rate, Strip, when } from "../parts/marks";
import { shown, Text } from "../parts/text";
import { useRead } from "../state/read";
import { START, write, type Go, type RunState } from "../state/url";
import { History } from "./history";

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly runs: readonly RunSummary[];
  readonly state: RunState;
  readonly go: Go;
}

const PAUSE = 200; // ms after a key before cases are looked for
const NEWEST = 20; // runs whose outcomes are shown

export function OverRuns(p: Props) {
  const { head, state } = p;
  return (
    <>
      <nav class="views over-runs" aria-label="Over all runs">
        {OVER_RUNS.map(([view, words]) => <a key={view} class="view-tab" href={write({ ...state, view, cell: undefined })} aria-current={state.view === view ? "page" : undefined}>{words}</a>)}
      </nav>
      {state.view === "history" ? <History {...p} /> : state.view === "cases" ? <Cases key={head.id} {...p} /> : <Prompts key={head.id} {...p} />}
    </>
  );
}

function Unread({ of, n }: { of: string; n: number }) {
  return <p class="note">{`${of}${n > 0 ? ` ${count(n, "older run")} would take long: left out.` : ""}`}</p>;
}

function Cases({ source, head, runs }: Props) {
  const [text, find] = useState("");
  const [page, told] = useRead(() => source.cases?.(head.id, text), text, text.length && PAUSE);
  return (
    <>
      <p class="chart-bar"><input class="control" type="search" placeholder="Case" aria-label="Search the cases" value={text} onInput={(event) => find(event.currentTarget.value)} /></p>
      {told}
      {page !== undefined && (
        <>
          <Unread of={`${count(page.total, "line")} over ${count(page.runs.length, "run")}; those that flip most between pass and fail, over runs and repeats, come first.`} n={page.unread} />
          <div class="table-box" tabIndex={0} role="region" aria-label="Table of cases">
            <table class="list">
              <thead><tr><th>Case</th><th>Variant</th><th class="n">Flips</th><th class="n">Errors</th><th>Runs, newest first</th></tr></thead>
              <tbody>{page.lines.map((line) => <Case key={`${line.variant} ${line.case}`} line={line} ids={page.runs} runs={runs} />)}</tbody>
            </table>
          </div>
          {page.total > page.lines.length && <p class="note">Search for others.</p>}
        </>
      )}
    </>
  );
}

function Case({ line, ids, runs }: { line: CaseLine; ids: readonly string[]; runs: readonly RunSummary[] }) {
  return (
    <tr>
      <th scope="row">{shown(line.case)}</th>
      <td>{shown(line.variant)}</td>
      <td class="n">{line.flips}</td>
      <td class="n">{line.errors}</td>
      <td class="over-marks">
        {ids.map((id, at) => {
          const run = runs.find((each) => each.id === id);
          const outcomes = line.came[at] === "m" ? (["pass", "fail"] as const) : OUTCOME_WORDS.filter((word) => word[0] === line.came[at]);
          return outcomes.length === 0 ? <span key={id}>·</span> : <a key={id} href={write({ ...START, run: id, cell: line.cells[at]! })} title={run && started(run, runs)}><Strip outcomes={outcomes} /></a>;
        }).slice(-NEWEST).reverse()}
      </td>
    </tr>
  );
}

function Prompts({ source, head, runs }: Props) {
  const [page, told] = useRead(() => source.prompts?.(head.id), "");
  return (
    <>
      {told}
      {page !== undefined && (
        <>
          <Unread of={page.prompts.length === 0 ? "All prompts of these runs are in code." : "Every case, or cluster of cases, counts once in a version. Runs may differ in their cases and columns: the comparison of two of them says what a change did."} n={page.unread} />
          {page.prompts.map(({ name, versions }) => (
            <section key={name} class="found">
              <h2>{shown(name)}</h2>
              {versions.map((version, at) => <Version key={version.digest} version={version} before={versions[at - 1]} runs={runs} />).reverse()}
            </section>
          ))}
        </>
      )}
    </>
  );
}

function Version({ version: { text, runs: ids, created_at, rate: of }, before, runs }: { version: PromptVersion; before: PromptVersion | undefined; runs: readonly RunSummary[] }) {
  const [open, set] = useState(false);
  return (
    <details class="card" onToggle={(event) => set(event.currentTarget.open)}>
      <summary><b>{when(created_at)}</b> {count(ids.length, "run")} <span>{rate(rateFrom(of))}</span></summary>
      {open && (
        <div class="card-body">
          {before === undefined ? <Text text={text} /> : <Diff before={before.text} after={text} names={["the version before", "this one"]} />}
          <p class="note over-marks">
            {ids.map((id) => {
              const run = runs.find((each) => each.id === id);
              return run && [<a key={id} href={write({ ...START, run: id })}>{started(run, runs)}</a>, " "];
            })}
          </p>
        </div>
      )}
    </details>
  );
}
