/** What the keys do. */
import { useEffect, useRef } from "preact/hooks";

const KEYS: readonly (readonly [group: string, readonly (readonly [keys: string, what: string])[]])[] = [
  ["Go", [
    ["j k", "next, previous case"],
    ["J K", "next, previous failure"],
    ["h l", "variant to the left, to the right"],
    ["[ ]", "previous, next repeat"],
    ["Enter", "open the cell"],
    ["Esc", "close"],
    ["g r", "list of runs"],
    ["g m", "matrix"],
    ["g c", "charts"],
  ]],
  ["Look", [
    ["/", "filter"],
    ["d", "difference from what was expected"],
    ["b", "difference from the baseline"],
    ["?", "this help"],
  ]],
  ["Label", [
    ["p f", "pass, fail"],
    ["1 … 5", "rating"],
    ["s", "star"],
    ["n", "write a note; Enter keeps it, Shift+Enter breaks the line"],
    ["u", "take the last back"],
  ]],
];

export function Help({ close }: { close: () => void }) {
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
        {KEYS.map(([group, keys]) => (
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
