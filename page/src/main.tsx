/** The page: the list of runs, or one run. */
import { render } from "preact";
import { Embedded, isEmbedded } from "./data/embedded";
import { Http } from "./data/http";
import type { DataSource } from "./data/source";
import { startTheme } from "./parts/theme";
import { useUrl } from "./state/url";
import { RunPage } from "./views/run";
import { RunList } from "./views/runs";
import "./style/tokens.css";
import "./style/shell.css";
import "./style/matrix.css";
import "./style/drawer.css";
import "./style/charts.css";

function Page({ source }: { source: DataSource }) {
  const [state, go] = useUrl();
  if (state.run === "") return <RunList source={source} state={state} go={go} />;
  return <RunPage key={state.run} source={source} state={state} go={go} />;
}

startTheme();
const source = isEmbedded() ? new Embedded() : new Http();
render(<Page source={source} />, document.getElementById("app") ?? document.body);
