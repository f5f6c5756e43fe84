/** What the keys do. */
import { useEffect, useRef } from "preact/hooks";
import type { DataSource } from "../data/source";

type Group = readonly [name: string, keys: readonly (readonly [keys: string, what: string])[]];

const KEYS: readonly Group[] = [
  ["Go", [
    ["j k", "next, previous case"],
    ["J K", "next, previous failure"],
    ["x X", "next, previous trial on which judge and people differ"],
    ["h l", "variant to the left, to the right"],
    ["[ ]", "previous, next repeat"],
    ["Enter", "open the cell"],
    ["Esc", "close"],
    ["g r", "list of runs"],
    ["g m", "matrix"],
    ["g l", "label a random draw"],
    ["g w", "review a random draw: pass or fail, and a note"],
    ["g s", "summary: requirements, tags, labels"],
    ["g c", "charts"],
    ["g v", "comparison"],
    ["g h", "history: the runs of the same source"],
    ["g a", "about the run"],
  ]],
  ["Look", [
    ["/", "filter"],
    ["r", "read: the cell in the whole window"],
    ["c", "beside another column's output"],
    ["d", "difference from what was expected"],
    ["b", "difference from the baseline"],
    [", .", "previous, next difference, step or turn"],
    ["< >", "previous, next step that failed"],
    ["Ctrl P", "print, with all rows"],
    ["?", "this help"],
  ]],
  ["Label", [
    ["p f", "pass, fail"],
    ["1 … 5", "rating"],
    ["s", "star"],
    ["+ -", "keep or leave out a trace that was drawn for a dataset"],
    ["n", "write a note; Enter keeps it, Shift+Enter breaks the line"],
    ["u", "undo the last one"],
  ]],
];

/** What has a meaning there: a report in one file has no list of runs, and cannot be labelled. */
function keysOf({ live, writable }: DataSource): readonly Group[] {
  return KEYS.filter(([group]) => writable || group !== "Label").map(([group, keys]) => [group, keys.filter(([key]) => (live || (key !== "g r" && key !== "g h")) && (writable || (key !== "g l" && key !== "g w")))]);
}

export function Help({ source, close }: { source: DataSource; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    if (current !== null && !current.open) current.showModal();
  }, []);
  return (
    <dialog
      ref={dialog} class="help" aria-labelledby="help-title" onClose={close}
      onKeyDown={(event) => event.stopPropagation()}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="help-inner">
        <header>
          <h2 id="help-title">Keys</h2>
          <button type="button" class="button quiet" onClick={() => dialog.current?.close()}>Close</button>
        </header>
        {keysOf(source).map(([group, keys]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>{key.split(" ").map((one, i) => (one === "…" ? " … " : <kbd key={i}>{one}</kbd>))}</dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}
