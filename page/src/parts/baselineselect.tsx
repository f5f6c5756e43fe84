/** Which run this one is held against. */
import type { Head, RunSummary } from "../data/source";
import { baselines, runWords } from "../model/runs";
import type { Go } from "../state/url";

interface Props {
  readonly head: Head;
  readonly runs: readonly RunSummary[];
  readonly base: string;
  readonly go: Go;
  /** What is chosen with no run. */
  readonly none: string;
}

export function BaselineSelect({ head, runs, base, go, none }: Props) {
  const groups = baselines(head, runs);
  const missing = base !== "" && !groups.some(([, of]) => of.some(({ id }) => id === base));
  return (
    <select id="baseline" class="control" aria-label="Baseline" value={base} onChange={(event) => go({ base: event.currentTarget.value })}>
      <option value="">{none}</option>
      {missing && <option value={base}>{`vs ${base}`}</option>}
      {groups.map(([group, of]) => (
        <optgroup key={group} label={group}>
          {of.map((run) => <option key={run.id} value={run.id}>{`vs ${runWords(run, runs)}`}</option>)}
        </optgroup>
      ))}
    </select>
  );
}
