/** One run. */
import type { DataSource } from "../data/source";
import type { Go, RunState } from "../state/url";
import { useRun } from "../state/run";
import { Charts } from "./charts";
import { ComparisonView } from "./comparison";
import { Drawer } from "./drawer";

export function RunPage({ source, state, go }: { source: DataSource; state: RunState; go: Go }) {
  const { head, table, progress, problem } = useRun(source, state.run);
  if (problem !== undefined) return <p class="problem">{problem.message}</p>;
  if (head === undefined || table === undefined) return <p class="quiet-line">Reading the run…</p>;
  return (
    <main class="page" data-cells={progress.cells}>
      <h1>{head.title}</h1>
      <button class="button" type="button" onClick={() => go({ cell: 0 })}>open the first cell</button>
      {state.view === "charts" && (
        <Charts head={head} table={table} chosen={new Uint8Array(table.size).fill(1)} go={go} state={state} />
      )}
      {state.view === "comparison" && (
        <ComparisonView source={source} head={head} table={table} state={state} go={go} runs={[]} />
      )}
      {state.cell !== undefined && (
        <Drawer
          source={source} head={head} table={table} index={state.cell} tab={state.tab} blind={state.blind} go={go}
          author="me" labelled={() => undefined}
        />
      )}
    </main>
  );
}
