/** The list of runs: newest first, searched, and two of them chosen to be compared. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, RunSummary } from "../data/source";
import { verdictOf } from "../model/verdict";
import { Help } from "../parts/help";
import { useKeys } from "../parts/keyboard";
import { count } from "../parts/marks";
import { RunDialog } from "../parts/rundialog";
import { RunTable } from "../parts/runtable";
import { Told, Trouble, Waiting } from "../parts/told";
import { TopBar } from "../parts/topbar";
import { START, write, type Go, type RunState } from "../state/url";
import { FoundTexts } from "./found";

const AGAIN = 1000; // ms between two looks: another run may be started
const REST = 4; // times as long as the last look took

export function RunList({ source, state, go }: { source: DataSource; state: RunState; go: Go }) {
  const { runs, problem, look } = useRunList(source);
  const [edited, edit] = useState<RunSummary>();
  const [picked, pick] = useState<readonly string[]>([]);
  const [help, setHelp] = useState(false);
  useKeys({ "?": () => setHelp(true), "/": () => document.getElementById("search")?.focus() });
  useEffect(() => {
    document.title = "Runs · Evenhand";
  }, []);
  const found = useMemo(() => runs?.filter((run) => fits(run, state.q)), [runs, state.q]);
  const toggle = (id: string): void => pick(picked.includes(id) ? picked.filter((each) => each !== id) : [...picked, id].slice(-2));
  const [base, run] = pair(runs ?? [], picked);
  const texts = state.tab === "texts";
  return (
    <div class="list-page">
      <TopBar source={source} help={() => setHelp(true)} />
      <main class="list-main">
        <div class="list-head">
          <h1>Runs</h1>
          {runs !== undefined && <span class="muted">{texts || found?.length === runs.length ? count(runs.length, "run") : `${found?.length ?? 0} of ${count(runs.length, "run")}`}</span>}
          <input
            id="search" class="control list-search" type="search" placeholder={texts ? "Words, /expression/, case:" : "Search"} aria-label={texts ? "Search the texts of all runs" : "Search the runs"} value={state.q}
            onInput={(event) => go({ q: event.currentTarget.value }, true)}
          />
          <button type="button" class="button" aria-pressed={texts} onClick={() => go({ tab: texts ? "" : "texts" })}>In all texts</button>
          {!texts && <span class="list-compare">
            {run !== undefined && base !== undefined ? (
              <a class="button primary" href={write({ ...START, run: run.id, view: "comparison", base: base.id })}>Compare the two</a>
            ) : (found?.length ?? 0) > 1 && (
              <span class="muted">{picked.length === 1 ? "Tick one more run to compare" : "Tick two runs to compare them"}</span>
            )}
          </span>}
        </div>
        {problem !== undefined && <Trouble problem={problem} />}
        {found === undefined && problem === undefined && <Waiting>Reading the runs…</Waiting>}
        {runs?.length === 0 && <NoRuns />}
        {texts && runs !== undefined && <FoundTexts key={`${state.q} ${state.blind}`} source={source} runs={runs} state={state} />}
        {!texts && found !== undefined && found.length > 0 && <RunTable runs={found} picked={picked} toggle={toggle} edit={source.writable ? edit : undefined} />}
        {!texts && runs !== undefined && runs.length > 0 && found?.length === 0 && (
          <Told title="No run matches">
            <button class="button" type="button" onClick={() => go({ q: "" })}>Show all runs</button>
          </Told>
        )}
      </main>
      {edited !== undefined && <RunDialog key={edited.id} source={source} run={edited} close={() => edit(undefined)} changed={look} />}
      {help && <Help source={source} close={() => setHelp(false)} />}
    </div>
  );
}

function NoRuns() {
  return (
    <Told title="There are no runs here yet">
      <p>Make an eval that works offline, and run it:</p>
      <pre class="told-code">evenhand init demo{"\n"}cd demo{"\n"}evenhand run --offline</pre>
      <p>Runs are read from the folder in which <code>evenhand view</code> was started, in those above it and below it.</p>
    </Told>
  );
}

function useRunList(source: DataSource): { runs: readonly RunSummary[] | undefined; problem: Problem | undefined; look: () => void } {
  const [runs, set] = useState<readonly RunSummary[]>();
  const [problem, setProblem] = useState<Problem>();
  const [looks, lookAgain] = useState(0);
  useEffect(() => {
    let timer: number | undefined;
    let stopped = false;
    const look = async (): Promise<void> => {
      try {
        const started = performance.now();
        const found = await source.runs();
        if (stopped) return;
        set(found);
        setProblem(undefined);
        clearTimeout(timer);
        if (source.live && document.visibilityState === "visible") timer = setTimeout(() => void look(), Math.max(AGAIN, REST * (performance.now() - started)));
      } catch (thrown) {
        if (!stopped) setProblem(problemOf(thrown));
      }
    };
    const back = (): void => {
      if (document.visibilityState === "visible" && source.live) void look();
    };
    void look();
    document.addEventListener("visibilitychange", back);
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", back);
    };
  }, [source, looks]);
  return { runs, problem, look: () => lookAgain((n) => n + 1) };
}

function fits(run: RunSummary, query: string): boolean {
  const text = [run.title, run.source, run.id, verdictOf(run)[1], run.status, run.note, ...run.tags].join(" ").toLowerCase();
  return query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** The older of the two is what the newer is compared with. */
function pair(runs: readonly RunSummary[], picked: readonly string[]): (RunSummary | undefined)[] {
  const two = runs.filter(({ id }) => picked.includes(id)).sort((a, b) => a.created_at - b.created_at);
  return two.length === 2 ? two : [];
}
