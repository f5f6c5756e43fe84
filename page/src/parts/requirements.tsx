/** What is required of each column: the verdict, what was measured with its interval, and the bound. */
import type { Requirement, Summary } from "../data/source";
import { axisOf } from "../model/required";
import { count, minus } from "./marks";
import { shown, told } from "./text";

const VERDICTS: Readonly<Record<Requirement["state"], readonly [sign: string, words: string]>> = {
  kept: ["✓", "met"], missed: ["✗", "not met"], open: ["!", "undecided"],
};

export function Requirements({ of, columns }: { of: Summary; columns: number }) {
  const { requirements } = of;
  const parts = (["missed", "open", "kept"] as const).map((state) => [requirements.filter((each) => each.state === state).length, VERDICTS[state][1]] as const);
  const metrics = [...new Set(requirements.map(({ metric }) => metric))];
  return (
    <>
      <p class="chart-said">
        {`${parts.filter(([n]) => n > 0).map(([n, words]) => `${n} ${words}`).join(", ")}. Each bound is compared with what was measured; the bracket is the 95 % interval, over cases.`}
        {of.failures_allowed && " No pass rate is required, so failed trials alone don't fail the run."}
      </p>
      <ul class="requirements">
        {metrics.flatMap((metric) => requirements.filter((each) => each.metric === metric).map((each, i) => <Line key={`${metric} ${i}`} of={each} many={columns > 1} />))}
      </ul>
    </>
  );
}

function Line({ of, many }: { of: Requirement; many: boolean }) {
  const [sign, words] = VERDICTS[of.state];
  const { value, interval, wanted, why } = of.words;
  return (
    <li class={`requirement requirement-${of.state}`}>
      <span class="requirement-verdict"><span aria-hidden="true">{sign}</span> {words}</span>
      <span class="requirement-name">
        <b>{of.shares ? "pass rate" : shown(of.metric)}</b>
        {many && of.column !== null && <span class="muted">{shown(of.column)}</span>}
        {of.column === null && many && <span class="muted">{count(0, "variant")} measured it</span>}
      </span>
      <span class="requirement-numbers"><b>{minus(value)}</b>{interval !== "" && <> [{minus(interval)}]</>}<span class="muted">wanted {minus(wanted)}</span></span>
      <Track of={of} />
      {why !== "" && <span class="requirement-why">{told(why)}</span>}
    </li>
  );
}

/** The interval and the bound on one axis; nothing where nothing was measured. */
function Track({ of }: { of: Requirement }) {
  const axis = axisOf(of);
  if (axis === undefined) return <span class="requirement-track" />;
  const x = (value: number): number => (100 * (value - axis.low)) / (axis.high - axis.low);
  const { least, most, low, high, at_least, at_most } = of;
  return (
    <svg class="requirement-track" viewBox="0 0 100 16" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track-all" x="0" y="5" width="100" height="6" />
      {at_least !== null && <rect class="track-good" x={x(at_least)} y="5" width={100 - x(at_least)} height="6" />}
      {at_least === null && at_most !== null && <rect class="track-good" x="0" y="5" width={x(at_most)} height="6" />}
      {low !== null && high !== null && <path class="track-reach" d={`M${x(low)} 8H${x(high)}M${x(low)} 5V11M${x(high)} 5V11`} vector-effect="non-scaling-stroke" />}
      {least !== null && most !== null && <path class="track-value" d={`M${x(least)} 8H${x(most) + 0.01}`} vector-effect="non-scaling-stroke" />}
      {[at_least, at_most].map((bound) => bound !== null && <path key={bound} class="track-bound" d={`M${x(bound)} 1V15`} vector-effect="non-scaling-stroke" />)}
    </svg>
  );
}
