/** One run: what it came to, and its views. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { about, different, Problem } from "../data/problem";
import type { DataSource, Head, RunSummary } from "../data/source";
import { snapshot } from "../model/snapshot";
import { onlyRanked, summaries as summariesOf } from "../model/summary";
import type { Table } from "../model/table";
import { isOver, OVER_RUNS } from "../model/overruns";
import { visible } from "../model/visible";
import { useAuthor } from "../parts/author";
import { Help } from "../parts/help";
import { later } from "../parts/later";
import { Hint, useHint } from "../parts/hint";
import { useKeys } from "../parts/keyboard";
import { ReviewLine } from "../parts/labels";
import { RunTitle, RunTotals } from "../parts/runheader";
import { Told, Trouble, TroubleLine, Waiting } from "../parts/told";
import { TopBar } from "../parts/topbar";
import { useBaseline } from "../state/baseline";
import { useRunLabels } from "../state/labelled";
import { useLate } from "../state/late";
import { OpenedContext, useOpened } from "../state/opened";
import { useRun, type Progress } from "../state/run";
import { useSelection } from "../state/selection";
import { useTools } from "../state/tools";
import { START, write, type Go, type RunState, type View } from "../state/url";
import { About } from "./about";
import { Charts } from "./charts";
import { ComparisonView } from "./comparison";
import { Drawer } from "./drawer";
import { MatrixView, Reading } from "./matrixview";
import { SummaryView } from "./summary";

interface Props {
  readonly source: DataSource;
  readonly state: RunState;
  readonly go: Go;
}

const SavedViews = later((live) => live.SavedViews, null);
const LabelView = later((live) => live.LabelView);
const ReviewView = later((live) => live.ReviewView);
const OverRuns = later((live) => live.OverRuns);

export function RunPage({ source, state, go }: Props) {
  const { head: read, table, progress, problem, missed } = useRun(source, state.run);
  const head = useMemo(() => (read?.alive && table !== undefined && progress.done ? snapshot(read, table) : read), [read, table, progress]);
  const ranked = useMemo(() => head !== undefined && table !== undefined && progress.done && onlyRanked(head, table, table.index.keys()), [head, table, progress]);
  const [help, setHelp] = useState(false);
  const tools = useTools();
  useKeys({
    "?": () => setHelp(true),
    "/": () => {
      if (!tools.folded) return focusOn("filter"); // at once: what is typed next belongs there
      tools.fold(false);
      requestAnimationFrame(() => focusOn("filter"));
    },
    "g r": () => (source.live ? go({ ...START }) : false),
    "g m": () => go({ view: "matrix" }),
    "g l": () => (source.writable ? go({ view: "label" }) : false),
    "g w": () => (source.writable ? go({ view: "review" }) : false),
    "g s": () => go({ view: "summary" }),
    "g c": () => go({ view: "charts" }),
    "g v": () => go({ view: "comparison" }),
    "g h": () => (source.live ? go({ view: "history" }) : false),
    "g a": () => go({ view: "about" }),
  });
  useEffect(() => {
    if (head !== undefined && head.id !== state.run) go({ run: head.id }, true); // it was named by the start of its id
  }, [head?.id, state.run]);
  useEffect(() => {
    const view = [...VIEWS, ...OVER_RUNS].find(([each]) => each === state.view && each !== "matrix")?.[1];
    if (head !== undefined) document.title = [view, visible(head.title || head.id), "Evenhand"].filter((part) => part !== undefined).join(" · ");
  }, [head, state.view]);
  const trouble = problem !== undefined && <Trouble problem={problem}><a href="#/">{source.live ? "Back to the list of runs" : "The run of this report"}</a></Trouble>;
  return (
    <div class={`run-page${tools.low ? " low" : ""}${tools.folded ? " folded" : ""}`}>
      <button type="button" class="button skip" onClick={() => document.querySelector<HTMLElement>("[role=grid], .page-scroll :is(a, button, input, select)")?.focus()}>Skip to the results</button>
      <TopBar source={source} help={() => setHelp(true)} tools={tools}>{head !== undefined && <RunTitle head={head} blind={state.blind || state.view === "label" || state.view === "review"} ranked={ranked} />}</TopBar>
      {trouble !== false && (head === undefined ? <main class="run-main"><h1 class="unseen">The run cannot be shown</h1>{trouble}</main> : trouble)}
      {head === undefined && problem === undefined && <Waiting>Reading the run…</Waiting>}
      {head !== undefined && table !== undefined && <Views source={source} state={state} go={go} head={head} table={table} progress={progress} missed={missed} ranked={ranked} />}
      {help && <Help source={source} close={() => setHelp(false)} />}
    </div>
  );
}

interface ViewsProps extends Props {
  readonly head: Head;
  readonly table: Table;
  readonly progress: Progress;
  readonly missed: Problem | undefined;
  readonly ranked: boolean;
}

function Views({ source, state, go, head, table, progress, missed, ranked }: ViewsProps) {
  const labels = useRunLabels(source, head.id, table, progress, state.view);
  const [named, rename] = useAuthor("me");
  const [author, name] = source.person === undefined ? [named, rename] : [source.person];
  const [noting, note] = useState(false);
  const opened = useOpened(head.id);
  const [hint, say] = useHint();
  const first = (what: string) => (): boolean => {
    if (state.cell !== undefined || state.view !== "matrix") return false;
    say(`Open a cell first, with Enter: this key shows ${what}.`);
    return true;
  };
  useKeys({ d: first("how its output differs from what was expected"), b: first("how its output differs from the baseline's"), c: first("its output beside another column's") });
  const [runs, unlisted] = useRuns(source);
  const against = useBaseline(source, head, table, progress.done, state.base);
  const awaited = state.base !== "" && against.baseline === undefined && against.problem === undefined;
  const selection = useSelection({ source, head, table, progress, state, baseline: against.baseline, awaited });
  const { rows, waiting, failure } = selection;
  const summaries = useLate(() => (table.size === 0 || !progress.done || waiting || failure !== undefined ? [] : summariesOf(table, head.columns, rows, head.status === "decided" && !head.sample)), [table, head, rows, progress, waiting, failure], []);
  const shownTrials = useMemo(() => trialsOf(table, rows, state.hide), [table, rows, state.hide.join()]);
  const blindly = state.view === "label" || state.view === "review";
  const hidden = state.blind && state.view !== "matrix" && !blindly;
  const troubles = [
    missed,
    !state.blind && (state.view === "matrix" || state.view === "comparison" || isOver(state.view)) ? unlisted : undefined,
    state.view === "matrix" ? against.problem : undefined,
    state.cell === undefined ? labels.problem : undefined,
  ];
  return (
    <main class="run-main">
      <RunTotals head={head} blind={state.blind || blindly} live={source.live} ranked={ranked}>{source.savedViews !== undefined && <SavedViews source={source} run={head.id} state={state} />}</RunTotals>
      <Tabs state={state} live={source.live} writable={source.writable} judged={source.writable && (head.judged.length > 0 || head.rankings.length > 0)} />
      {different(troubles).map((each) => <TroubleLine key={each.message} problem={each} />)}
      {head.review !== null && state.view === "matrix" && <ReviewLine review={head.review} labels={labels.all} />}
      {state.view === "matrix" && (
        <MatrixView
          source={source} head={head} table={table} progress={progress} state={state} go={go} selection={selection} summaries={summaries}
          baseline={against.baseline} awaited={awaited} ranked={ranked} runs={runs} labels={labels} author={author} note={() => note(true)}
        />
      )}
      <div class={state.view === "matrix" ? "unused" : "page-scroll"} aria-busy={!progress.done}>
        {hidden && <Hidden state={state} />}
        {!hidden && !progress.done && (state.view === "charts" || state.view === "comparison") && <Reading head={head} progress={progress} />}
        {!hidden && state.view === "charts" && !progress.done && table.size === 0 && <Waiting>Reading the run…</Waiting>}
        {!hidden && state.view === "charts" && (progress.done || table.size > 0) && <Charts head={head} table={table} chosen={shownTrials} selection={selection} go={go} state={state} />}
        {blindly && source.live && !source.writable && <Told title="Your role lets you read, but not label"><a href={write({ ...state, view: "matrix" })}>Matrix</a></Told>}
        {state.view === "label" && source.live && source.writable && <LabelView source={source} run={head.id} author={author} name={name} outputs={head.judged.length > 0} rankings={head.rankings} md={state.md} setMd={(md) => go({ md }, true)} />}
        {state.view === "review" && source.live && source.writable && <ReviewView source={source} run={head.id} author={author} name={name} md={state.md} setMd={(md) => go({ md }, true)} />}
        {!hidden && state.view === "summary" && <SummaryView source={source} head={head} table={table} state={state} />}
        {!hidden && state.view === "comparison" && <ComparisonView head={head} table={table} against={against} state={state} go={go} runs={runs} listed={unlisted === undefined} />}
        {!hidden && isOver(state.view) && source.live && <OverRuns source={source} head={head} runs={runs} state={state} go={go} />}
        {(isOver(state.view) || blindly) && !source.live && <Told title={blindly ? "A report cannot be labelled" : "A report has no history"}><p>It holds one run. <code>evenhand view</code> shows it with all others.</p></Told>}
        {!hidden && state.view === "about" && <About head={head} />}
      </div>
      {state.cell !== undefined && progress.done && table.at(state.cell) < 0 && <TroubleLine problem={new Problem(`there is no trial ${state.cell} here`, head.alive ? "It may not be settled yet." : "")} />}
      {state.cell !== undefined && table.at(state.cell) >= 0 && (
        <OpenedContext.Provider value={opened}>
        <Drawer
          source={source} head={head} table={table} index={state.cell} tab={state.tab} wide={state.wide} blind={state.blind} go={go}
          labels={labels} author={author} name={name} noting={noting} note={note} say={say} awaited={awaited}
          {...(against.baseline === undefined ? {} : { baseline: against.baseline })}
        />
        </OpenedContext.Provider>
      )}
      <Hint text={hint} />
    </main>
  );
}

const VIEWS: readonly (readonly [View, string])[] = [["matrix", "Matrix"], ["label", "Label"], ["review", "Review"], ["summary", "Summary"], ["charts", "Charts"], ["comparison", "Comparison"], ["history", "History"], ["about", "About"]];

/** In place of a view that is about what is hidden. */
function Hidden({ state }: { state: RunState }) {
  return (
    <Told title="Hidden while you label blind">
      <p>This view names variants and verdicts.</p>
      <p><a href={write({ ...state, view: "matrix" })}>Continue labelling</a>, or <a href={write({ ...state, blind: false })}>end it and see the view</a>.</p>
    </Told>
  );
}

