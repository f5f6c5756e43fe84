/** Runs as a table. A click on a heading sorts. */
import { useState } from "preact/hooks";
import type { RunSummary } from "../data/source";
import { rateFrom } from "../model/rate";
import { shortId, started } from "../model/runs";
import { verdictOf } from "../model/verdict";
import { clipped } from "../model/visible";
import { START, write } from "../state/url";
import { grouped, interval, paid, percents, RateBar, seconds } from "./marks";
import { shown, told } from "./text";
import { Verdict } from "./verdict";

type By = "date" | "title" | "verdict" | "rate" | "size" | "cost" | "took";

const VALUES: Readonly<Record<By, (run: RunSummary) => number | string>> = {
  date: (run) => run.created_at,
  title: (run) => run.title.toLowerCase(),
  verdict: (run) => verdictOf(run)[1],
  rate: (run) => rateFrom(run.rate)?.least ?? -1,
  size: (run) => run.planned,
  cost: (run) => run.totals.cost_usd ?? -1,
  took: (run) => run.took_s ?? 0,
};

interface Props {
  readonly runs: readonly RunSummary[];
  readonly picked: readonly string[];
  readonly toggle: (id: string) => void;
  /** Opens what is said of a run. */
  readonly edit: ((run: RunSummary) => void) | undefined;
}

export function RunTable({ runs, picked, toggle, edit }: Props) {
  const [by, setBy] = useState<By>("date");
  const [down, setDown] = useState(true);
  const sorted = [...runs].sort((a, b) => compared(VALUES[by](a), VALUES[by](b)) * (down ? -1 : 1) || b.created_at - a.created_at);
  const heading = (key: By, words: string, style = "") => (
    <th class={style} aria-sort={by === key ? (down ? "descending" : "ascending") : "none"}>
      <button
        type="button" class="heading"
        onClick={() => {
          setDown(by === key ? !down : key !== "title" && key !== "verdict");
          setBy(key);
        }}
      >
        {words}<span aria-hidden="true">{by === key ? (down ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
  return (
    <div class="table-box">
      <table class="list run-list">
        <thead>
          <tr>
            <th><span class="unseen">Compare</span></th>
            {heading("title", "Run")}
            {heading("verdict", "Verdict")}
            {heading("rate", "Passed")}
            {heading("size", "Cases × variants", "n")}
            {heading("cost", "Spent", "n")}
            {heading("took", "Took", "n")}
            {heading("date", "Started", "n")}
          </tr>
        </thead>
        <tbody>
          {sorted.map((run) =>
            run.problem === "" ? (
              <OneRun key={run.id} run={run} runs={runs} picked={picked.includes(run.id)} toggle={toggle} edit={edit} />
            ) : (
              <tr key={run.id} class="unreadable">
                <td />
                <td colSpan={7}><b>{shown(run.title || run.id)}</b> <span class="badge badge-error">! unreadable</span> <span class="muted">{told(run.problem)}</span></td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

const TITLE = 160; // characters of a title in the list
const NOTE = 600; // of a note
const NOTE_LINES = 8;

function OneRun({ run, runs, picked, toggle, edit }: { picked: boolean; run: RunSummary } & Pick<Props, "runs" | "toggle" | "edit">) {
  const rate = rateFrom(run.rate);
  const repeats = run.repeats > 1 ? ` × ${run.repeats}` : "";
  const title = clipped(run.title || run.id, TITLE);
  const note = clipped(run.note, NOTE, NOTE_LINES);
  return (
    <tr class={picked ? "picked" : ""}>
      <td class="run-pick"><input type="checkbox" checked={picked} onChange={() => toggle(run.id)} aria-label={`Compare ${run.title}, ${started(run, runs)}`} /></td>
      <td class="run-name">
        {run.of_gate && <span class="muted">gate · </span>}
        <a href={write({ ...START, run: run.id })} title={title.more ? run.title : undefined}>{shown(title.text)}{title.more && "…"}</a>
        {run.tags.map((tag) => <span key={tag} class="chip run-tag">{shown(tag)}</span>)}
        {edit && <button type="button" class="button quiet small run-edit" title="Rename, tag, note, delete" aria-label={`Edit ${run.title}, ${started(run, runs)}`} onClick={() => edit(run)}>Edit</button>}
        <span class="muted run-source" title={run.source}><code title={run.id}>{shortId(run.id, runs)}</code> {run.source !== "" && <a href={write({ ...START, run: run.id, view: "cases" })} title="Cases over all runs">{shown(run.source)}</a>}</span>
        {run.note !== "" && <span class="run-note" title={note.more ? run.note : undefined}>{shown(note.text)}{note.more && "…"}</span>}
      </td>
      <td class="run-verdict"><Verdict run={run} /></td>
      <td class="run-rate">
        <div class="run-passed">
          {rate === null ? <span class="muted">no verdicts</span> : (
            <>
              <b>{percents(rate)}</b><RateBar of={rate} />
              <span class="muted">{interval(rate.low, rate.high)} %</span>
            </>
          )}
          {run.totals.errors > 0 && <span class="run-errors" title="Trials that ended in an error: they may have passed or failed, so the rate is a range">! {grouped(run.totals.errors)}<span class="unseen"> errors</span></span>}
        </div>
      </td>
      <td class="n run-size">{grouped(run.cases)} × {grouped(run.variants)}{repeats}</td>
      <td class="n run-cost">{paid(run.totals.cost_usd, { scripted: run.scripted, calls: run.totals.calls })}</td>
      <td class="n run-took">{run.took_s === null ? "–" : seconds(run.took_s)}</td>
      <td class="n run-date"><time dateTime={new Date(run.created_at * 1000).toISOString()}>{started(run, runs)}</time></td>
    </tr>
  );
}

function compared(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
