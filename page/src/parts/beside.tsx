/** The outputs of two columns for the same case, beside each other, with what differs marked in both. */
import { useMemo } from "preact/hooks";
import type { Cell } from "../data/source";
import { compared, Part } from "./diff";
import { Mark, number } from "./marks";
import { shown } from "./text";

interface Side {
  readonly name: string;
  readonly cell: Cell;
}

export function Beside({ other, own }: { other: Side; own: Side }) {
  const { parts, by } = useMemo(() => compared(other.cell.output ?? "", own.cell.output ?? ""), [other.cell, own.cell]);
  const same = parts.every((part) => part.kind === "same");
  return (
    <div class="beside">
      {([[other, "added"], [own, "removed"]] as const).map(([{ name, cell }, left]) => (
        <section key={left} class="beside-side" aria-label={name}>
          <h4 class="beside-name">{shown(name)}</h4>
          <p class="beside-came"><Mark outcome={cell.outcome} />{cell.score !== null && <b>{number(cell.score)}</b>}</p>
          {cell.output === null || cell.output === undefined ? (
            <p class="note">There is no output.</p>
          ) : (
            <div class={`diff-text diff-${by}`} dir="auto">
              {parts.filter(({ kind }) => kind !== left).map((part, i) => <Part key={i} part={part} />)}
            </div>
          )}
        </section>
      ))}
      {by === "apart" && <p class="note beside-same">They have too little in common for differences to be marked.</p>}
      {same && <p class="note beside-same">Both answered the same.</p>}
    </div>
  );
}
