/** The list of runs. */
import type { DataSource } from "../data/source";
import type { Go, RunState } from "../state/url";

export function RunList(_: { source: DataSource; state: RunState; go: Go }) {
  return <main class="page" />;
}
