/** The uppermost line of every view. */
import type { ComponentChildren } from "preact";
import type { DataSource } from "../data/source";
import type { Tools } from "../state/tools";
import { shown } from "./text";
import { ThemeSwitch } from "./theme";

interface Props {
  readonly source: DataSource;
  readonly children?: ComponentChildren;
  readonly help?: () => void;
  /** What is folded on a low screen. */
  readonly tools?: Tools;
}

export function TopBar({ source, children, help, tools }: Props) {
  return (
    <header class="topbar">
      <a class="brand" href="#/" title={source.live ? "List of runs (g r)" : "This run, as the report opens (g r)"}>Evenhand</a>
      {children}
      <span class="topbar-end">
        {tools?.low && (
          <button class="button small" type="button" aria-expanded={!tools.folded} title="Totals, views, filter and order" onClick={() => tools.fold(!tools.folded)}>
            {tools.folded ? "Tools" : "Fewer tools"}
          </button>
        )}
        {!source.live && <span class="topbar-note">report in one file</span>}
        {source.person !== undefined && <span class="topbar-note topbar-person" title={source.person}>{shown(source.person)}</span>}
        {source.person !== undefined && !source.writable && <span class="topbar-note" title="You can read runs here, but not label them">reads only</span>}
        {source.signOut && <button class="button quiet" type="button" title={`Signed in as ${source.person}`} onClick={() => void (source.signOut as () => Promise<void>)()}>Sign out</button>}
        {help !== undefined && <button class="button quiet topbar-keys" type="button" onClick={help} title="Keys (?)">Keys</button>}
        <ThemeSwitch />
      </span>
    </header>
  );
}
