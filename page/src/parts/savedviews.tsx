/** Views under a name: what the address says, for any run of the same config or set. */
import { useState } from "preact/hooks";
import type { DataSource, SavedView } from "../data/source";
import { useRead } from "../state/read";
import { read as stateOf, write, type RunState } from "../state/url";
import { Menu } from "./menu";
import { shown } from "./text";

export function SavedViews({ source, run, state }: { source: DataSource; run: string; state: RunState }) {
  const [name, setName] = useState("");
  const [todo, save] = useState<readonly (readonly [name: string, state: string | null])[]>([]);
  /** Does the last, and reads what there is then. */
  const read = async (): Promise<readonly SavedView[]> => {
    const last = todo.at(-1);
    if (last !== undefined) await source.saveView!(run, { name: last[0], state: last[1] });
    return source.savedViews!(run);
  };
  const [views, told] = useRead(read, `${run} ${todo.length}`);
  const now = write({ ...state, run: "", cell: undefined, tab: "", col: undefined, blind: false });
  return (
    <Menu name={<>Saved<span class="unseen"> views</span></>} title="What is shown, under a name">
      {told}
      {views?.map((view) => (
        <div key={view.name} class="saved">
          <a href={write({ ...stateOf(view.state), run, blind: state.blind })}>{shown(view.name)}</a>
          {source.writable && <button type="button" class="button quiet small" onClick={() => save([...todo, [view.name, null]])}>Delete<span class="unseen"> {shown(view.name)}</span></button>}
        </div>
      ))}
      {source.writable ? <form
        class="saved"
        onSubmit={(event) => {
          event.preventDefault();
          save([...todo, [name, now]]);
          setName("");
        }}
      >
        <input class="control" aria-label="Name for this view" placeholder="Name for this view" maxLength={80} required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        <button class="button">Save</button>
      </form> : views?.length === 0 && "None yet"}
    </Menu>
  );
}
