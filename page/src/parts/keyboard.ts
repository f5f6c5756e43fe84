/** Keys without modifiers, alone (`j`) or in turn (`g m`). They rest while somebody writes. */
import { useLayoutEffect, useRef } from "preact/hooks";

/** What a key does; false leaves it to the browser and to whoever else listens. */
export type Keys = Readonly<Record<string, () => void | boolean>>;

const PATIENCE = 1200; // ms between the two of a pair

export function useKeys(keys: Keys, active = true): void {
  const now = useRef(keys);
  now.current = keys;
  // With the drawing, not after it: what is seen has its keys.
  useLayoutEffect(() => {
    if (!active) return undefined;
    let first = "";
    let at = 0;
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || left(event) || writing(event)) return;
      const pair = first !== "" && event.timeStamp - at < PATIENCE ? `${first} ${event.key}` : "";
      first = "";
      const known = Object.hasOwn(now.current, pair) ? pair : event.key;
      if (Object.hasOwn(now.current, known)) {
        if (now.current[known]!() !== false) event.preventDefault();
      } else if (Object.keys(now.current).some((key) => key.startsWith(`${event.key} `))) {
        first = event.key;
        at = event.timeStamp;
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [active]);
}

/** Escape in a list of choices leaves it: its letters choose, so no other key would. In a drawer, the drawer has the keyboard then. */
function left(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.key !== "Escape" || !(target instanceof HTMLSelectElement)) return false;
  event.preventDefault();
  const drawer = target.closest<HTMLElement>("[role=dialog]");
  if (drawer === null) target.blur();
  else drawer.focus();
  return true;
}

/** Whether the key goes into a field. Enter and space on a button or a link are theirs too. */
function writing(event: KeyboardEvent): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.matches("textarea, select, input:not([type=checkbox], [type=radio])")) return true;
  return (event.key === "Enter" || event.key === " ") && target.matches("button, a, summary, input, [role=tab], [role=option]");
}
