/** Which of many columns have to be drawn: those in sight, and some beside them. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const FEW = 12; // so many are always drawn
const SPARE = 300; // px to the left and right of what is seen

export interface Across {
  /** The columns from `first` to before `last` are drawn. */
  readonly first: number;
  readonly last: number;
  readonly onScroll: () => void;
  /** Scrolls as little as it takes for a column to be seen. */
  readonly reveal: (column: number) => void;
}

interface Given {
  readonly box: { current: HTMLElement | null };
  /** How wide each column is at least, and what stands before the first: px that stay, and px that scroll along. */
  readonly widths: readonly number[];
  readonly fixed: () => number;
  readonly before: number;
  /** The first column stays, too. */
  readonly pinned: boolean;
}

export function useAcross({ box, widths, fixed, before, pinned }: Given): Across {
  const [range, set] = useState({ first: 0, last: Math.min(FEW, widths.length) });
  const measure = (): { first: number; last: number } => {
    const at = box.current;
    if (widths.length <= FEW || at === null) return { first: 0, last: widths.length };
    const [left, right] = [at.scrollLeft - before - SPARE, at.scrollLeft - before + at.clientWidth - fixed() + SPARE];
    let [edge, first, last] = [0, widths.length, 0];
    widths.forEach((width, i) => {
      if (edge + width > left && edge < right) [first, last] = [Math.min(first, i), i + 1];
      edge += width;
    });
    return first < last ? { first, last } : { first: 0, last: FEW };
  };
  const update = (): void => {
    const next = measure();
    set((now) => (now.first === next.first && now.last === next.last ? now : next));
  };
  const latest = useRef(update);
  latest.current = update;
  useLayoutEffect(update, [widths.join()]);
  useLayoutEffect(() => {
    const watched = new ResizeObserver(() => latest.current());
    if (box.current !== null) watched.observe(box.current);
    return () => watched.disconnect();
  }, []);
  const reveal = (column: number): void => {
    const at = box.current;
    if (at === null || at.scrollWidth <= at.clientWidth) return;
    const left = before + widths.slice(0, column).reduce((sum, width) => sum + width, 0);
    const right = left + (widths[column] ?? 0);
    const room = at.clientWidth - fixed();
    const stays = pinned && column > 0 ? widths[0]! : 0;
    if (left - stays < at.scrollLeft) at.scrollLeft = left - stays;
    else if (right > at.scrollLeft + room) at.scrollLeft = Math.min(left, right - room);
    latest.current();
  };
  const shown = widths.length <= FEW ? { first: 0, last: widths.length } : range;
  return { ...shown, onScroll: () => latest.current(), reveal };
}
