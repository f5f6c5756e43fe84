/** The uppermost line of every view. */
import type { ComponentChildren } from "preact";
import type { DataSource } from "../data/source";
import { ThemeSwitch } from "./theme";

export function TopBar({ source, children, help }: { source: DataSource; children?: ComponentChildren; help: () => void }) {
  return (
    <header class="topbar">
      <a class="brand" href="#/" title={source.live ? "List of runs (g r)" : "This run, as the report opens (g r)"}>Evenhand</a>
      {children}
      <span class="topbar-end">
        {!source.live && <span class="topbar-note">report in one file</span>}
        <button class="button quiet topbar-keys" type="button" onClick={help} title="Keys (?)">Keys</button>
        <ThemeSwitch />
      </span>
    </header>
  );
}
