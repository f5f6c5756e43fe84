/**
 * Which rows of a long list have to be drawn. Rows are as high as what is in them, which is known once they are drawn. A
 * browser cannot lay out more than some ten million pixels; a longer list is drawn on that many, and one pixel of the
 * scroll bar then stands for more than one of the list.
 */
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Heights } from "../model/heights";

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

interface Given {
  readonly order: ArrayLike<number>;
  /** Names what the heights of rows depend on. */
  readonly key: string;
  /** The largest height of a row, and of all of them until they are drawn; px. */
  readonly most: number;
  /** The drawn rows with their places. They are measured, but for those of the class `awaited`, which have yet to be filled. */
  readonly drawn: (box: HTMLElement) => Iterable<readonly [place: number, element: HTMLElement]>;
}

export function useVirtual({ order, key, most, drawn }: Given): Virtual {
  const box = useRef<HTMLDivElement>(null);
  const cover = useRef<HTMLDivElement>(null);
  const heights = useRef<Heights | null>(null);
  const list = (heights.current ??= new Heights());
  list.take(order, key, most);
  const frame = useRef(0);
  const wanted = useRef(-1); // a row to be seen whole, as soon as it is measured
  const [window, set] = useState<Window>({ first: 0, last: 0, top: 0, height: 0 });
  const now = useRef(window);
  const whole = (): number => list.offsets.at(-1)!;
  const seen = (): number => Math.max(0, (box.current?.clientHeight ?? 0) - (cover.current?.offsetHeight ?? 0));
  const ratio = (): number => (whole() <= TALLEST ? 1 : (whole() - seen()) / (TALLEST - seen()));
  const scrolled = (): number => (box.current?.scrollTop ?? 0) * ratio();
  const measure = (): Window => {
    const height = Math.min(TALLEST, whole());
    const top = Math.max(0, Math.min(box.current?.scrollTop ?? 0, height - seen()));
    const px = top * ratio();
    const first = list.rowAt(px - SPARE);
    const last = Math.min(order.length, list.rowAt(px + seen() + SPARE) + 1);
    // Stretched, a row's place depends on how far is scrolled; else it is its own.
    return { first, last, top: ratio() === 1 ? list.offsets[first]! : top - (px - list.offsets[first]!), height };
  };
  const update = (): void => {
    const next = measure();
    const { first, last, top, height } = now.current;
    if (next.first === first && next.last === last && next.top === top && next.height === height) return;
    now.current = next;
    set(next);
  };
  const scroll = (px: number): void => {
    const { current } = box;
    if (current === null) return;
    const body = current.lastElementChild;
    if (body instanceof HTMLElement) body.style.height = `${measure().height}px`; // it may not be drawn that high yet
    current.scrollTop = px / ratio();
  };
  const show = (row: number): void => {
    const [above, below] = [list.offsets[row]!, list.offsets[row + 1]!];
    if (above < scrolled()) scroll(above);
    else if (below > scrolled() + seen()) scroll(Math.min(above, Math.ceil(below - seen())));
  };
  /** Takes the heights of what is drawn; what is at the upper edge stays there. */
  const settle = (): void => {
    const { current } = box;
    if (current === null) return;
    const px = scrolled();
    const edge = list.rowAt(px);
    const part = px - list.offsets[edge]!;
    const filled: (readonly [number, HTMLElement])[] = [];
    for (const [place, element] of drawn(current)) {
      const waits = element.classList.contains("awaited");
      element.style.minHeight = waits ? `${list.offsets[place + 1]! - list.offsets[place]!}px` : "";
      if (!waits) filled.push([place, element]);
    }
    const moved = list.measure(filled.map(([place, element]) => [place, element.offsetHeight] as const));
    if (moved >= 0 && moved < edge) scroll(list.offsets[edge]! + part);
    if (wanted.current >= 0) show(wanted.current);
    if (moved >= 0 || wanted.current >= 0) update();
  };
  const latest = useRef({ update, settle });
  latest.current = { update, settle };
  useLayoutEffect(update, [order, key]);
  useLayoutEffect(settle);
  useLayoutEffect(() => {
    const watched = new ResizeObserver(() => {
      latest.current.settle();
      latest.current.update();
    });
    for (const { current } of [box, cover]) if (current !== null) watched.observe(current);
    return () => {
      watched.disconnect();
      cancelAnimationFrame(frame.current);
    };
  }, []);
  const onScroll = useCallback(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => latest.current.update());
  }, []);
  const reveal = (row: number): void => {
    show(row);
    wanted.current = row;
    setTimeout(() => (wanted.current = -1), 500);
    latest.current.update();
  };
  const at = (): number => {
    const px = scrolled();
    const row = list.rowAt(px);
    return row + Math.max(0, Math.min(0.999, (px - list.offsets[row]!) / (list.offsets[row + 1]! - list.offsets[row]! || 1)));
  };
  const scrollTo = (row: number): void => {
    const place = Math.min(Math.floor(row), Math.max(0, order.length - 1));
    scroll(list.offsets[place]! + (row - place) * ((list.offsets[place + 1] ?? list.offsets[place]!) - list.offsets[place]!));
    latest.current.update();
  };
  return { ...window, box, cover, onScroll, reveal, at, scrollTo };
}
