/** Two outputs beside each other: with what differs marked in both, or both as Markdown; and what came of each. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Cell } from "../data/source";
import { asText } from "../model/visible";
import { compared, Part } from "./diff";
import { Checks } from "./expectations";
import { Markdown } from "./markdown";
import { Mark, number } from "./marks";
import { shown } from "./text";

interface Side {
  readonly name: string;
  readonly value: unknown;
  /** What came of it, where it is an output. */
  readonly cell?: Cell;
}

interface Props {
  readonly other: Side;
  readonly own: Side;
  readonly md: boolean;
}

export function Beside({ other, own, md }: Props) {
  const { parts, by } = useMemo(() => compared(other.value ?? "", own.value ?? ""), [other.value, own.value]);
  const same = parts.every((part) => part.kind === "same");
  return (
    <div class="beside">
      {([[other, "added"], [own, "removed"]] as const).map(([side, left]) => (
        <section key={left} class="beside-side" aria-label={side.name}>
          <h4 class="beside-name">{shown(side.name)}</h4>
          {side.cell !== undefined && (
            <>
              <p class="beside-came"><Mark outcome={side.cell.outcome} />{side.cell.score !== null && <b>{number(side.cell.score)}</b>}</p>
              <Checks cell={side.cell} />
            </>
          )}
          {(side.value ?? null) === null ? (
            <p class="note">There is no output.</p>
          ) : md ? (
            <Markdown text={asText(side.value)} />
          ) : (
            <div class={`diff-text diff-${by}`} dir="auto">
              {parts.filter(({ kind }) => kind !== left).map((part, i) => <Part key={i} part={part} />)}
            </div>
          )}
        </section>
      ))}
      {(same || (!md && by === "apart")) && <p class="note beside-same">{same ? "Both are the same." : "Too different to compare."}</p>}
    </div>
  );
}

/** How two outputs are compared, and a way to the next difference. `children` are what is compared. */
export function Comparing({ md, setMd, children }: { md: boolean; setMd: (md: boolean) => void; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const at = useRef(-1);
  const next = (): void => {
    const found = box.current?.querySelectorAll<HTMLElement>(".diff-text :is(ins, del)") ?? [];
    if (found.length === 0) return;
    at.current = (at.current + 1) % found.length;
    const one = found[at.current]!;
    one.tabIndex = -1;
    one.scrollIntoView({ block: "center" });
    one.focus({ preventScroll: true });
  };
  return (
    <div ref={box}>
      <div class="comparing" role="group" aria-label="Compared as">
        {([["Differences", false], ["Markdown on both sides", true]] as const).map(([words, on]) => (
          <button key={words} type="button" class="button quiet small" aria-pressed={md === on} onClick={() => setMd(on)}>{words}</button>
        ))}
        {!md && <button type="button" class="button quiet small" onClick={next}>Next difference</button>}
      </div>
      {children}
    </div>
  );
}
