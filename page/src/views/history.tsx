/** One measure over the runs of one config or set: whether it got better since. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { CanaryPoint, DataSource, Head, MeasuredColumn, RunChange, RunSummary } from "../data/source";
import { ticks } from "../model/histogram";
import { canaryLines, canaryMeasures, finished, isOpen, linesOf, measuresIn, rangeOf, runsLike, stretches, TICKS, type Line, type Point } from "../model/history";
import { started } from "../model/runs";
import { visible } from "../model/visible";
import { count, interval, money, number, percents, seconds } from "../parts/marks";
import { shown } from "../parts/text";
import { Told, TroubleLine, Waiting } from "../parts/told";
import { useMedia } from "../state/media";
import { START, write, type Go, type RunState } from "../state/url";

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly runs: readonly RunSummary[];
  readonly state: RunState;
  readonly go: Go;
}

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [320, 56, 16, 12, 34];
const AIR = 20; // beside the first and the last run
const COLOURS = 7;
const WORD = 50; // the width of `prompt`

export function History({ source, head, runs, state, go }: Props) {
  const every = useMemo(() => runsLike(head, runs), [head.id, head.source, head.title, runs]);
  const alike = useMemo(() => every.filter(finished), [every]);
  const { found, problem } = useMeasures(source, alike);
  const { found: changed, problem: lost } = useChanges(source, alike);
  const partial = every.length - alike.length;
  const key = /^(.*?)(?:\.\d+\.\d+)?$/s.exec(state.plot)?.[1] ?? "";
  const { found: asked, problem: unasked } = useCanaries(source, alike);
  const measures = [...measuresIn(found.flatMap((each) => (each === undefined ? [] : [each]))), ...canaryMeasures(asked)];
  const measure = measures.includes(key) ? key : "passed";
  const ofCanaries = measure.startsWith("!");
  const lines = ofCanaries ? canaryLines(asked, alike, measure) : linesOf(found, measure);
  const unread = found.filter((columns) => columns?.some(({ partial }) => partial) === true);
  if (alike.length === 0) return runs.length === 0 ? <Waiting>Reading the runs…</Waiting> : <Told title="Nothing to draw"><p>Runs without results, and unfinished runs, aren't drawn.</p></Told>;
  return (
    <div class="history">
      <div class="chart-bar">
        <label class="chart-choice">
          Measure{" "}
          <select value={measure} onChange={(event) => go({ plot: event.currentTarget.value })}>
            {measures.map((each) => <option key={each} value={each}>{visible(named(each))}</option>)}
          </select>
        </label>
        <span class="chart-count">{count(alike.length, "run")} of <b>{shown(head.source || head.title)}</b>, oldest first</span>
      </div>
      <TroubleLine problem={problem ?? lost ?? unasked} />
      {found.some((each) => each === undefined) && problem === undefined && <p class="note" role="status">Reading the runs…</p>}
      {alike.length === 1 && <p class="note">This is its only run so far.</p>}
      {unread.length > 0 && <p class="note">{`The metrics of ${count(unread.length, "run")} are not drawn: a run of more than 200,000 trials would take long to read. Its pass rate, score and latency are.`}</p>}
      {partial > 0 && <p class="note">{`${count(partial, "run")} that did not finish ${partial === 1 ? "is" : "are"} not drawn.`}</p>}
      <Chart lines={lines} runs={alike} changed={changed} measure={measure} own={head.id} />
      <ul class="history-legend">
        {lines.map(({ name }, i) => <li key={name}><svg class={`history-key ${strokeOf(i)}`} viewBox="0 0 24 12" aria-hidden="true"><path class="history-line" d="M0 6H24" /></svg>{shown(name)}</li>)}
      </ul>
      <Numbers lines={lines} runs={alike} changed={changed} measure={measure} />
      {ofCanaries && <p class="chart-said">Canaries and people's verdicts on them stay the same. If the judge is right on fewer of them, it drifted; if only the run's pass rate changes, the system did.</p>}
      <p class="chart-said">Each case, or cluster of cases, counts once in a run; the line through a point is its 95 % interval. A thick line without a point shows what errors leave open. A dashed line marks a change of the judge, the data, the expectations, a prompt or the model since the run before. Runs may differ in cases and variants: compare two runs to see what a change did.</p>
    </div>
  );
}

/** Seven colours, each whole and in three ways of dashes. */
function strokeOf(line: number): string {
  return `history-${(line % COLOURS) + 1} history-dash-${Math.floor(line / COLOURS) % 4}`;
}

