/** Searches the texts of trials, which lie one after the other as `viewer/columns.py` writes them, in lower case. */
import type { Sought } from "../data/source";
import { Pattern } from "./pattern";

/** Between the fields of a trial's text, before those that tell what came of it, and behind the last. */
const [FIELD, TOLD, TRIAL] = ["\x1f", "\x1d", "\x1e"];

/** Which of the trials in this stretch of text have what is sought, by their order in it. */
export function trialsWith(texts: string, { text, pattern }: Sought, blind: boolean): number[] {
  const holds = pattern ? matcher(text) : undefined;
  const needle = text.toLowerCase();
  if (holds === undefined && (needle === "" || [FIELD, TOLD, TRIAL].some((sign) => needle.includes(sign!)))) return [];
  if (holds === undefined && !texts.includes(needle)) return [];
  const found: number[] = [];
  let number = 0;
  for (let from = 0; from < texts.length; number++) {
    const end = texts.indexOf(TRIAL!, from);
    const told = blind ? texts.indexOf(TOLD!, from) : end;
    const until = told < 0 || told > end ? end : told;
    if (holds !== undefined) {
      if (texts.slice(from, until).split(/[\x1f\x1d]/).some(holds)) found.push(number);
    } else {
      const at = texts.indexOf(needle, from);
      if (at < 0) break;
      if (at >= until) {
        if (at > end) number += skipped(texts, end, at) - 1; // nothing in between has it
        from = at > end ? texts.lastIndexOf(TRIAL!, at) + 1 : end + 1;
        continue;
      }
      found.push(number);
    }
    from = end + 1;
  }
  return found;
}

/** How many trials end between these two places, the first included. */
function skipped(texts: string, from: number, to: number): number {
  let n = 0;
  for (let at = from; at >= 0 && at < to; at = texts.indexOf(TRIAL!, at + 1)) n++;
  return n;
}

function matcher(source: string): (text: string) => boolean {
  const pattern = new Pattern(source);
  return (text) => pattern.search(text);
}
