/** The right edge of a column: dragged, or moved with the arrow keys, it makes the column wider or narrower. */
import { useRef } from "preact/hooks";
import { NARROWEST, WIDEST, type SetWidth } from "../state/widths";

const STEP = 16; // px of a key

export function Edge({ column, name, width, set }: { column: string; name: string; width: number | undefined; set: SetWidth }) {
  const from = useRef<{ readonly x: number; readonly width: number }>(undefined);
  const now = (edge: HTMLElement): number => edge.parentElement?.offsetWidth ?? NARROWEST;
  const press = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    const step = event.key === "ArrowRight" ? STEP : event.key === "ArrowLeft" ? -STEP : 0;
    if (step !== 0) set(column, now(event.currentTarget) + step);
    else if (event.key === "Escape" || event.key === "Backspace") set(column, undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span
      class="edge" role="separator" aria-orientation="vertical" tabIndex={0} aria-label={`Width of ${name}`}
      aria-valuemin={NARROWEST} aria-valuemax={WIDEST} aria-valuenow={width ?? NARROWEST} aria-valuetext={width === undefined ? "as usual" : `${width} pixels`}
      title="Drag to change the width, double-click for the usual one. The width is stored in this browser."
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { x: event.clientX, width: now(event.currentTarget) };
      }}
      onPointerMove={(event) => from.current !== undefined && set(column, from.current.width + event.clientX - from.current.x)}
      onPointerUp={() => (from.current = undefined)}
      onPointerCancel={() => (from.current = undefined)}
      onDblClick={() => set(column, undefined)}
      onKeyDown={press}
    />
  );
}
