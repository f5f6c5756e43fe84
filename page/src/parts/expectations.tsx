/** What was expected of an output, one by one: what did not pass first and open, what passed folded. */
import { useState } from "preact/hooks";
import type { Call, Cell, Outcome, State } from "../data/source";
import { CallCard } from "./calls";
import { Fields } from "./conversation";
import { asWritten, beside, Mark, number } from "./marks";
import { Clipped, shown, told } from "./text";

const ORDER: Readonly<Record<State, number>> = { error: 1, fail: 0, not_applicable: 2, pass: 3 };

/** Those that did not pass first, otherwise in their order. */
function byUrgency(outcomes: readonly Outcome[]): readonly Outcome[] {
  return [...outcomes].sort((a, b) => ORDER[a.outcome] - ORDER[b.outcome]);
}

/** Whether it only has a place in a ranking: it passes whatever that is. */
export const isRanked = ({ outcome, metadata }: Pick<Outcome, "outcome" | "metadata">): boolean => outcome === "pass" && Array.isArray(metadata["ranked"]);

/** `0.42, at least 0.5`. */
export function against(outcome: Outcome): string {
  const bounds = [
    outcome.at_least === null ? "" : `at least ${asWritten(outcome.at_least)}`,
    outcome.at_most === null ? "" : `at most ${asWritten(outcome.at_most)}`,
  ].filter((bound) => bound !== "");
  const wanted = bounds.length > 0 ? `wanted ${bounds.join(", ")}` : "";
  return [outcome.score === null ? "" : beside(outcome.score, outcome.at_least, outcome.at_most), wanted].filter((part) => part !== "").join(", ");
}

export function Expectations({ cell, step }: { cell: Cell; step?: (place: number) => void }) {
  if (cell.outcomes.length === 0) {
    return <p class="note">{cell.error === null ? "Nothing is expected of this output." : "It came to an error before anything was checked."}</p>;
  }
  return (
    <div class="expectations">
      {Object.keys(cell.named_scores).length > 0 && <Numbers of={cell.named_scores} title="Metrics of this trial" />}
      {byUrgency(cell.outcomes).map((outcome, i) => (
        <Expectation key={`${i}-${outcome.name}`} outcome={outcome} calls={cell.calls} named={namedSteps(outcome, cell)} step={step} />
      ))}
    </div>
  );
}

/** Each expectation in a line, and why it did not pass. */
export function Checks({ cell }: { cell: Cell }) {
  if (cell.outcomes.length === 0) return null;
  return (
    <ul class="checks" aria-label="Expectations">
      {byUrgency(cell.outcomes).map((outcome, i) => (
        <li key={i}>
          {isRanked(outcome) ? <span class="muted">ranked</span> : <Mark outcome={outcome.outcome} short />} {shown(outcome.name)} <span class="muted">{against(outcome)}</span>
          {outcome.outcome !== "pass" && <Clipped text={outcome.reason || outcome.error} most={200} lines={2} />}
        </li>
      ))}
    </ul>
  );
}

/** The steps that an outcome hangs on: their places among the trial's. */
function namedSteps(outcome: Outcome, cell: Cell): readonly number[] {
  const named: unknown = outcome.metadata["steps"];
  const total = cell.steps?.total ?? 0;
  if (!Array.isArray(named)) return NONE;
  return named.filter((place: unknown): place is number => Number.isInteger(place) && (place as number) >= 0 && (place as number) < total);
}

const NONE: readonly number[] = [];
const MOST_STEPS = 12;

interface Named {
  readonly named: readonly number[];
  readonly step: ((place: number) => void) | undefined;
}

