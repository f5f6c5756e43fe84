/** Why a key did nothing, said for a while at the foot of the page. */
import { useCallback, useEffect, useState } from "preact/hooks";

const SHOWN = 6000; // ms

/** What is said, and what says it; an empty text takes it back. */
export function useHint(): readonly [hint: string, say: (text: string) => void] {
  const [said, set] = useState({ text: "" });
  useEffect(() => {
    if (said.text === "") return undefined;
    const timer = setTimeout(() => set({ text: "" }), SHOWN);
    return () => clearTimeout(timer);
  }, [said]);
  return [said.text, useCallback((text: string) => set({ text }), [])];
}

/** The place is always there: only what changes in it is read aloud. */
export function Hint({ text }: { text: string }) {
  return <div class="hint" role="status">{text !== "" && <span class="hint-text">{text}</span>}</div>;
}
