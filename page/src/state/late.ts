/** A value that may come after the next drawing: what is computed for the page's margins must not hold up its middle. */
import { useEffect, useRef, useState } from "preact/hooks";

const PATIENCE = 30; // ms: changes in quick succession are computed once

/** `inputs` says when to compute anew; until then the last value stays, `before` at first. */
export function useLate<T>(compute: () => T, inputs: readonly unknown[], before: T): T {
  const [value, set] = useState(before);
  const latest = useRef(compute);
  latest.current = compute;
  useEffect(() => {
    const timer = setTimeout(() => set(latest.current()), PATIENCE);
    return () => clearTimeout(timer);
  }, inputs);
  return value;
}
