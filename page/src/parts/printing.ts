/** Printing the matrix: all rows have to be drawn, with their outputs, before the browser takes a look. */
import { options } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

const MOST = 500; // rows
const CELLS = 3_600; // of which outputs are remembered at once

/** How many of the rows are printed. */
export function printedRows(rows: number, columns: number): number {
  return Math.min(rows, MOST, Math.max(1, Math.floor(CELLS / Math.max(1, columns))));
}

/**
 * Whether the page is being printed. Ctrl-P waits until everything is there; the browser's own menu prints what is.
 *
 * @param complete Whether all outputs that are printed have come.
 */
export function usePrinting(complete: () => boolean): boolean {
  const [printing, set] = useState<"no" | "asked" | "now">("no");
  useLayoutEffect(() => {
    const before = (): void => {
      const usual = options.debounceRendering;
      options.debounceRendering = (draw) => draw(); // the browser does not wait
      set("now");
      if (usual === undefined) delete options.debounceRendering;
      else options.debounceRendering = usual;
    };
    const after = (): void => set("no");
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
      event.preventDefault();
      set("asked");
    };
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    addEventListener("keydown", press);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
      removeEventListener("keydown", press);
    };
  }, []);
  useEffect(() => {
    if (printing !== "asked" || !complete()) return;
    set("now");
    requestAnimationFrame(() => window.print());
  });
  return printing !== "no";
}
