/** What somebody prefers, yes or no, in this browser. */
import { useState } from "preact/hooks";

export function useKept(name: "plain" | "apart"): [boolean, (on: boolean) => void] {
  const key = `evenhand.${name}`;
  const [on, set] = useState(() => stored(key));
  const keep = (next: boolean): void => {
    set(next);
    try {
      if (next) localStorage.setItem(key, "1");
      else localStorage.removeItem(key);
    } catch {
      // without storage it holds until the page is closed
    }
  };
  return [on, keep];
}

function stored(key: string): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}
