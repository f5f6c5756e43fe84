/** Who labels: a name, kept in this browser where it can be kept. */
import { useState } from "preact/hooks";

const KEPT = "evenhand.author";

export function useAuthor(otherwise: string): [author: string, name: (author: string) => void] {
  const [author, set] = useState(() => kept() || otherwise);
  const name = (given: string): void => {
    const said = given.trim().slice(0, 80);
    if (said === "") return;
    set(said);
    try {
      localStorage.setItem(KEPT, said);
    } catch {
      // a page from file:// may have no storage: the name holds until the page is closed
    }
  };
  return [author, name];
}

function kept(): string {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}
