/** Keeps the matrix where it was scrolled to, and starts at the top of what has not been looked at yet. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Table } from "../model/table";
import { keepPlace, placeOf } from "../state/places";
import type { Virtual } from "./virtual";

interface Given {
  /** Names what is shown, and in which order. */
  readonly list: string;
  /** Whether all of it is there. */
  readonly ready: boolean;
  readonly rowHeight: number;
  readonly table: Table;
  readonly order: Int32Array;
  readonly virtual: Pick<Virtual, "at" | "scrollTo">;
}

/** Gives what every scroll calls. */
export function usePlace({ list, ready, rowHeight, table, order, virtual }: Given): () => void {
  const shown = useRef({ list: "", rowHeight, done: true });
  useLayoutEffect(() => {
    const before = shown.current;
    if (before.list !== list && before.list !== "") virtual.scrollTo(0);
    const done = before.done && before.list === list && before.rowHeight === rowHeight;
    shown.current = { list, rowHeight, done };
    if (done) return;
    const place = placeOf(list);
    const row = place === undefined ? -1 : order.findIndex((each) => table.rows[each]!.number === place.number);
    if (place !== undefined && row >= 0) virtual.scrollTo(row + place.part);
    shown.current.done = ready || row >= 0 || place === undefined;
  }, [list, rowHeight, ready, order]);
  return () => {
    if (shown.current.list !== list || !shown.current.done) return;
    const top = virtual.at();
    const row = table.rows[order[Math.floor(top)] ?? -1];
    if (row !== undefined) keepPlace(list, { number: row.number, part: top % 1 });
  };
}