function Expectation({ outcome, calls, named, step }: { outcome: Outcome; calls: readonly Call[] } & Named) {
  const [open, setOpen] = useState(outcome.outcome !== "pass");
  return (
    <details class={`card card-${outcome.outcome}`} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {isRanked(outcome) ? <span class="muted">ranked</span> : <Mark outcome={outcome.outcome} short={outcome.outcome === "pass"} />}
        <span class="card-name card-question">{shown(outcome.name)}</span>
        {outcome.metric !== "" && outcome.metric !== outcome.name && <span class="chip" title="The metric that it belongs to">{shown(outcome.metric)}</span>}
        <span class="card-facts">
          {against(outcome)}
          {outcome.weight !== 1 && ` · weight ${number(outcome.weight)}`}
        </span>
      </summary>
      {open && <Why outcome={outcome} calls={calls} named={named} step={step} />}
    </details>
  );
}

function Why({ outcome, calls, named, step }: { outcome: Outcome; calls: readonly Call[] } & Named) {
  const made = outcome.calls.flatMap((place) => calls[place] ?? []);
  const shownElsewhere = (name: string, value: unknown): boolean => (name === "steps" || name === "step" ? named.length > 0 : name === "why" && typeof value === "string" && outcome.reason.includes(value));
  const details = Object.fromEntries(Object.entries(outcome.metadata).filter(([name, value]) => !shownElsewhere(name, value)));
  const silent = outcome.reason === "" && outcome.error === "";
  return (
    <div class="card-body">
      {outcome.error !== "" && (
        <div class="problem-box">
          <b>{told(outcome.error)}</b>
          {outcome.hint !== "" && <p>{told(outcome.hint)}</p>}
        </div>
      )}
      {outcome.reason !== "" && <Clipped text={outcome.reason} most={4000} lines={30} />}
      {step !== undefined && named.length > 0 && (
        <p class="named-steps">
          {named.slice(0, MOST_STEPS).map((place) => (
            <button key={place} type="button" class="button small" onClick={() => step(place)}>{`Step ${place + 1}`}</button>
          ))}
          {named.length > MOST_STEPS && <span class="muted">{`and ${named.length - MOST_STEPS} more`}</span>}
        </p>
      )}
      {silent && <p class="note">{outcome.outcome === "pass" ? "Met. No reason was given." : "No reason was given."}</p>}
      {Object.keys(outcome.named).length > 0 && <Numbers of={outcome.named} title="Numbers" />}
      {Object.keys(details).length > 0 && (
        <>
          <h3 class="sub">Details</h3>
          <Fields of={details} />
        </>
      )}
      {made.length > 0 && (
        <>
          <h3 class="sub">The judge's prompts and answers</h3>
          {made.map((call, i) => (
            <CallCard key={i} call={call} />
          ))}
        </>
      )}
    </div>
  );
}

function Numbers({ of, title }: { of: Readonly<Record<string, number>>; title: string }) {
  return (
    <dl class="numbers" aria-label={title}>
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{shown(name)}</dt>
          <dd>{number(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Why a trial did not pass, in short: what is first to be read of it. */
export function InShort({ cell, more }: { cell: Cell; more: () => void }) {
  const wrong = byUrgency(cell.outcomes).filter((outcome) => outcome.outcome === "fail" || outcome.outcome === "error");
  if (cell.error !== null) {
    return (
      <div class="problem-box">
        <b>{shown(cell.error.slug)}</b>
        <Clipped text={cell.error.message} most={1500} lines={12} />
        {cell.error.where !== "" && <p class="note">{told(cell.error.where)}</p>}
      </div>
    );
  }
  if (wrong.length === 0) return cell.outcome === "pass" || cell.reason === "" ? null : <Clipped text={cell.reason} />;
  return (
    <ul class="in-short">
      {wrong.slice(0, 3).map((outcome, i) => (
        <li key={i}>
          <p>
            <Mark outcome={outcome.outcome} short /> <b>{shown(outcome.name)}</b> <span class="muted">{against(outcome)}</span>
          </p>
          <Clipped text={outcome.reason || outcome.error} most={400} lines={4} />
        </li>
      ))}
      <li>
        <button type="button" class="button quiet small" onClick={more}>
          {wrong.length > 3 ? `All ${wrong.length} that did not pass` : "More under Expectations"}
        </button>
      </li>
    </ul>
  );
}
