/** Two runs held against each other; or, without a baseline, two columns of one. */
import { Fragment } from "preact";
import type { Compared, Comparison, Head, Question, RunSummary } from "../data/source";
import type { Baseline } from "../model/baseline";
import { asking, questionOf } from "../model/plot";
import { isBaseline, started } from "../model/runs";
import type { Table } from "../model/table";
import { visible } from "../model/visible";
import { count, minus } from "../model/words";
import { BaselineSelect } from "../parts/baselineselect";
import { Changes, Kinds } from "../parts/changes";
import { ColumnPair } from "../parts/columnpair";
import { Choice } from "../parts/columnscatter";
import { Diff } from "../parts/diff";
import { columnsSaid, differenceSaid, Forest } from "../parts/forest";
import { shown } from "../parts/text";
import { TroubleLine } from "../parts/told";
import type { Against } from "../state/baseline";
import type { Go, RunState } from "../state/url";

interface Props {
  head: Head;
  table: Table;
  against: Against;
  state: RunState;
  go: Go;
  runs: readonly RunSummary[];
  /** Whether it is known which runs there are. */
  listed: boolean;
}

export function ComparisonView({ head, table, against, state, go, runs, listed }: Props) {
  const { comparison, baseline, problem } = against;
  const others = runs.filter((each) => isBaseline(head, each));
  const choice = others.length > 0 || state.base !== "";
  return (
    <div class="comparison">
      {choice && (
        <div class="chart-bar">
          <label class="chart-choice">Baseline{" "}<BaselineSelect head={head} runs={runs} base={state.base} go={go} none={head.columns.length > 1 ? "none: two variants of this run" : "none"} /></label>
        </div>
      )}
      {state.base === "" && <ColumnPair head={head} table={table} state={state} go={go} others={listed ? others.length > 0 : undefined} />}
      {state.base !== "" && <TroubleLine problem={problem} />}
      {state.base !== "" && problem === undefined && (comparison === undefined || baseline === undefined) && (
        <p class="chart-empty" role="status">Comparing…</p>
      )}
      {comparison !== undefined && baseline !== undefined && (
        <Runs head={head} table={table} comparison={comparison} baseline={baseline} state={state} go={go} runs={runs} />
      )}
    </div>
  );
}

const SIGNS: Readonly<Record<string, string>> = { better: "▲", worse: "▼", undecided: "?", "no detectable difference": "=", "non-inferior": "≥" };
/** What moved stands first. */
const ORDER = ["worse", "better", "non-inferior", "undecided", "no detectable difference"];

interface RunsProps {
  head: Head;
  table: Table;
  comparison: Comparison;
  baseline: Baseline;
  state: RunState;
  go: Go;
  runs: readonly RunSummary[];
}

function Runs({ head, table, comparison, baseline, state, go, runs }: RunsProps) {
  const { questions } = comparison;
  const question = questionOf(state.plot, questions);
  const results = inOrder(question?.results ?? []);
  const metrics = [...new Set([...results.filter(moved), ...(question?.results ?? [])].map(({ metric }) => metric))];
  return (
    <>
      <section aria-labelledby="verdicts">
        <h2 id="verdicts" class="chart-title">Is it better than the baseline?</h2>
        <p class="chart-said">{`Against ${visible(comparison.baseline.title)} of ${started(comparison.baseline, runs)}: each variant on the cases that both have.`}</p>
        {question === undefined || results.length === 0 ? <p class="chart-empty">The two runs have no variant in common.</p> : (
          <>
            <Asked questions={questions} question={question} plot={state.plot} go={go} />
            {metrics.map((metric) => (
              <Fragment key={metric}>
                {metrics.length > 1 && <h3 class="verdicts-of">{visible(metric)}</h3>}
                <ul class="verdicts">
                  {results.filter((each) => each.metric === metric).map((each, i) => <VerdictLine key={i} of={each} tests={results.length} />)}
                </ul>
              </Fragment>
            ))}
            <details class="chart-numbers">
              <summary>Everything that “evenhand compare” says</summary>
              <pre class="said-lines">{visible(question.lines.join("\n"))}</pre>
            </details>
          </>
        )}
      </section>
      {comparison.changes.length + comparison.edited.length > 0 && (
        <section aria-labelledby="since">
          <h2 id="since" class="chart-title">What changed since</h2>
          <ul class="notices">{comparison.changes.map(({ kind, text }) => <li key={kind}><b>{kind}</b>: {shown(text)}</li>)}</ul>
          {comparison.edited.map(({ name, before, after }) => (
            <details key={name} class="chart-numbers" open={comparison.edited.length < 3}>
              <summary>{`The prompt ${visible(name)}, before and now`}</summary>
              <Diff before={before} after={after} names={["the baseline", "this run"]} />
            </details>
          ))}
        </section>
      )}
      <section aria-labelledby="kinds">
        <h2 id="kinds" class="chart-title">Results of the trials</h2>
        <p class="chart-said">{`${count(table.size, "trial")}, each compared with the trial of the same case, variant and repeat. Click to see them in the matrix.`}</p>
        <Kinds table={table} baseline={baseline} go={go} />
      </section>
      <div class="chart-grid">
        <section aria-labelledby="differences">
          <h2 id="differences" class="chart-title">Differences</h2>
          <p class="chart-said">Now minus before: the mean difference over the cases of both runs, with its 95 % interval. An arrow: it continues beyond the chart.</p>
          <div class="forests">
            {metrics.map((metric) => <Forest key={metric} metric={metric} results={results.filter((each) => each.metric === metric)} />)}
          </div>
        </section>
        <section aria-labelledby="changes">
          <h2 id="changes" class="chart-title">Cells that changed</h2>
          <Changes head={head} table={table} baseline={baseline} go={go} />
        </section>
      </div>
    </>
  );
}

