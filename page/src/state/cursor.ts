/** The cell that the keyboard is at: moved by keys, clicks and swipes; with an open drawer, the drawer goes along. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Column } from "../model/columns";
import { isDisputed } from "../model/judges";
import { ERROR, FAIL, type Table } from "../model/table";
import { useKeys } from "../parts/keyboard";
import { cellId, shownTrial } from "../parts/matrixrow";
import type { Go, RunState } from "./url";

interface Given {
  readonly table: Table;
  readonly order: Int32Array;
  readonly chosen: Uint8Array;
  readonly columns: readonly Column[];
  readonly state: RunState;
  readonly go: Go;
  readonly box: { current: HTMLDivElement | null };
  readonly reveal: (row: number, column: number) => void;
  /** Goes to the column beside, where only one is shown. */
  readonly step: ((by: 1 | -1) => void) | undefined;
}

export interface Cursor {
  /** The place among the rows that are shown; -1 before the first move. */
  readonly row: number;
  readonly column: number;
  /** The place in the plan of the trial that the cell shows; -1 for none. */
  readonly index: number;
  /** Of the active cell's element. */
  readonly id: string | undefined;
  readonly click: (target: Element) => void;
  readonly swipe: { onTouchStart: (event: TouchEvent) => void; onTouchEnd: (event: TouchEvent) => void };
}

const FAR = 60; // px of a swipe

export function useCursor({ table, order, chosen, columns, state, go, box, reveal, step }: Given): Cursor {
  // The case is kept, not its place: what is filtered or sorted anew keeps the cursor where it was.
  const [at, set] = useState({ row: -1, column: 0 });
  const open = state.cell === undefined ? -1 : table.at(state.cell);
  const row = open >= 0 ? table.row[open]! : at.row;
  const opened = open < 0 ? -1 : columns.findIndex(({ variant }) => variant.index === table.variant[open]);
  const column = Math.min(opened >= 0 ? opened : at.column, columns.length - 1);
  const place = row < 0 ? -1 : order.indexOf(row);

  const move = (to: number, across: number): void => {
    const next = Math.max(0, Math.min(order.length - 1, to));
    const there = Math.max(0, Math.min(columns.length - 1, across));
    if (order.length === 0) return;
    set({ row: order[next]!, column: there });
    reveal(next, there);
    if (state.cell !== undefined) show(next, there);
    else box.current?.focus({ preventScroll: true }); // a link that was clicked before would take the next Enter
  };
  const indexAt = (to: number, across: number): number => {
    const variant = columns[across]?.variant.index;
    const trial = variant === undefined || to < 0 ? -1 : shownTrial(table, order[to]!, variant, chosen);
    return trial < 0 ? -1 : table.index[trial]!;
  };
  const show = (to: number, across: number): void => {
    const index = indexAt(to, across);
    if (index >= 0) go({ cell: index });
  };
  const beside = (by: 1 | -1): void => {
    if (step !== undefined) step(by);
    else move(Math.max(place, 0), column + (place < 0 ? 0 : by));
  };
  const jump = (by: 1 | -1, wanted: (trial: number) => boolean) => (): void => {
    if (state.blind) return; // it would tell
    for (let to = place < 0 && by < 0 ? order.length - 1 : place + by; to >= 0 && to < order.length; to += by) {
      const there = columns.findIndex(({ variant }) => table.cell(order[to]!, variant.index).some(wanted));
      if (there >= 0) return move(to, there);
    }
  };
  const failed = (trial: number): boolean => table.outcome[trial] === FAIL || table.outcome[trial] === ERROR;
  const disputed = (trial: number): boolean => isDisputed(table, trial);
  const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 600) / 200));
  const inGrid = (action: () => void) => () => {
    if (document.activeElement !== box.current) return false;
    action();
    return undefined;
  };
  useKeys({
    j: () => move(place + 1, column),
    k: () => move(Math.max(place, 1) - 1, column),
    h: () => beside(-1),
    l: () => beside(1),
    J: jump(1, failed),
    K: jump(-1, failed),
    x: jump(1, disputed),
    X: jump(-1, disputed),
    Enter: () => (place < 0 || state.cell !== undefined ? false : show(place, column)),
    ArrowDown: inGrid(() => move(place + 1, column)),
    ArrowUp: inGrid(() => move(Math.max(place, 1) - 1, column)),
    ArrowLeft: inGrid(() => beside(-1)),
    ArrowRight: inGrid(() => beside(1)),
    PageDown: inGrid(() => move(place + page, column)),
    PageUp: inGrid(() => move(place - page, column)),
    Home: inGrid(() => move(0, column)),
    End: inGrid(() => move(order.length - 1, column)),
  });

  useFocusAfterDrawer(state.cell, box);
  // A link to a cell shows the cell's row too, once it is there.
  const shownOnce = useRef(false);
  useEffect(() => {
    if (shownOnce.current || state.cell === undefined || place < 0) return;
    shownOnce.current = true;
    set({ row, column });
    reveal(place, column);
  }, [state.cell, place]);

  const click = (target: Element): void => {
    const cell = target.closest<HTMLElement>("[role=gridcell]");
    if (cell === null || cell.dataset["at"] === undefined) return;
    const [to, across] = [Number(cell.dataset["at"]), Number(cell.dataset["column"])];
    set({ row: order[to]!, column: across });
    show(to, across);
  };
  return { row: place, column, index: indexAt(place, column), id: place < 0 ? undefined : cellId(row, column), click, swipe: useSwipe(step) };
}

/** When the drawer closes, the keyboard is back in the matrix. */
function useFocusAfterDrawer(cell: number | undefined, box: Given["box"]): void {
  const before = useRef(cell);
  useEffect(() => {
    if (before.current !== undefined && cell === undefined) box.current?.focus({ preventScroll: true });
    before.current = cell;
  }, [cell]);
}

/** On a narrow screen, where one column is shown, a swipe goes to the next. */
function useSwipe(step: Given["step"]): Cursor["swipe"] {
  const from = useRef<Touch | undefined>(undefined);
  return {
    onTouchStart: (event) => {
      from.current = event.changedTouches[0];
    },
    onTouchEnd: (event) => {
      const [start, end] = [from.current, event.changedTouches[0]];
      if (start === undefined || end === undefined || step === undefined) return;
      const [dx, dy] = [end.clientX - start.clientX, end.clientY - start.clientY];
      if (Math.abs(dx) >= FAR && Math.abs(dx) > 2 * Math.abs(dy)) step(dx < 0 ? 1 : -1);
    },
  };
}
