/** A cell of the matrix: what one variant answered to one case, and what came of it. */
import type { Preview } from "../data/source";
import type { Baseline } from "../model/baseline";
import { changeSaid, sideOf } from "../model/changed";
import { isDisputed } from "../model/judges";
import { fittedOnce } from "../model/names";
import { ERROR, FAIL, PASS, type Table } from "../model/table";
import type { Size } from "../state/url";
import { JsonPreview } from "./json";
import { MarkdownPreview } from "./markdown";
import { Mark, number, seconds, short, sign, Strip } from "./marks";
import { shown, TextPreview } from "./text";

interface Props {
  readonly table: Table;
  readonly trials: readonly number[];
  /** The one whose output is shown. */
  readonly trial: number;
  readonly preview: Preview | undefined;
  readonly baseline: Baseline | undefined;
  readonly blind: boolean;
  readonly md: boolean;
  readonly size: Size;
  /** None of them could fail. */
  readonly ranked: boolean;
  /** What is said where there is no trial. */
  readonly missing: string;
}

/** As much as fits: more would be laid out and not seen. */
const MOST: Readonly<Record<Size, number>> = { s: 160, m: 480, l: 1200 };
const CHIPS = 6;
const NAME = 18; // characters of a metric's name in a chip

export function OutputCell(p: Props) {
  const { table, trials, trial, preview, blind, size } = p;
  if (trial < 0) return <span class="cell-none">{p.missing}</span>;
  return (
    <>
      <div class="cell-line">
        {!blind && <Came {...p} />}
        <Said table={table} trials={trials} />
      </div>
      {!blind && size !== "s" && <Chips table={table} trials={trials} />}
      {!blind && size !== "s" && table.outcome[trial] !== PASS && preview !== undefined && preview.reason !== "" && (
        <p class={table.outcome[trial] === ERROR ? "cell-reason cell-reason-error" : "cell-reason"}>{shown(preview.reason)}</p>
      )}
      <div class="cell-output">{preview === undefined ? <span class="cell-none cell-awaited">…</span> : <Output {...p} preview={preview} />}</div>
    </>
  );
}

function Output({ preview, md, size }: Props & { preview: Preview }) {
  if (preview.output === "") return <span class="cell-none">no output</span>;
  if (preview.json) return <JsonPreview text={preview.output} most={MOST[size]} />;
  if (md && size !== "s") return <MarkdownPreview text={preview.output} most={MOST[size]} />;
  return <TextPreview text={preview.output} most={MOST[size]} />;
}

/** Outcome, score, change and time. */
function Came({ table, trials, trial, baseline, size, ranked }: Props) {
  const [score, latency] = [table.score, table.latency].map((column) => mean(trials.map((each) => column[each]!))) as [number, number];
  return (
    <>
      {ranked && <span class="muted">ranked</span>}
      {!ranked && trials.length > 1 && <Strip outcomes={trials.map((each) => table.outcome[each]!)} />}
      {!ranked && trials.length === 1 && <Mark outcome={table.outcome[trial]!} short={size === "s"} />}
      {!Number.isNaN(score) && <span class="cell-score" title={`${trials.length > 1 ? "mean score of the repeats" : "score"}: ${number(score)}`}>{short(score)}</span>}
      {baseline !== undefined && <Change table={table} baseline={baseline} trials={trials} />}
      {size !== "s" && !Number.isNaN(latency) && <span class="cell-time">{seconds(latency)}</span>}
    </>
  );
}

function Change({ table, baseline, trials }: { table: Table; baseline: Baseline; trials: readonly number[] }) {
  const cell = [table.row[trials[0]!]!, table.variant[trials[0]!]!] as const;
  const earlier = baseline.cell(...cell);
  if (earlier.length === 0) return <span class="change change-none">new</span>;
  const before = sideOf(baseline.table, earlier);
  const { kind, words, why } = changeSaid(before, sideOf(table, trials), baseline.otherTest(...cell));
  const told = [`before: ${earlier.map((trial) => sign(baseline.table.outcome[trial]!)).join("")} ${number(before.score)}`, why];
  return <span class={`change change-${kind}`} title={told.filter((part) => part !== "").join("; ")}>{words}</span>;
}

/** A chip for each metric; clicking one asks for the cells that are no better. `data-…` is read by the matrix. */
function Chips({ table, trials }: Pick<Props, "table" | "trials">) {
  const labels = fittedOnce(table.metricNames, NAME);
  const values = table.metricNames
    .map((name, i) => {
      const scores = trials.map((trial) => table.metric(name)?.[trial] ?? NaN).filter((score) => !Number.isNaN(score));
      return { name, label: labels[i]!, value: mean(scores), best: Math.max(...scores) };
    })
    .filter(({ value }) => !Number.isNaN(value));
  if (values.length === 0) return null;
  return (
    <div class="chips">
      {values.slice(0, CHIPS).map(({ name, label, value, best }) => (
        <button type="button" class="chip" key={name} tabIndex={-1} data-metric={name} data-value={best} title={`${name}: ${number(value)}. Click: show the cells that are no better`}>
          <span class="chip-name">{shown(label)}</span> {short(value)}
        </button>
      ))}
      {values.length > CHIPS && <span class="chip-more">+{values.length - CHIPS}</span>}
    </div>
  );
}

/** What people said of it. */
function Said({ table, trials }: Pick<Props, "table" | "trials">) {
  const given = trials.flatMap((trial) => table.labels.get(trial) ?? []);
  if (given.length === 0) return null;
  const verdicts = new Set(given.flatMap(({ field, value }) => (field === "verdict" ? [value] : [])));
  const scores = given.flatMap(({ field, value }) => (field === "score" && typeof value === "number" ? [value] : []));
  return (
    <span class="said" title={`What people say: ${[...new Set(given.map(({ author }) => author))].join(", ")}`}>
      <span class="unseen">label:</span>
      {trials.some((trial) => isDisputed(table, trial)) && <span title="The judge disagrees">≠<span class="unseen"> judge and people differ</span></span>}
      {verdicts.has("pass") && <span class="mark-pass">{sign(PASS)}<span class="unseen"> pass</span></span>}
      {verdicts.has("fail") && <span class="mark-fail">{sign(FAIL)}<span class="unseen"> fail</span></span>}
      {scores.length > 0 && <span>{short(mean(scores))}/5</span>}
      {given.some(({ field }) => field === "star") && <span>★<span class="unseen"> starred</span></span>}
      {given.filter(({ field }) => field === "dataset").slice(-1).map(({ value }) => <span key="dataset">{value === "keep" ? "keep" : "left out"}</span>)}
      {given.some(({ field }) => field === "note") && <span>✎<span class="unseen"> note</span></span>}
    </span>
  );
}

function mean(values: readonly number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length === 0 ? NaN : known.reduce((a, b) => a + b, 0) / known.length;
}