/** What is asked, what the answers were corrected for, and which other metrics moved. */
function Asked({ questions, question, plot, go }: { questions: readonly Question[]; question: Question; plot: string; go: Go }) {
  const besides = questions.filter((each) => each !== question && each.metric !== "" && question.metric !== "" && moves(each) !== "");
  const n = question.results.length;
  return (
    <>
      <div class="chart-bar">
        <Choice label="Metric" value={String(questions.indexOf(question))} change={(at) => go({ plot: asking(questions[Number(at)]!, plot) })}>
          {questions.map((each, i) => (
            <option key={i} value={i}>{[each.metric === "" ? "all metrics together" : visible(each.metric), moves(each)].filter((part) => part !== "").join(" · ")}</option>
          ))}
        </Choice>
        <span class="chart-count">{tally(question.results)}</span>
      </div>
      <p class="chart-said">
        {n === 1 ? "One comparison: p is not corrected. " : `p, the interval, and the smallest difference that could have been shown are corrected for ${count(n, "comparison")} (Holm): `}
        {n > 1 && (question.metric === "" ? "every metric of every variant. " : "this metric of every variant. ")}
        The same as <code>{visible(question.command)}</code>.
        {besides.length > 0 && (
          <>
            {" Also moved: "}
            {besides.map((each, i) => (
              <Fragment key={i}>
                {i > 0 && ", "}
                <button class="link" type="button" onClick={() => go({ plot: asking(each, plot) })}>{visible(each.metric)}</button>{` (${moves(each)})`}
              </Fragment>
            ))}
            .
          </>
        )}
      </p>
    </>
  );
}

function moved({ verdict }: Compared): boolean {
  return verdict === "worse" || verdict === "better";
}

function inOrder(results: readonly Compared[]): Compared[] {
  const place = ({ verdict }: Compared): number => (ORDER.includes(verdict) ? ORDER.indexOf(verdict) : ORDER.length);
  return [...results].sort((a, b) => place(a) - place(b));
}

/** `2 worse, 3 better`; empty where nothing moved. */
function moves({ results }: Question): string {
  return counted(results, ["worse", "better"]);
}

/** `2 worse, 3 better, 1 undecided.` */
function tally(results: readonly Compared[]): string {
  return `${counted(results, ORDER)}.`;
}

function counted(results: readonly Compared[], verdicts: readonly string[]): string {
  return verdicts.map((word) => [results.filter(({ verdict }) => verdict === word).length, word.startsWith("no ") ? `with ${word}` : word] as const)
    .filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`).join(", ");
}

function VerdictLine({ of, tests }: { of: Compared; tests: number }) {
  const { words, because, n } = of;
  return (
    <li class={`verdict verdict-${of.verdict.replace(/\W+/g, "-")}`}>
      <span class="verdict-word"><span aria-hidden="true">{SIGNS[of.verdict] ?? "·"}</span> {of.verdict}</span>
      <span class="verdict-name">{columnsSaid(of)}</span>
      <span class="verdict-said">
        <b>{differenceSaid(of)}</b>
        {words !== null && <span>{minus(`${words.first} → ${words.second}`)}{of.lower && ", less is better"}</span>}
        <span>{count(n, "case")}</span>
        {words !== null && words.p !== "" && <span>{words.p}{tests > 1 && <span class="verdict-why">{` (Holm, of ${tests})`}</span>}</span>}
        {because !== "" && <span class="verdict-why">{minus(because)}</span>}
      </span>
    </li>
  );
}
