/** Outputs of up to four columns beside each other: with what differs marked, or all as Markdown; and what came of each. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Cell } from "../data/source";
import { shared } from "../model/changes";
import { asText } from "../model/visible";
import { compared, Part } from "./diff";
import { Checks } from "./expectations";
import { useKeys } from "./keyboard";
import { Markdown } from "./markdown";
import { Mark, number } from "./marks";
import { shown } from "./text";

export interface Side {
  readonly name: string;
  readonly value: unknown;
  /** What came of it, where it is an output. */
  readonly cell?: Cell;
  /** In place of an output that is not here. */
  readonly missing?: string;
  readonly away?: () => void;
}

interface Props {
  readonly others: readonly Side[];
  readonly own: Side;
  readonly md: boolean;
  /** Each side scrolls by itself. */
  readonly apart: boolean;
}

export function Beside({ others, own, md, apart }: Props) {
  const found = useCompared(others, own.value);
  const all = found.flatMap((each) => each ?? []);
  const marks = all.length < others.length ? undefined : shared(all.map(({ parts }) => parts));
  const sides = [...others.map((side, i) => ({ side, by: found[i]?.by, parts: found[i]?.parts.filter(({ kind }) => kind !== "added") })), { side: own, by: all[0]?.by, parts: marks }];
  return (
    <div class={apart ? "beside beside-apart" : "beside"} aria-busy={!md && marks === undefined && others.every(({ missing }) => missing === undefined)}>
      {sides.map(({ side, by, parts }, i) => (
        <section key={i} class="beside-side" aria-label={side.name} tabIndex={apart ? 0 : undefined}>
          <h4 class="beside-name">
            {shown(side.name)}
            {side.away !== undefined && <button type="button" class="button quiet small" title="Take away" onClick={side.away}>×<span class="unseen">Take {shown(side.name)} away</span></button>}
          </h4>
          {side.cell !== undefined && (
            <>
              <p class="beside-came"><Mark outcome={side.cell.outcome} />{side.cell.score !== null && <b>{number(side.cell.score)}</b>}</p>
              <Checks cell={side.cell} />
            </>
          )}
          {side !== own && found[i] !== undefined && (found[i]!.parts.every(({ kind }) => kind === "same") ? <p class="note">{`The same as ${own.name}.`}</p> : !md && by === "apart" && <p class="note">Too different to compare.</p>)}
          {(side.value ?? null) === null ? (
            <p class="note" role="status">{side.missing ?? "There is no output."}</p>
          ) : md ? (
            <Markdown text={asText(side.value)} />
          ) : (
            <div class={`diff-text diff-${by}`} dir="auto">
              {parts === undefined ? shown(asText(side.value)) : parts.map((part, at) => <Part key={at} part={part} />)}
            </div>
          )}
        </section>
      ))}
    </div>
  );
}

type Compared = ReturnType<typeof compared>;

/** What differs from each of the others, as far as it is known: one is compared after the other, for the page to stay alive. */
function useCompared(others: readonly Side[], own: unknown): readonly (Compared | undefined)[] {
  const [known, set] = useState<ReadonlyMap<unknown, readonly [own: unknown, found: Compared]>>(new Map());
  const found = others.map(({ value }) => (known.get(value)?.[0] === own ? known.get(value)![1] : undefined));
  const next = others.find(({ missing }, i) => missing === undefined && found[i] === undefined);
  useEffect(() => {
    if (next === undefined) return undefined;
    const timer = setTimeout(() => set(new Map(known).set(next.value, [own, compared(next.value ?? "", own ?? "")])));
    return () => clearTimeout(timer);
  }, [next?.value, own]);
  return found;
}

/** How outputs are compared, and a way from difference to difference. `children` are what is compared. */
export function Comparing(p: { md: boolean; setMd: (md: boolean) => void; apart: boolean; setApart: ((apart: boolean) => void) | undefined; children: ComponentChildren }) {
  const { md, apart } = p;
  const box = useRef<HTMLDivElement>(null);
  const at = useRef(-1);
  const [place, say] = useState("");
  const step = (by: 1 | -1) => (): void => {
    const found = [...(box.current?.querySelectorAll<HTMLElement>(".diff-text :is(ins, del)") ?? [])].map((one) => ({ one, ...topOf(one) })).sort((a, b) => a.top - b.top || a.left - b.left);
    if (found.length === 0) return say(md ? "" : "No difference");
    at.current = (Math.max(at.current + by, -1) + found.length) % found.length;
    const { one } = found[at.current]!;
    one.tabIndex = -1;
    one.scrollIntoView({ block: "center" });
    one.focus({ preventScroll: true });
    say(`${at.current + 1} of ${found.length}`);
  };
  useKeys(md ? {} : { ".": step(1), ",": step(-1) });
  return (
    <div ref={box}>
      <div class="comparing" role="group" aria-label="Compared as">
        {([["Differences", false], ["Markdown on both sides", true]] as const).map(([words, on]) => (
          <button key={words} type="button" class="button quiet small" aria-pressed={md === on} onClick={() => p.setMd(on)}>{words}</button>
        ))}
        {!md && <button type="button" class="button quiet small" title="Key . for the next, key , for the previous one" onClick={step(1)}>Next difference</button>}
        {p.setApart !== undefined && <button type="button" class="button quiet small beside-scroll" aria-pressed={!apart} onClick={() => p.setApart?.(!apart)}>Scroll together</button>}
        <span class="muted" role="status">{place}</span>
      </div>
      {p.children}
    </div>
  );
}

/** Where it is, whatever is scrolled inside of its side. */
function topOf(one: HTMLElement): { readonly top: number; readonly left: number } {
  const { top, left } = one.getBoundingClientRect();
  return { top: top + (one.closest(".beside-side")?.scrollTop ?? 0), left };
}
