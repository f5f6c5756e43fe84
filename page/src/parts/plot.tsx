/** What every chart has: a title that says what it shows, a drawing as wide as its place, and its numbers as a table. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ticks } from "../model/histogram";
import { fitted } from "../model/names";
import { visible } from "../model/visible";

/** The width of an element in pixels, as it changes; 0 until it is known. */
export function useWidth<E extends Element>(): [RefObject<E | null>, number] {
  const ref = useRef<E>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(([entry]) => set(Math.floor(entry?.contentRect.width ?? 0)));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [ref, width];
}

/** A column's colour; of more columns than there are colours, all bars have the same. */
export function barOf(column: number, columns: number): string {
  return `bar bar-${columns > 8 ? 1 : (column % 8) + 1}`;
}

interface FigureProps {
  name: string;
  title: string;
  /** Of how many, and what is left out. */
  said: ComponentChildren;
  /** The numbers of the chart, for who would rather read them. */
  table: () => Numbers;
  children: ComponentChildren;
}

export function Figure({ name, title, said, table, children }: FigureProps) {
  return (
    <figure class={`chart chart-${name}`} aria-labelledby={`chart-${name}`}>
      <figcaption>
        <h2 id={`chart-${name}`} class="chart-title">{title}</h2>
        {said !== "" && <p class="chart-said">{said}</p>}
      </figcaption>
      {children}
      <NumbersTable of={table} title={title} />
    </figure>
  );
}

export interface Numbers {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A chart's numbers, folded away. Made when it is opened. */
function NumbersTable({ of, title }: { of: () => Numbers; title: string }) {
  const [open, set] = useState(false);
  return (
    <details class="chart-numbers" onToggle={(event) => set(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {open && (
        <div class="chart-scroll" tabIndex={0} role="region" aria-label={`${title}: numbers`}>
          <Rows {...of()} />
        </div>
      )}
    </details>
  );
}

function Rows({ head, rows }: Numbers) {
  return (
    <table>
      <thead>
        <tr>{head.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map(([name, ...cells], i) => (
          <tr key={i}>
            <th scope="row">{name}</th>
            {cells.map((cell, j) => <td key={j}>{cell}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Lines across a drawing at round numbers, with the numbers below or beside it. */
export function Axis(p: {
  along: "x" | "y";
  low: number;
  high: number;
  /** From a number to pixels. */
  place: (value: number) => number;
  from: number;
  to: number;
  form: (value: number) => string;
  about?: number;
  /** It counts: between two whole numbers there is none. */
  whole?: boolean;
}) {
  const values = ticks(p.low, p.high, p.about ?? 5).filter((value) => !p.whole || Number.isInteger(value));
  return (
    <g class="axis" aria-hidden="true">
      {values.map((value) => {
        const at = p.place(value);
        return p.along === "x" ? (
          <g key={value}>
            <line x1={at} x2={at} y1={p.from} y2={p.to} />
            <text x={at} y={p.to + 14} text-anchor="middle">{p.form(value)}</text>
          </g>
        ) : (
          <g key={value}>
            <line x1={p.from} x2={p.to} y1={at} y2={at} />
            <text x={p.from - 6} y={at + 4} text-anchor="end">{p.form(value)}</text>
          </g>
        );
      })}
    </g>
  );
}

/** Slanted lines: what has no number stands apart from every colour. */
export function Hatch({ id }: { id: string }) {
  return (
    <defs>
      <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="hatch-ground" width="5" height="5" />
        <line class="hatch-line" x1="0" y1="0" x2="0" y2="5" />
      </pattern>
    </defs>
  );
}

/** Names that stand in one drawing, each cut to about so many pixels so that they are told apart. */
export function cutTo(width: number, names: readonly string[]): string[] {
  return fitted(names.map(visible), Math.max(6, Math.floor(width / 7)));
}

/** A name as it was cut, whole in its title. */
export function Name({ text, cut, ...place }: { text: string; cut: string; x: number; y: number; class?: string; anchor?: "start" | "middle" | "end"; turned?: boolean }) {
  return (
    <text
      class={place.class ?? "chart-name"} x={place.x} y={place.y} text-anchor={place.anchor ?? "start"}
      transform={place.turned ? `rotate(-90 ${place.x} ${place.y})` : undefined}
    >
      <title>{visible(text)}</title>
      {cut}
    </text>
  );
}
