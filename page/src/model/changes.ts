/**
 * What changed from one text to another: by words; by lines where words would take too long; and nothing but the two
 * texts where lines would too. There is no limit to the size, there is one to the time.
 */
import { diffLines, diffWordsWithSpace } from "diff";

export interface Change {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

export interface Changes {
  /** How they were aligned; `apart`: not at all, the parts are the two texts. */
  readonly by: "words" | "lines" | "apart";
  readonly parts: readonly Change[];
  readonly added: number;
  readonly removed: number;
}

export interface Patience {
  readonly words: number;
  readonly lines: number;
}

const PATIENCE: Patience = { words: 110, lines: 60 }; // ms: nobody waits for the page
const BY_WORDS = 300_000; // characters of both
const IN_LINES = 20_000; // characters of both, for words inside of changed lines
const ALIKE = 0.12; // the share of text in common below which two texts are not laid over each other

export function changes(before: string, after: string, patience: Patience = PATIENCE): Changes {
  if (before === after) return told("words", before === "" ? [] : [{ kind: "same", text: before }]);
  const end = Date.now() + patience.words + patience.lines;
  const words = byWords(before, after, patience.words);
  if (words !== undefined) return told("words", words);
  const lines = diffLines(before, after, { timeout: end - Date.now() })?.map(plain);
  if (lines === undefined || !alike(lines, before, after)) return apart(before, after);
  return told("lines", inLines(lines, end - Date.now()));
}

/** What the second text of several comparisons has and none of the first ones, where that text is one and the same. */
export function shared(all: readonly (readonly Change[])[]): readonly Change[] {
  const sides = all.map((parts) => parts.filter(({ kind }) => kind !== "removed"));
  const [side = [], ...others] = sides;
  const text = textOf(side);
  if (others.length === 0 || others.some((other) => textOf(other) !== text)) return side;
  const times = new Uint8Array(text.length); // how many have none of a character
  for (const parts of sides) {
    let at = 0;
    for (const part of parts) {
      if (part.kind === "added") for (let i = at; i < at + part.text.length; i++) times[i]!++;
      at += part.text.length;
    }
  }
  const found: Change[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    const own = times[from] === all.length;
    while (to < text.length && (times[to] === all.length) === own) to++;
    found.push({ kind: own ? "added" : "same", text: text.slice(from, to) });
  }
  return found;
}

function textOf(parts: readonly Change[]): string {
  return parts.map(({ text }) => text).join("");
}

/** The same for two JSON values: the order of keys is no change, that of lists is one. */
export function jsonChanges(before: unknown, after: unknown, patience: Patience = PATIENCE): Changes {
  const [old, now] = [sorted(before), sorted(after)];
  if (old === now) return told("lines", [{ kind: "same", text: old }]);
  const end = Date.now() + patience.words + patience.lines;
  const lines = diffLines(old, now, { timeout: end - Date.now() })?.map(plain);
  return lines === undefined ? apart(old, now) : told("lines", inLines(lines, end - Date.now()));
}

function byWords(before: string, after: string, timeout: number): readonly Change[] | undefined {
  if (before.length + after.length > BY_WORDS) return undefined;
  const parts = diffWordsWithSpace(before, after, { timeout })?.map(plain);
  return parts !== undefined && alike(parts, before, after) ? smooth(parts) : undefined;
}

function apart(before: string, after: string): Changes {
  const parts: Change[] = [];
  if (before !== "") parts.push({ kind: "removed", text: before });
  if (after !== "") parts.push({ kind: "added", text: after });
  return told("apart", parts);
}

function plain(change: { value: string; added: boolean; removed: boolean }): Change {
  return { kind: change.added ? "added" : change.removed ? "removed" : "same", text: change.value };
}

function alike(parts: readonly Change[], before: string, after: string): boolean {
  const least = Math.min(before.length, after.length);
  let same = 0;
  for (const part of parts) if (part.kind === "same") same += part.text.trim().length;
  return least === 0 || same >= least * ALIKE;
}

/** A space between two replaced words is no island: one replaced phrase reads better than two replaced words. */
function smooth(parts: readonly Change[]): readonly Change[] {
  const found: Change[] = [];
  let removed = "";
  let added = "";
  const flush = (): void => {
    const space = removed === "" || added === "" ? "" : sharedEnd(removed, added);
    removed = removed.slice(0, removed.length - space.length);
    added = added.slice(0, added.length - space.length);
    if (removed !== "") found.push({ kind: "removed", text: removed });
    if (added !== "") found.push({ kind: "added", text: added });
    if (space !== "") found.push({ kind: "same", text: space });
    removed = added = "";
  };
  parts.forEach((part, i) => {
    const between = removed !== "" && added !== "" && i + 1 < parts.length && /^[^\S\n]+$/.test(part.text);
    if (part.kind === "removed" || (part.kind === "same" && between)) removed += part.text;
    if (part.kind === "added" || (part.kind === "same" && between)) added += part.text;
    if (part.kind === "same" && !between) {
      flush();
      found.push(part);
    }
  });
  flush();
  return found;
}

/** The space that both end with. */
function sharedEnd(one: string, other: string): string {
  const [a = "", b = ""] = [/\s+$/.exec(one)?.[0], /\s+$/.exec(other)?.[0]];
  return a.endsWith(b) ? b : b.endsWith(a) ? a : "";
}

/** Lines that were replaced by others, compared by words. */
function inLines(parts: readonly Change[], timeout: number): readonly Change[] {
  const found: Change[] = [];
  const end = Date.now() + timeout;
  for (let i = 0; i < parts.length; i++) {
    const [part, next] = [parts[i]!, parts[i + 1]];
    const left = end - Date.now();
    if (part.kind === "removed" && next?.kind === "added" && part.text.length + next.text.length <= IN_LINES && left > 0) {
      const words = byWords(part.text, next.text, Math.min(left, timeout / 3));
      if (words !== undefined) {
        found.push(...words);
        i++;
        continue;
      }
    }
    found.push(part);
  }
  return found;
}

function told(by: Changes["by"], parts: readonly Change[]): Changes {
  const of = (kind: Change["kind"]): number => parts.filter((part) => part.kind === kind).length;
  return { by, parts, added: of("added"), removed: of("removed") };
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner, 2) ?? "";
}
