/** An address that means nothing: what was probably meant. */
import type { DataSource } from "../data/source";
import { Told } from "../parts/told";
import { shown } from "../parts/text";
import { TopBar } from "../parts/topbar";
import { read, START, write } from "../state/url";

export function Lost({ source, address }: { source: DataSource; address: string }) {
  const meant = read(meaning(address));
  const run = meant.lost === "" ? meant.run : "";
  return (
    <div class="list-page">
      <TopBar source={source} />
      <main class="list-main">
        <h1 class="unseen">Unknown address</h1>
        <Told title="There is nothing at this address">
          <p><code>#{shown(address)}</code> is neither the list of runs nor a run. A view of a run is written <code>?view=charts</code>.</p>
          {run !== "" && <p><a href={write(meant)}>{meant.view === START.view ? "Open the run" : `Open the ${meant.view} of the run`}</a></p>}
          <p><a href="#/">{source.live ? "List of runs" : "The run of this report"}</a></p>
        </Told>
      </main>
    </div>
  );
}

/** The address with the words behind the run's id taken for a view: `/run/ID/charts`, `/runs/ID`. */
function meaning(address: string): string {
  const [, run = "", view = "", query = ""] = /^\/runs?\/([^/?]+)(?:\/([^/?]*))?[^?]*(?:\?(.*))?$/s.exec(address) ?? [];
  const values = new URLSearchParams(query);
  if (view !== "") values.set("view", view);
  return `#/run/${run}?${values}`;
}
