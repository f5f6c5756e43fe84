/** Which metrics of a run somebody labels without a written rule: kept in this browser, so that it is asked for once. */
import { useState } from "preact/hooks";

const KEPT = "evenhand.unruled";
const MOST = 100; // that are remembered

export function useUnruled(run: string): readonly [without: (metric: string) => boolean, leave: (metric: string) => void] {
  const [names, set] = useState(read);
  const key = (metric: string): string => `${run} ${metric}`;
  const leave = (metric: string): void => {
    const after = [...names, key(metric)].slice(-MOST);
    set(after);
    try {
      localStorage.setItem(KEPT, JSON.stringify(after));
    } catch {
      // without storage it holds until the page is closed
    }
  };
  return [(metric) => names.includes(key(metric)), leave];
}

function read(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((name): name is string => typeof name === "string") : [];
  } catch {
    return [];
  }
}
