/** What changed from one text to another, in one flow: added and removed by sign, by line and by colour. */
import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { changes, jsonChanges, type Change } from "../model/changes";
import { asJson, asText, sizeOf } from "../model/visible";
import { count } from "./marks";
import { shown, Text } from "./text";

const CONTEXT = 400; // characters that stay on each side of what is the same
const FOLDED = 2000; // characters from which on it is folded
const BLOCK = 200; // parts that are laid out at once

/** `before` and `after` are named in the legend. JSON is compared as values, all else as text. */
export function Diff(p: { before: unknown; after: unknown; names: readonly [string, string] }) {
  const found = useMemo(() => compared(p.before, p.after), [p.before, p.after]);
  const { by, parts } = found;
  if (parts.every((part) => part.kind === "same")) {
    const what = found.json ? "The same value" : "The same text";
    return <p class="note">{`${what}: ${p.names[1]} is ${p.names[0]}${found.reordered ? ", with keys in another order" : ""}.`}</p>;
  }
  return (
    <div class="diff">
      <p class="diff-legend">
        <del>{`only in ${p.names[0]}`}</del> <ins>{`only in ${p.names[1]}`}</ins>{" "}
        <span class="muted">{by === "apart" ? "too different to be aligned" : `${count(found.removed + found.added, "change")}, by ${by}`}</span>
      </p>
      <div class={`diff-text diff-${by}`} dir="auto">
        {blocksOf(parts).map((block, i) => (
          <div key={i} class={parts.length > BLOCK ? "diff-block" : undefined}>
            {block.map((part, at) => (
              <Part key={at} part={part} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

/** What changed between two values, JSON as values and all else as text. */
export function compared(before: unknown, after: unknown) {
  const [old, now] = [valueOf(before), valueOf(after)];
  const json = old !== undefined && now !== undefined;
  const found = json ? jsonChanges(old, now) : changes(asText(before), asText(after));
  return { ...found, json, reordered: json && found.parts.length === 1 && asText(before) !== asText(after) };
}

function valueOf(value: unknown): object | undefined {
  if (typeof value === "string") return asJson(value);
  return typeof value === "object" && value !== null ? value : undefined;
}

function blocksOf(parts: readonly Change[]): readonly (readonly Change[])[] {
  return Array.from({ length: Math.ceil(parts.length / BLOCK) }, (_, i) => parts.slice(i * BLOCK, (i + 1) * BLOCK));
}

export function Part({ part }: { part: Change }) {
  if (part.kind === "same") return <Same text={part.text} />;
  const long = part.text.length > FOLDED * 5;
  const inside = long ? <Text text={part.text} /> : shown(ends(part.text));
  return h(part.kind === "added" ? "ins" : "del", { class: long ? "diff-long" : undefined }, inside);
}

/** A change of nothing but line breaks would not be seen. */
function ends(text: string): string {
  return /^\s*$/.test(text) ? text.replaceAll("\n", "↵\n").replaceAll(" ", "·").replaceAll("\t", "→\t") : text;
}

function Same({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  if (text.length < FOLDED) return <span>{shown(text)}</span>;
  if (open) return text.length > FOLDED * 10 ? <Text text={text} /> : <span>{shown(text)}</span>;
  const start = nearLine(text, CONTEXT, 1);
  const end = nearLine(text, text.length - CONTEXT, -1);
  return (
    <>
      <span>{shown(text.slice(0, start))}</span>
      <button type="button" class="button quiet small diff-fold" onClick={() => setOpen(true)}>
        {`… ${sizeOf(end - start)} that are the same …`}
      </button>
      <span>{shown(text.slice(end))}</span>
    </>
  );
}

/** The end of a line, or the start of one, not far from here. */
function nearLine(text: string, at: number, step: 1 | -1): number {
  const line = step > 0 ? text.indexOf("\n", at) : text.lastIndexOf("\n", at);
  return line >= 0 && Math.abs(line - at) < CONTEXT ? line + 1 : at;
}
