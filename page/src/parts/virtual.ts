/**
 * Which rows of a long list with rows of one height have to be drawn. A browser cannot lay out more than some ten million
 * pixels; a longer list is drawn on that many, and one pixel of the scroll bar then stands for more than one of the list.
 */
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

const TALLEST = 12_000_000;
const SPARE = 400; // px above and below what is seen: what a wheel passes while a frame is drawn

export interface Window {
  /** The rows from `first` to before `last` are drawn, `top` px below the beginning of a body that is `height` px high. */
  readonly first: number;
  readonly last: number;
  readonly top: number;
  readonly height: number;
}

export interface Virtual extends Window {
  /** For the element that scrolls. */
  readonly box: { current: HTMLDivElement | null };
  /** For the element that covers the box's upper part. */
  readonly cover: { current: HTMLDivElement | null };
  readonly onScroll: () => void;
  /** Scrolls as little as it takes for a row to be seen. */
  readonly reveal: (row: number) => void;
  /** The row at the upper edge, and as a fraction how much of it is above. */
  readonly at: () => number;
  /** Brings a row to the upper edge; a fraction of it may be above. */
  readonly scrollTo: (row: number) => void;
}

export function useVirtual(count: number, rowHeight: number): Virtual {
  const box = useRef<HTMLDivElement>(null);
  const cover = useRef<HTMLDivElement>(null);
  const head = (): number => cover.current?.offsetHeight ?? 0;
  const frame = useRef(0);
  const measure = (): Window => windowOf(count, rowHeight, box.current, head());
  const [window, set] = useState<Window>({ first: 0, last: 0, top: 0, height: 0 });
  const now = useRef(window);
  const update = (): void => {
    const next = measure();
    const { first, last, top, height } = now.current;
    if (next.first === first && next.last === last && next.top === top && next.height === height) return;
    now.current = next;
    set(next);
  };
  const latest = useRef(update);
  latest.current = update;
  useLayoutEffect(update, [count, rowHeight]);
  useLayoutEffect(() => {
    const watched = new ResizeObserver(() => latest.current());
    for (const { current } of [box, cover]) if (current !== null) watched.observe(current);
    return () => {
      watched.disconnect();
      cancelAnimationFrame(frame.current);
    };
  }, []);
  const onScroll = useCallback(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => latest.current());
  }, []);
  const reveal = (row: number): void => {
    const at = box.current;
    if (at === null) return;
    const ratio = ratioOf(count, rowHeight, at.clientHeight - head());
    const seen = at.clientHeight - head();
    const offset = at.scrollTop * ratio;
    if (row * rowHeight < offset) at.scrollTop = (row * rowHeight) / ratio;
    else if ((row + 1) * rowHeight > offset + seen) at.scrollTop = Math.ceil(((row + 1) * rowHeight - seen) / ratio);
    latest.current();
  };
  const ratio = (): number => ratioOf(count, rowHeight, (box.current?.clientHeight ?? 0) - head());
  const at = (): number => ((box.current?.scrollTop ?? 0) * ratio()) / rowHeight;
  const scrollTo = (row: number): void => {
    const { current } = box;
    if (current === null) return;
    const body = current.lastElementChild;
    if (body instanceof HTMLElement) body.style.height = `${measure().height}px`; // it may not be drawn that high yet
    current.scrollTop = (row * rowHeight) / ratio();
    latest.current();
  };
  return { ...window, box, cover, onScroll, reveal, at, scrollTo };
}

function ratioOf(count: number, rowHeight: number, seen: number): number {
  const whole = count * rowHeight;
  return whole <= TALLEST ? 1 : (whole - seen) / (TALLEST - seen);
}

function windowOf(count: number, rowHeight: number, box: HTMLElement | null, head: number): Window {
  const seen = Math.max(0, (box?.clientHeight ?? 0) - head);
  const height = Math.min(TALLEST, count * rowHeight);
  const scrolled = Math.max(0, Math.min(box?.scrollTop ?? 0, height - seen));
  const ratio = ratioOf(count, rowHeight, seen);
  const at = Math.floor((scrolled * ratio) / rowHeight);
  const spare = Math.ceil(SPARE / rowHeight);
  const first = Math.max(0, at - spare);
  const last = Math.min(count, at + Math.ceil(seen / rowHeight) + 1 + spare);
  // Stretched, a row's place depends on how far is scrolled; else it is its own.
  const top = ratio === 1 ? first * rowHeight : scrolled - (scrolled * ratio - first * rowHeight);
  return { first, last, top, height };
}
