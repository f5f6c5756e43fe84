/** Tabs: one list that the arrow keys go through, and the panel of the chosen one. */
import type { ComponentChildren } from "preact";

export interface Tab {
  readonly id: string;
  readonly name: string;
  /** Beside the name, e.g. `2/3`. */
  readonly note?: string;
}

export function Tabs(p: { tabs: readonly Tab[]; chosen: string; choose: (id: string) => void; children: ComponentChildren }) {
  const at = Math.max(0, p.tabs.findIndex(({ id }) => id === p.chosen));
  const key = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step === undefined ? undefined : p.tabs[(at + step + p.tabs.length) % p.tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    p.choose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="What is shown of the cell" onKeyDown={key}>
        {p.tabs.map(({ id, name, note }, i) => (
          <button
            key={id} id={`tab-${id}`} type="button" role="tab" class="tab" aria-selected={i === at} aria-controls="drawer-panel"
            tabIndex={i === at ? 0 : -1} onClick={() => p.choose(id)}
          >
            {name}
            {note !== undefined && <span class="tab-note">{note}</span>}
          </button>
        ))}
      </div>
      <div class="drawer-panel" id="drawer-panel" role="tabpanel" aria-labelledby={`tab-${p.tabs[at]?.id ?? ""}`} tabIndex={0}>
        {p.children}
      </div>
    </>
  );
}
