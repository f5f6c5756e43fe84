/** Judged pass rates: as people would have found them, or that nobody has checked the judge. */
import type { Head, JudgedRate } from "../data/source";
import { Menu } from "./menu";
import { interval, percents } from "../model/words";
import { count } from "./marks";
import { shown, told } from "./text";

/** One line among a run's totals; what it stands for is in its menu. */
export function JudgedNotice({ head }: { head: Head }) {
  const { judged } = head;
  if (judged.length === 0) return null;
  const doubtful = judged.filter(({ trusted }) => !trusted);
  const [only] = judged;
  const name = doubtful.length > 0
    ? `${judged.length === 1 ? "judge" : `${doubtful.length} of ${count(judged.length, "judged rate")}`}${doubts(doubtful)}`
    : judged.length === 1 ? `${only!.metric} ${rateWords(only!.corrected!)} corrected` : `${count(judged.length, "judged rate")}, corrected`;
  return (
    <Menu name={name} title="Pass rates by judges, and what people would have found">
      <ul class={`notices notices-${doubtful.length > 0 ? "warning" : "finding"}`}>
        {judged.map((each) => <li key={`${each.metric} ${each.column}`}><b>{nameOf(each, head)}</b>: {told(each.words)}</li>)}
      </ul>
    </Menu>
  );
}

/** What is wrong with them: ": 1 too few labels, 2 not checked", or for all of one kind what that is. */
function doubts(rates: readonly JudgedRate[]): string {
  const states = [...new Set(rates.map(({ state }) => state))];
  if (states.length > 1) return `: ${states.map((state) => `${rates.filter((each) => each.state === state).length} ${state}`).join(", ")}`;
  return states[0] === "not checked" ? " not checked against people" : `: ${states[0]}`;
}

/** All of them with both intervals on one axis. */
export function JudgedList({ head }: { head: Head }) {
  return (
    <>
      <p class="chart-said">The judge's own pass rate is grey. The coloured one is corrected by people's labels, with its 95 % interval, from <code>evenhand label</code> and <code>evenhand calibrate</code>.</p>
      <ul class="requirements">
        {head.judged.map((each) => (
          <li key={`${each.metric} ${each.column}`} class={`requirement requirement-${each.trusted ? "kept" : "open"}`}>
            <span class="requirement-verdict">{each.state}</span>
            <span class="requirement-name"><b>{shown(each.metric)}</b>{head.columns.length > 1 && <span class="muted">{shown(head.columns[each.column]!.name)}</span>}</span>
            <span class="requirement-numbers"><b>{rateWords(each.corrected ?? each.raw)}</b>{each.corrected !== null && <span class="muted">raw {rateWords(each.raw)}</span>}</span>
            <Track of={each} />
            <span class="requirement-why">{told(each.words)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Track({ of: { raw, corrected } }: { of: JudgedRate }) {
  const line = (at: JudgedRate["raw"], y: number, name: string) => (
    <>
      <path class={name} d={`M${100 * (at.low ?? 0)} ${y}H${100 * (at.high ?? 1)}`} vector-effect="non-scaling-stroke" />
      <path class={`${name} track-value`} d={`M${100 * at.value} ${y - 3}V${y + 3}`} vector-effect="non-scaling-stroke" />
    </>
  );
  return (
    <svg class="requirement-track" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track-all" x="0" y="0" width="100" height="16" />
      {line(raw, 4, "track-raw")}
      {corrected !== null && line(corrected, 11, "track-corrected")}
    </svg>
  );
}

function nameOf(rate: JudgedRate, { columns }: Head): string {
  return columns.length > 1 ? `${rate.metric} · ${columns[rate.column]!.name}` : rate.metric;
}

function rateWords({ value, low, high }: JudgedRate["raw"]): string {
  return `${percents({ least: value, most: value, low, high })} [${interval(low ?? 0, high ?? 1)}]`;
}
