/** Rankings: which variant's outputs a judge prefers, and how sure that is. */
import type { Head, Place, Standings } from "../data/source";
import { rateFrom } from "../model/rate";
import { interval, percents } from "../model/words";
import { RateBar } from "./marks";
import { shown, told } from "./text";

/** The first of a ranking, for a run's totals: `1. terse 99 % [93–100]`. */
export function firstWords({ name, ranked }: Standings, head: Head): string {
  return ranked[0] === undefined ? `${name}: no ranking` : `1. ${nameOf(ranked[0], head)} ${chanceWords(ranked[0])}`;
}

/** All places of all rankings, with their intervals on one axis. */
export function RankedList({ head }: { head: Head }) {
  return (
    <>
      <p class="chart-said">How often each is preferred to the average variant [95 %].</p>
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
      {of.why !== "" && <p class="note">{told(`No ranking: ${of.why}.`)}</p>}
      <ol class="requirements">
        {of.ranked.map((place, i) => (
          <li key={place.column} class="requirement">
            <span class="requirement-verdict">{i + 1}</span>
            <span class="requirement-name"><b>{shown(nameOf(place, head))}</b></span>
            <span class="requirement-numbers"><b>{chanceWords(place)}</b>{place.corrected !== null && <span class="muted">{`corrected; raw ${wordsOf(place.chance)}`}</span>}</span>
            <RateBar of={rateFrom(place.corrected ?? place.chance)} />
          </li>
        ))}
      </ol>
      <ul class="notices">{of.notes.map((note) => <li key={note}>{told(note)}</li>)}</ul>
    </>
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
