/** How wide somebody has made the matrix's columns, by name. It is kept in this browser, for all runs that have such columns. */
import { useState } from "preact/hooks";

const KEPT = "evenhand.widths";
const MOST = 300; // columns that are remembered
export const NARROWEST = 96;
export const WIDEST = 1200;

export type Widths = Readonly<Record<string, number>>;

/** Sets a column's width in pixels; undefined gives it back its own. */
export type SetWidth = (column: string, width: number | undefined) => void;

export function useWidths(): [Widths, SetWidth] {
  const [widths, set] = useState<Widths>(read);
  const change: SetWidth = (column, width) =>
    set((before) => {
      const { [column]: _, ...rest } = before;
      const bounded = width === undefined ? undefined : Math.round(Math.max(NARROWEST, Math.min(WIDEST, width)));
      const after = bounded === undefined ? rest : { ...rest, [column]: bounded };
      try {
        localStorage.setItem(KEPT, JSON.stringify(Object.fromEntries(Object.entries(after).slice(-MOST))));
      } catch {
        // without storage it holds until the page is closed
      }
      return after;
    });
  return [widths, change];
}

function read(): Widths {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    if (typeof kept !== "object" || kept === null) return {};
    return Object.fromEntries(Object.entries(kept).filter(([, width]) => typeof width === "number" && width >= NARROWEST && width <= WIDEST)) as Widths;
  } catch {
    return {};
  }
}
