/** Views under a name: what the address says, for any run of the same config or set. */
import { useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, SavedView } from "../data/source";
import { useRead } from "../state/read";
import { read as stateOf, write, type RunState } from "../state/url";
import { Menu } from "./menu";
import { shown } from "./text";
import { TroubleLine } from "./told";

export function SavedViews({ source, run, state }: { source: DataSource; run: string; state: RunState }) {
  const [name, setName] = useState("");
  const [todo, save] = useState<readonly Parameters<NonNullable<DataSource["saveView"]>>[1][]>([]);
  const [problem, fail] = useState<Problem>();
  /** Does the last, and reads what there is then. */
  const read = async (): Promise<readonly SavedView[]> => {
    const last = todo.at(-1);
    if (last !== undefined) await source.saveView!(run, last).then(() => fail(undefined), (thrown: unknown) => fail(problemOf(thrown)));
    return source.savedViews!(run);
  };
  const [views, told] = useRead(read, `${run} ${todo.length}`);
  const put = (called: string, what: string | null): void => {
    const as = called.trim().replace(/\s+/g, " ");
    save([...todo, { name: as, state: what, was: views?.find((view) => view.name === as)?.state ?? null }]);
  };
  const now = write({ ...state, run: "", cell: undefined, tab: "", col: undefined, blind: false });
  return (
    <Menu name={<>Saved<span class="unseen"> views</span></>} title="What is shown, under a name">
      {told}
      <TroubleLine problem={problem} />
      {views?.map((view) => (
        <div key={view.name} class="saved">
          <a href={write({ ...stateOf(view.state), run, blind: state.blind })}>{shown(view.name)}</a>
          {source.writable && <button type="button" class="button quiet small" onClick={() => put(view.name, null)}>Delete<span class="unseen"> {shown(view.name)}</span></button>}
        </div>
      ))}
      {source.writable ? <form
        class="saved"
        onSubmit={(event) => {
          event.preventDefault();
          put(name, now);
          setName("");
        }}
      >
        <input class="control" aria-label="Name for this view" placeholder="Name for this view" maxLength={80} required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <button class="button">Save</button>
      </form> : views?.length === 0 && "None yet"}
    </Menu>
  );
}