/** For each run what is otherwise than in the one before it. */
type Changed = readonly (readonly RunChange[] | undefined)[];

function Chart({ lines, runs, changed, measure, own }: { lines: readonly Line[]; runs: readonly RunSummary[]; changed: Changed; measure: string; own: string }) {
  const narrow = useMedia("(max-width: 700px)");
  const [width, labels] = narrow ? [400, 3] : [960, 6];
  const [low, high] = rangeOf(lines, measure);
  const [first, last] = [LEFT + AIR, width - RIGHT - AIR];
  /** A run's place, and of each of its points, beside each other so that their intervals can be told apart. */
  const place = (at: number): number => (runs.length === 1 ? (first + last) / 2 : first + ((last - first) * at) / (runs.length - 1));
  const apart = Math.min(7, (2 * AIR) / lines.length, (last - first) / runs.length / (lines.length + 1));
  const x = (at: number, line: number): number => place(at) + (line - (lines.length - 1) / 2) * apart;
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low));
  const every = Math.ceil(runs.length / labels);
  const worded = (last - first) / Math.max(1, runs.length - 1) >= WORD; // else the words would run into each other
  return (
    <svg class="chart-svg history-svg" viewBox={`0 0 ${width} ${HEIGHT}`} role="group" aria-label={`${named(measure)} over ${count(runs.length, "run")}`}>
      <g class="axis" aria-hidden="true">
        {ticks(low, high, TICKS).map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">{formOf(measure)(value)}</text>
          </g>
        ))}
        {runs.map((run, at) => at % every === 0 && <text key={run.id} x={place(at)} y={HEIGHT - 12} text-anchor={at === runs.length - 1 && at > 0 ? "end" : at === 0 ? "start" : "middle"}>{started(run, runs).slice(5)}</text>)}
      </g>
      {changed.map((changes, at) => at > 0 && changes !== undefined && changes.length > 0 && (
        <a key={runs[at]!.id} class="history-change" href={versus(runs, at)} aria-label={visible(`Before ${runs[at]!.title}, ${started(runs[at]!, runs)}: ${changesTold(changes)}. Compare the two runs`)}>
          <title>{visible(changesTold(changes, "\n"))}</title>
          <rect x={(place(at - 1) + place(at)) / 2 - 8} y={TOP} width={16} height={HEIGHT - TOP - BOTTOM} fill="transparent" />
          <line x1={(place(at - 1) + place(at)) / 2} x2={(place(at - 1) + place(at)) / 2} y1={TOP} y2={HEIGHT - BOTTOM} />
          {worded && changes.map(({ kind }, row) => <text key={kind} x={(place(at - 1) + place(at)) / 2 + 4} y={HEIGHT - BOTTOM - 6 - 13 * row}>{kind}</text>)}
        </a>
      ))}
      {lines.map(({ name, points }, i) => (
        <g key={name} class={strokeOf(i)}>
          {stretches(points).map((known) => <polyline key={known[0]!.at} class="history-line" points={known.map((point) => `${x(point.at, i)},${y(point.least)}`).join(" ")} />)}
          {points.map((point) => {
            const run = runs[point.at]!;
            return (
              <a key={point.at} href={write({ ...START, run: run.id })} aria-label={visible(`${run.title}, ${started(run, runs)}, ${name}: ${told(point, measure)}`)}>
                <title>{visible(`${run.title} · ${started(run, runs)}\n${name}: ${told(point, measure)}${run.tags.length > 0 ? `\n${run.tags.join(", ")}` : ""}${run.note === "" ? "" : `\n${run.note}`}${point.words === undefined ? "" : `\n${point.words}`}`)}</title>
                {point.low !== null && point.high !== null && <line class="history-reach" x1={x(point.at, i)} x2={x(point.at, i)} y1={y(point.low)} y2={y(point.high)} />}
                {isOpen(point)
                  ? <line class={run.id === own ? "history-open history-own" : "history-open"} x1={x(point.at, i)} x2={x(point.at, i)} y1={y(point.least)} y2={y(point.most)} />
                  : <circle class="history-point" cx={x(point.at, i)} cy={y(point.least)} r={run.id === own ? 7 : 5} />}
              </a>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

function Numbers({ lines, runs, changed, measure }: { lines: readonly Line[]; runs: readonly RunSummary[]; changed: Changed; measure: string }) {
  return (
    <details class="chart-numbers">
      <summary>Numbers</summary>
      <div class="chart-scroll" tabIndex={0} role="region" aria-label="Numbers of the chart">
        <table>
          <thead><tr><th>Run</th><th>Started</th>{lines.map(({ name }) => <th key={name}>{shown(name)}</th>)}<th>Changed</th></tr></thead>
          <tbody>
            {runs.map((run, at) => (
              <tr key={run.id}>
                <th scope="row"><a href={write({ ...START, run: run.id })}>{shown(run.title || run.id)}</a></th>
                <td>{started(run, runs)}</td>
                {lines.map(({ name, points }) => {
                  const point = points.find((each) => each.at === at);
                  return <td key={name}>{point === undefined ? "–" : told(point, measure)}</td>;
                })}
                <td>{(changed[at]?.length ?? 0) > 0 && <><a href={versus(runs, at)}>What changed</a>{" "}</>}{shown([changesTold(changed[at] ?? []), lines[0]?.points.find((each) => each.at === at)?.words ?? ""].filter((text) => text !== "").join("; "))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** A run compared with the one before it. */
function versus(runs: readonly RunSummary[], at: number): string {
  return write({ ...START, run: runs[at]!.id, view: "comparison", base: runs[at - 1]!.id });
}

function changesTold(changes: readonly RunChange[], between = "; "): string {
  return changes.map(({ kind, text }) => `${kind}: ${text}`).join(between);
}

function named(measure: string): string {
  if (measure.startsWith("!")) return `canaries of ${measure.slice(1)}`;
  return measure.startsWith("~") ? measure.slice(1) : measure === "passed" ? "pass rate" : measure;
}

/** Whether it is a share, which is written in per cent. */
function isShare(measure: string): boolean {
  return measure === "passed" || measure.startsWith("!");
}

function formOf(measure: string): (value: number) => string {
  if (isShare(measure)) return (value) => `${Math.round(value * 100)} %`;
  return measure === "latency" ? seconds : measure.startsWith("cost") ? money : (value) => number(Number(value.toPrecision(3)));
}

function told({ least, most, low, high }: Point, measure: string): string {
  const form = formOf(measure);
  const reach = low === null || high === null ? "" : ` [${isShare(measure) ? interval(low, high) : `${form(low)}–${form(high)}`}]`;
  return `${isShare(measure) ? percents({ least, most, low, high }) : least === most || form(least) === form(most) ? form(most) : `${form(least)}–${form(most)}`}${reach}`;
}

/** What judges said of canaries, asked for anew when a run is added; nothing while it is read. */
function useCanaries(source: DataSource, runs: readonly RunSummary[]) {
  const newest = runs.at(-1);
  const { found, problem } = useEach<readonly CanaryPoint[]>(newest === undefined ? [] : [{ key: `canaries ${keyOf(newest)}`, read: () => source.canaries?.(newest.id) }], source);
  return { found: found[0] ?? [], problem };
}

/** What each run came to; undefined while it is read. A run that has not changed is asked for once. */
function useMeasures(source: DataSource, runs: readonly RunSummary[]) {
  return useEach<readonly MeasuredColumn[]>(runs.map((run) => ({ key: keyOf(run), read: () => source.measures?.(run.id) })), source);
}

/** What is otherwise in each run than in the one before it; undefined while it is read. */
function useChanges(source: DataSource, runs: readonly RunSummary[]) {
  return useEach<readonly RunChange[]>(
    runs.map((run, at) => {
      const before = runs[at - 1];
      return before === undefined ? { key: "", read: () => Promise.resolve([]) } : { key: `${keyOf(before)} ${keyOf(run)}`, read: () => source.changes?.(run.id, before.id) };
    }),
    source,
  );
}

function keyOf(run: RunSummary): string {
  return `${run.id} ${run.totals.trials}`;
}

/** What is read one after the other, each once by its key; undefined while it is read. */
function useEach<Value>(wanted: readonly { readonly key: string; readonly read: () => Promise<Value> | undefined }[], source: DataSource) {
  const [known, set] = useState<ReadonlyMap<string, Value>>(new Map());
  const [problem, fail] = useState<Problem>();
  useEffect(() => {
    let on = true;
    const readAll = async (): Promise<void> => {
      for (const { key, read } of wanted) {
        if (known.has(key)) continue;
        const found = await read();
        if (!on || found === undefined) return;
        set((before) => new Map([...before, [key, found]]));
      }
    };
    readAll().catch((thrown: unknown) => on && fail(problemOf(thrown)));
    return () => {
      on = false;
    };
  }, [source, wanted.map(({ key }) => key).join()]);
  return { found: wanted.map(({ key }) => known.get(key)), problem };
}
