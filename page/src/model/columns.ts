/** Which columns are shown, in which order and under which name. Blind, they are A, B, C in a shuffled order. */
import type { Head, Variant } from "../data/source";

export interface Column {
  readonly variant: Variant;
  /** What it is called on the page. */
  readonly name: string;
}

/** The same run is shuffled the same way every time: a link to a blind page stays what it was. */
export function columnsOf(head: Head, blind: boolean): Column[] {
  if (!blind) return head.columns.map((variant) => ({ variant, name: variant.name }));
  return shuffled(head.columns, head.id).map((variant, i) => ({ variant, name: letters(i) }));
}

/** 0 → A, 25 → Z, 26 → AA. */
function letters(i: number): string {
  return (i >= 26 ? letters(Math.floor(i / 26) - 1) : "") + String.fromCharCode(65 + (i % 26));
}

function shuffled<T>(items: readonly T[], seed: string): T[] {
  const draw = draws(seed);
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1));
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

/** Numbers from 0 to 1 that only the seed decides: FNV-1a, then mulberry32. */
function draws(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ letter.codePointAt(0)!, 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
