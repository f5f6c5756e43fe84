/** The page: the list of runs, or one run. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Embedded, isEmbedded } from "./data/embedded";
import { Http } from "./data/http";
import { problemOf, type Problem } from "./data/problem";
import type { DataSource, RunSummary } from "./data/source";
import { later } from "./parts/later";
import { nameWhatIsNotSeen } from "./parts/attributes";
import { startTheme } from "./parts/theme";
import { Trouble, Waiting } from "./parts/told";
import { START, useUrl, write } from "./state/url";
import { Lost } from "./views/lost";
import { RunPage } from "./views/run";
import "./style/tokens.css";
import "./style/shell.css";
import "./style/matrix.css";
import "./style/drawer.css";
import "./style/charts.css";
import "./style/print.css";

const RunList = later((live) => live.RunList);

/** A report is about one run: it opens on it, held against its baseline where it has one. */
function TheRun({ source }: { source: DataSource }) {
  const [problem, set] = useState<Problem>();
  useEffect(() => {
    const open = ([run, base]: readonly RunSummary[]): void => {
      if (run !== undefined) location.replace(write({ ...START, run: run.id, base: base?.id ?? "" })); // nothing to go back to
    };
    source.runs().then(open).catch((thrown: unknown) => set(problemOf(thrown)));
  }, [source]);
  return problem === undefined ? <Waiting>Reading the run…</Waiting> : <Trouble problem={problem} />;
}

function Page({ source }: { source: DataSource }) {
  const [state, go] = useUrl();
  if (state.lost !== "") return <Lost source={source} address={state.lost} />;
  if (state.run === "" && !source.live) return <TheRun source={source} />;
  if (state.run === "") return <RunList source={source} state={state} go={go} />;
  return <RunPage key={state.run} source={source} state={state} go={go} />;
}

startTheme();
nameWhatIsNotSeen();
const source = isEmbedded() ? new Embedded() : new Http();
render(<Page source={source} />, document.getElementById("app") ?? document.body);
