/** A button that puts text on the clipboard, and says whether it could. */
import { useEffect, useRef, useState } from "preact/hooks";

/** `copied` is told when it went well. */
export function Copy({ text, what, title, copied }: { text: string | (() => string); what: string; title?: string; copied?: () => void }) {
  const [said, say] = useState("");
  const timer = useRef<number>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    const done = await put(typeof text === "function" ? text() : text);
    say(done ? "Copied" : "Not allowed");
    if (done) copied?.();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => say(""), 1500);
  };
  return (
    <button type="button" class="button quiet small" title={title} onClick={() => void copy()}>
      <span aria-live="polite">{said || what}</span>
    </button>
  );
}

/** The clipboard is not there for every page; a field that is copied from is. */
async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "unseen";
    const before = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
