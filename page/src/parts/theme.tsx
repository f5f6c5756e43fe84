/** Light, dark, or as the system has it. The choice is kept in this browser where it can be kept. */
import { useEffect, useState } from "preact/hooks";

type Theme = "system" | "light" | "dark";

const KEPT = "evenhand.theme";
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const WORDS: Readonly<Record<Theme, string>> = { system: "Auto", light: "Light", dark: "Dark" };
const dark = matchMedia("(prefers-color-scheme: dark)");

function kept(): Theme {
  try {
    const value = localStorage.getItem(KEPT);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system"; // a page from file:// may have no storage
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // then it holds until the page is closed
  }
}

function apply(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
}

/** To be called once, before anything is drawn. */
export function startTheme(): void {
  apply(kept());
}

export function ThemeSwitch() {
  const [theme, set] = useState(kept);
  useEffect(() => {
    const follow = (): void => apply(theme);
    follow();
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, [theme]);
  const choose = (): void => {
    keep(NEXT[theme]);
    set(NEXT[theme]);
  };
  return (
    <button class="button quiet" type="button" onClick={choose} title="Light, dark, or the system's setting (auto)">
      <span class="topbar-colours">Theme: </span>{WORDS[theme]}
    </button>
  );
}
