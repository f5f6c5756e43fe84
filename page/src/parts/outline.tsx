/** A long list of steps or turns with its outline: beside it where there is room, else at the foot of the cell. It says where one is, and leads to each. */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useMedia } from "../state/media";
import { useKeys } from "./keyboard";
import { grouped } from "./marks";
import { memo } from "./memo";
import { shown } from "./text";

export interface Entry {
  readonly kind: string;
  readonly style: string;
  readonly name: string;
  readonly facts: string;
  readonly depth: number;
  readonly failed: boolean;
}

interface Props {
  /** Of each item of the list, in its order; the first one's place among `total`. */
  readonly entries: readonly Entry[];
  readonly first?: number;
  readonly total: number;
  /** The one to begin with, opened. */
  readonly start?: number | undefined;
  /** The windows that have room for it beside the list. */
  readonly room: string;
  /** A list, and nothing else that is one before it. */
  readonly children: ComponentChildren;
}

const FEW = 5; // what is seen at once has no outline
const LONGEST = 80; // characters of a name

export function Outlined({ entries, first = 0, total, start = -1, room, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const [at, set] = useState(0);
  const [open, setOpen] = useState(false);
  const side = useMedia(room);
  const many = entries.length > FEW;
  /** Where a jump ended: there the item that was meant is the current one, although others may stand higher. */
  const landed = useRef(-1);
  const items = (): ArrayLike<Element> => box.current?.querySelector(".steps, .messages")?.children ?? []; // a frame may come after the end
  const drawer = (): HTMLElement | null | undefined => box.current?.closest<HTMLElement>(".drawer");
  const jump = (to: number, focused: boolean): void => {
    const [item, scrolled] = [items()[to], drawer()];
    if (item === undefined || !scrolled) return;
    const card = item.querySelector<HTMLDetailsElement>(":scope > details");
    if (card !== null) card.open = true;
    scrolled.scrollTop += item.getBoundingClientRect().top - edgeOf(scrolled);
    landed.current = scrolled.scrollTop;
    set(to);
    if (focused) (card?.querySelector("summary") ?? (item as HTMLElement)).focus({ preventScroll: true });
  };
  useEffect(() => {
    const scrolled = drawer();
    let frame = 0;
    const look = (): void => {
      frame = 0;
      if (scrolled!.scrollTop === landed.current) return;
      const [all, edge] = [items(), edgeOf(scrolled!) + 2];
      let [from, to] = [0, all.length - 1]; // the last one that begins above the edge
      while (from < to) {
        const middle = Math.ceil((from + to) / 2);
        if (all[middle]!.getBoundingClientRect().top <= edge) from = middle;
        else to = middle - 1;
      }
      set(from);
    };
    const follow = (): void => void (frame ||= requestAnimationFrame(look));
    frame = requestAnimationFrame(() => (start < 0 ? look() : ((frame = 0), jump(start, false)))); // the drawer goes to its top first
    scrolled?.addEventListener("scroll", follow, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      scrolled?.removeEventListener("scroll", follow);
    };
  }, [entries, start]);
  useLayoutEffect(() => {
    const [scrolled, entry] = [list.current, list.current?.children[at] as HTMLElement | undefined];
    if (scrolled === null || entry === undefined) return;
    const [top, end] = [entry.offsetTop, entry.offsetTop + entry.offsetHeight - scrolled.clientHeight];
    scrolled.scrollTop = Math.max(end, Math.min(top, scrolled.scrollTop));
  }, [at, side, open]);
  const latest = useRef(jump);
  latest.current = jump;
  const go = useCallback((to: number) => {
    setOpen(false);
    latest.current(to, false);
  }, []);
  const failure = (by: 1 | -1) => (): void => {
    for (let to = at + by; to >= 0 && to < entries.length; to += by) if (entries[to]!.failed) return jump(to, true);
  };
  useKeys({ ".": () => jump(at + 1, true), ",": () => jump(at - 1, true), ">": failure(1), "<": failure(-1) });
  const arrows = (event: KeyboardEvent): void => {
    const to = at + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN);
    if (entries[to] === undefined) return;
    event.preventDefault();
    jump(to, false);
    list.current?.children[to]?.querySelector("button")?.focus();
  };
  const outline = (
    <ol ref={list} onKeyDown={arrows}>
      {entries.map((entry, i) => (
        <li key={i}><Line entry={entry} place={i} number={first + i + 1} current={i === at} go={go} /></li>
      ))}
    </ol>
  );
  return (
    <div ref={box} class={side && many ? "outlined outlined-side" : "outlined"}>
      {side && many && <nav class="outline" aria-label="Outline">{outline}</nav>}
      <div>{children}</div>
      {!side && many && (
        <details class="outline" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{`Outline: ${grouped(first + at + 1)} of ${grouped(total)}`}</summary>
          {open && outline}
        </details>
      )}
    </div>
  );
}

interface LineProps {
  readonly entry: Entry;
  readonly place: number;
  readonly number: number;
  readonly current: boolean;
  readonly go: (place: number) => void;
}

/** Of hundreds, two are drawn again for each step that somebody takes. */
const Line = memo(function ({ entry, place, number, current, go }: LineProps) {
  return (
    <button type="button" class="outline-entry" style={{ "--depth": entry.depth }} aria-current={current ? "step" : undefined} tabIndex={current ? 0 : -1} onClick={() => go(place)}>
      <span class="step-number">{number}</span>
      <span class={`chip ${entry.style}`}>{shown(entry.kind.slice(0, 20))}</span>
      {entry.failed && <b class="step-failed">✗<span class="unseen">failed</span></b>}
      <span class="outline-name">{shown(entry.name.slice(0, LONGEST))}</span>
      <span class="muted">{entry.facts}</span>
    </button>
  );
});

/** Under the bar and the tabs, which stay, and the end of the item before. */
function edgeOf(drawer: HTMLElement): number {
  return [".drawer-bar", ".tabs"].reduce((sum, part) => sum + drawer.querySelector<HTMLElement>(part)!.offsetHeight, 40);
}
