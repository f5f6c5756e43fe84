/** Whether links and pictures in the outputs of a run have been asked for: run by run, for as long as the tab is open. */
import { createContext } from "preact";
import { useState } from "preact/hooks";

const KEPT = "evenhand.opened";

export interface Opened {
  readonly on: boolean;
  readonly turn: (on: boolean) => void;
}

/** Where nobody can ask, nothing is shown. */
export const OpenedContext = createContext<Opened>({ on: false, turn: () => undefined });

export function useOpened(run: string): Opened {
  const [runs, set] = useState<readonly string[]>(read);
  return {
    on: runs.includes(run),
    turn: (on) => {
      const after = [...runs.filter((each) => each !== run), ...(on ? [run] : [])];
      set(after);
      try {
        sessionStorage.setItem(KEPT, JSON.stringify(after));
      } catch {
        // without storage it holds until the page is loaded again
      }
    },
  };
}

function read(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((run): run is string => typeof run === "string") : [];
  } catch {
    return [];
  }
}