/** Blind, only the matrix is told of. */
function Tabs({ state, live, judged, writable }: { state: RunState; live: boolean; judged: boolean; writable: boolean }) {
  const views = VIEWS.filter(([view]) => (live || view !== "history") && (view !== "label" || (live && judged)) && (view !== "review" || (live && writable)) && (!state.blind || view === "matrix" || view === state.view));
  return (
    <nav class="views" aria-label="Views of this run">
      {views.map(([view, words]) => (
        <a key={view} class="view-tab" href={write({ ...state, view, cell: undefined })} aria-current={state.view === view || (view === "history" && isOver(state.view)) ? "page" : undefined}>{words}</a>
      ))}
    </nav>
  );
}

/** The runs that could be a baseline, or why they are not known. */
function useRuns(source: DataSource): readonly [runs: readonly RunSummary[], problem: Problem | undefined] {
  const [runs, set] = useState<readonly RunSummary[]>([]);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => void source.runs().then(set, (thrown: unknown) => setProblem(about("the list of runs could not be read", thrown))), [source]);
  return [runs, problem];
}

/** By trial: 1 for those of the shown rows in the shown columns. */
function trialsOf(table: Table, rows: Uint8Array, hide: readonly number[]): Uint8Array {
  const hidden = new Set(hide);
  const found = new Uint8Array(table.size);
  for (let i = 0; i < found.length; i++) if (rows[table.row[i]!] === 1 && !hidden.has(table.variant[i]!)) found[i] = 1;
  return found;
}

function focusOn(id: string): boolean {
  const field = document.getElementById(id);
  field?.focus();
  return field !== null;
}
