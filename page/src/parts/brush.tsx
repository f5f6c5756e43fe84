/** Drawing a rectangle on a plot: with the mouse, a finger, or the arrow keys. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Brushed, Range } from "../model/brush";

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Options {
  axis: Range;
  /** Of the plot's side and its place, in pixels. */
  size: number;
  left: number;
  top: number;
  box: Brushed | undefined;
  form: (value: number) => string;
  names: readonly [string, string];
  /** A rectangle was drawn; undefined takes back what is there. */
  done: (box: Brushed | undefined) => void;
  /** A place was only touched. */
  tapped: (x: number, y: number) => void;
}

const TOUCH = 4; // pixels: less than this is no rectangle
const STEP = 0.02;
const HINT = "Draw a rectangle to choose cases; with the keyboard, arrows move the cross and Space sets a corner.";
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};

/** Attributes of the drawing, what is drawn on it, and what is said of it. */
export function useBrush({ axis, size, left, top, box, form, names, done, tapped }: Options) {
  const [corners, setCorners] = useState<readonly [Point, Point] | undefined>();
  const [cross, setCross] = useState<Point | undefined>();
  const [said, say] = useState("");
  const pressed = useRef<Point | undefined>(undefined);
  const length = axis.high - axis.low;
  const within = (value: number): number => Math.max(axis.low, Math.min(axis.high, value));
  const pointOf = (event: PointerEvent): Point => {
    const frame = (event.currentTarget as SVGElement).getBoundingClientRect();
    return {
      x: within(axis.low + ((event.clientX - frame.left - left) / size) * length),
      y: within(axis.high - ((event.clientY - frame.top - top) / size) * length),
    };
  };
  const finish = (a: Point, b: Point): void => {
    setCorners(undefined);
    const made = { x: sorted(a.x, b.x), y: sorted(a.y, b.y) };
    const least = (TOUCH / size) * length;
    if (made.x.high - made.x.low < least && made.y.high - made.y.low < least) tapped(b.x, b.y);
    else done(made);
  };
  const keyed = (event: KeyboardEvent): void => {
    const move = MOVES[event.key];
    if (move === undefined && event.key !== " " && !(event.key === "Escape" && (corners ?? cross ?? box) !== undefined)) return;
    event.preventDefault();
    event.stopPropagation();
    const at = cross ?? { x: axis.low + length / 2, y: axis.low + length / 2 };
    if (move !== undefined) {
      const far = length * STEP * (event.shiftKey ? 5 : 1);
      const next = { x: within(at.x + move[0] * far), y: within(at.y + move[1] * far) };
      setCross(next);
      if (corners !== undefined) setCorners([corners[0], next]);
      say(`${names[0]} ${form(next.x)}, ${names[1]} ${form(next.y)}`);
    } else if (event.key === "Escape") {
      if (corners === undefined) done(undefined);
      setCorners(undefined);
      setCross(undefined);
      say("nothing is chosen");
    } else if (corners === undefined) {
      setCross(at);
      setCorners([at, at]);
      say("the first corner is set");
    } else {
      say("chosen");
      finish(corners[0], at);
    }
  };
  const frame = {
    onKeyDown: keyed,
    onBlur: () => setCross(undefined),
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as SVGElement).setPointerCapture(event.pointerId);
      const at = pointOf(event);
      pressed.current = at;
      setCross(undefined);
      setCorners([at, at]);
    },
    onPointerMove: (event: PointerEvent) => {
      if (pressed.current !== undefined) setCorners([pressed.current, pointOf(event)]);
    },
    onPointerUp: (event: PointerEvent) => {
      const from = pressed.current;
      pressed.current = undefined;
      if (from !== undefined) finish(from, pointOf(event));
    },
    onPointerCancel: () => {
      pressed.current = undefined;
      setCorners(undefined);
    },
  };
  const x = (value: number): number => left + ((within(value) - axis.low) / length) * size;
  const y = (value: number): number => top + ((axis.high - within(value)) / length) * size;
  const shown = corners === undefined ? box : { x: sorted(corners[0].x, corners[1].x), y: sorted(corners[0].y, corners[1].y) };
  const drawn: ComponentChildren = (
    <>
      {shown !== undefined && (
        <rect
          class="brush" x={x(shown.x.low)} y={y(shown.y.high)} width={Math.max(1, x(shown.x.high) - x(shown.x.low))}
          height={Math.max(1, y(shown.y.low) - y(shown.y.high))}
        />
      )}
      {cross !== undefined && (
        <path class="cross" d={`M${x(cross.x)} ${top}V${top + size}M${left} ${y(cross.y)}H${left + size}`} />
      )}
    </>
  );
  return { frame, drawn, said, hint: HINT };
}

function sorted(a: number, b: number): Range {
  return { low: Math.min(a, b), high: Math.max(a, b) };
}
