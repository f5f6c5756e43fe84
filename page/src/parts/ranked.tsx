/** Rankings: which variant's outputs a judge prefers, and how sure that is. */
import type { Head, Place, Standings } from "../data/source";
import { rateFrom } from "../model/rate";
import { interval, percents } from "../model/words";
import { Menu } from "./menu";
import { shown } from "./text";

/** One for each ranking among a run's totals, with its first; all places are in its menu. */
export function RankedNotice({ head }: { head: Head }) {
  return (
    <>
      {head.standings.map((of) => (
        <Menu key={of.name} name={shown(of.ranked.length === 0 ? `${of.name}: no ranking` : `1. ${nameOf(of.ranked[0]!, head)} ${chanceWords(of.ranked[0]!)}`)} title={`${of.name}: the chance to beat the average variant, ties aside`}>
          <ul class="notices">
            {of.why !== "" && <li>{shown(`No ranking: ${of.why}.`)}</li>}
            {of.ranked.map((place, i) => <li key={place.column}>{i + 1}. <b>{shown(nameOf(place, head))}</b> {chanceWords(place)}</li>)}
            {of.notes.map((note) => <li key={note}>{shown(note)}</li>)}
          </ul>
        </Menu>
      ))}
    </>
  );
}

/** All places of all rankings, with their intervals on one axis. */
export function RankedList({ head }: { head: Head }) {
  return (
    <>
      <p class="chart-said">The chance that a variant's output is preferred to that of the average variant, ties aside, with its 95 % interval.</p>
      {head.standings.map((of) => (
        <section key={of.name} aria-label={of.name}>
          <h3 class="verdicts-of">{shown(of.name)}</h3>
          <Places of={of} head={head} />
        </section>
      ))}
    </>
  );
}

function Places({ of, head }: { of: Standings; head: Head }) {
  return (
    <>
      {of.why !== "" && <p class="note">{shown(`No ranking: ${of.why}.`)}</p>}
      <ol class="requirements">
        {of.ranked.map((place, i) => (
          <li key={place.column} class="requirement">
            <span class="requirement-verdict">{i + 1}</span>
            <span class="requirement-name"><b>{shown(nameOf(place, head))}</b></span>
            <span class="requirement-numbers"><b>{chanceWords(place)}</b>{place.corrected !== null && <span class="muted">{`corrected; raw ${wordsOf(place.chance)}`}</span>}</span>
            <Track of={place} />
          </li>
        ))}
      </ol>
      <ul class="notices">{of.notes.map((note) => <li key={note}>{shown(note)}</li>)}</ul>
    </>
  );
}

function Track({ of: { chance, corrected } }: { of: Place }) {
  const rate = rateFrom(corrected ?? chance);
  if (rate === null) return <span class="requirement-track" />;
  const [low, high, least, most] = [rate.low, rate.high, rate.least, rate.most].map((share) => 100 * share);
  return (
    <svg class="requirement-track" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track-all" x="0" y="5" width="100" height="6" />
      <path class="track-reach" d={`M${low} 8H${high}M${low} 5V11M${high} 5V11`} vector-effect="non-scaling-stroke" />
      <path class="track-value" d={`M${least} 8H${most! + 0.01}`} vector-effect="non-scaling-stroke" />
      <path class="track-bound" d="M50 1V15" vector-effect="non-scaling-stroke" />
    </svg>
  );
}

/** `99 % [93–100]`, as people would have found it where that is known. */
export function chanceWords({ chance, corrected }: Place): string {
  return wordsOf(corrected ?? chance);
}

function wordsOf(of: Place["chance"]): string {
  const rate = rateFrom(of);
  return rate === null ? "unknown" : `${percents(rate)} [${interval(rate.low, rate.high)}]`;
}

function nameOf({ column }: Place, { columns }: Head): string {
  return columns[column]?.name ?? "";
}
