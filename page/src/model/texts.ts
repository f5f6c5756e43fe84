/** Searches the texts of trials, which lie one after the other as `wings/viewer/columns.py` writes them, in lower case. */
/** Between the fields of a trial's text, before those that tell what came of it, and behind the last. */
const [FIELD, TOLD, TRIAL] = ["\x1f", "\x1d", "\x1e"];

/** Which of the trials in this stretch of text have this text, by their order in it. */
export function trialsWith(texts: string, text: string, blind: boolean): number[] {
  const needle = text.toLowerCase();
  if (needle === "" || [FIELD, TOLD, TRIAL].some((sign) => needle.includes(sign!))) return [];
  if (!texts.includes(needle)) return [];
  const found: number[] = [];
  let number = 0;
  for (let from = 0; from < texts.length; number++) {
    const end = texts.indexOf(TRIAL!, from);
    const told = blind ? texts.indexOf(TOLD!, from) : end;
    const until = told < 0 || told > end ? end : told;
    const at = texts.indexOf(needle, from);
    if (at < 0) break;
    if (at >= until) {
      if (at > end) number += skipped(texts, end, at) - 1; // nothing in between has it
      from = at > end ? texts.lastIndexOf(TRIAL!, at) + 1 : end + 1;
      continue;
    }
    found.push(number);
    from = end + 1;
  }
  return found;
}

/** The fields of each trial in this stretch of text, each of which can be searched for itself. */
export function fieldsOf(texts: string, blind: boolean): string[][] {
  return texts.split(TRIAL!).slice(0, -1).map((trial) => (blind ? trial.split(TOLD!)[0]! : trial).split(/[\x1f\x1d]/));
}

/** How many trials end between these two places, the first included. */
function skipped(texts: string, from: number, to: number): number {
  let n = 0;
  for (let at = from; at >= 0 && at < to; at = texts.indexOf(TRIAL!, at + 1)) n++;
  return n;
}
