/** Small signs that every view shows alike: an outcome, a strip of repeats, a rate with its interval. */
import type { State } from "../data/source";
import type { Rate } from "../model/rate";
import { OUTCOME_WORDS } from "../model/table";
import { rate } from "../model/words";

export * from "../model/words";

const SIGNS: Readonly<Record<State, string>> = { pass: "✓", fail: "✗", error: "!", not_applicable: "–" };
const WORDS: Readonly<Record<State, string>> = {
  pass: "pass",
  fail: "fail",
  error: "error",
  not_applicable: "not applicable",
};

/** The sign of an outcome: a state, or its code in a table. */
export function sign(outcome: State | number): string {
  return SIGNS[stateOf(outcome)];
}

/** The word of an outcome. */
export function word(outcome: State | number): string {
  return WORDS[stateOf(outcome)];
}

function stateOf(outcome: State | number): State {
  return typeof outcome === "number" ? (OUTCOME_WORDS[outcome] ?? "error") : outcome;
}

/** An outcome as sign and word; `short` leaves the word to those who hear or hover. */
export function Mark({ outcome, short = false }: { outcome: State | number; short?: boolean }) {
  const state = stateOf(outcome);
  return (
    <span class={`mark mark-${state}`} title={short ? WORDS[state] : undefined}>
      <span class="mark-sign" aria-hidden="true">
        {SIGNS[state]}
      </span>
      <span class={short ? "unseen" : "mark-word"}>{WORDS[state]}</span>
    </span>
  );
}

/** The repeats of a cell, one sign each: ✓✓✗. */
export function Strip({ outcomes }: { outcomes: readonly (State | number)[] }) {
  const states = outcomes.map(stateOf);
  if (states.length === 1) return <Mark outcome={states[0]!} short />;
  const said = (["pass", "fail", "error", "not_applicable"] as const)
    .map((state) => [states.filter((each) => each === state).length, WORDS[state]] as const)
    .filter(([n]) => n > 0)
    .map(([n, name]) => `${n} ${name}`)
    .join(", ");
  return (
    <span class="strip" role="img" aria-label={said} title={said}>
      {states.map((state, i) => (
        <span key={i} class={`mark-sign mark-${state}`}>
          {SIGNS[state]}
        </span>
      ))}
    </span>
  );
}

/** A rate as a bar from 0 to 100 %, paler where errors leave it open, with whiskers to the ends of its interval. */
export function RateBar({ of }: { of: Rate | null }) {
  const text = rate(of);
  if (of === null) return <span class="ratebar-none">{text}</span>;
  const [low, high] = [of.low * 100, of.high * 100];
  return (
    <svg class="ratebar" role="img" aria-label={text} viewBox="0 0 100 10" preserveAspectRatio="none">
      <title>{text}</title>
      <rect class="ratebar-all" x="0" y="0" width="100" height="10" />
      <rect class="ratebar-part" x="0" y="0" width={of.least * 100} height="10" />
      {of.most > of.least && <rect class="ratebar-open" x={of.least * 100} y="0" width={(of.most - of.least) * 100} height="10" />}
      <path class="ratebar-whisker" d={`M${low} 5H${high}M${low} 2V8M${high} 2V8`} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
