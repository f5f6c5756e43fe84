/** Paired differences with their intervals, a line each, around the line of no difference. */
import type { Compared } from "../data/source";
import { reach } from "../model/histogram";
import { visible } from "../model/visible";
import { grouped, minus, number, signed } from "../model/words";
import { Axis, cutTo, Figure, Name, useWidth } from "./plot";

const ROW = 30;
const FOOT = 26;

/** The columns of a result: one name where it is the same on both sides. */
export function columnsSaid({ before, after }: Compared): string {
  return visible(before === after ? after : `${before} → ${after}`);
}

/** A difference with its interval, in the digits that the comparison gives it: the same here and in every sentence. */
export function differenceSaid({ words, rates, low, high }: Compared, unit = rates ? " points" : ""): string {
  if (words === null) return "nothing to compare";
  const interval = low === null && high === null ? "" : ` [${words.low}, ${words.high}]`;
  return minus(`${words.difference}${unit}${interval}`);
}

/** The results of one metric: they share a scale. */
export function Forest({ metric, results }: { metric: string; results: readonly Compared[] }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const rates = results.every((of) => of.rates);
  const scale = rates ? 100 : 1;
  const form = (value: number): string => (value === 0 ? "0" : signed(number(Number((value * scale).toPrecision(6)))));
  const ends = results.flatMap((of) => [...differenceOf(of), of.low, of.high].filter((end) => end !== null));
  const most = (Math.max(0, ...ends.map(Math.abs)) || 1) * 1.05;
  const narrow = width < 520;
  const [left, right] = narrow ? [4, 4] : [Math.min(240, width * 0.32), 186];
  const row = narrow ? ROW + 16 : ROW;
  const x = (value: number): number => left + ((value + most) / (2 * most)) * (width - left - right);
  const names = results.map(columnsSaid);
  const cut = cutTo(narrow ? width - 150 : left - 8, names);
  const table = () => ({
    head: ["variant", "before", "now", "difference", "p", "verdict", "cases"],
    rows: results.map((of, i) => [names[i]!, of.words?.first ?? "–", of.words?.second ?? "–", differenceSaid(of), of.words?.p || "–", of.verdict, grouped(of.n)]),
  });
  return (
    <Figure
      name={`forest-${metric.replace(/\W+/g, "-")}`} title={visible(metric)} table={table}
      said={[rates ? "In percentage points." : "", results.some(({ lower }) => lower) ? "Less is better." : ""].join(" ").trim()}
    >
      <div ref={ref} class="chart-place">
        {width > 0 && (
          <svg class="chart-svg" width={width} height={results.length * row + FOOT} aria-hidden="true">
            <Axis along="x" low={-most} high={most} about={narrow ? 4 : 6} place={x} from={0} to={results.length * row} form={form} />
            <line class="axis-line" x1={x(0)} x2={x(0)} y1="0" y2={results.length * row} />
            {results.map((of, i) => {
              const y = i * row + (narrow ? 30 : ROW / 2);
              const [low, high] = [of.low === null ? -Infinity : x(of.low), of.high === null ? Infinity : x(of.high)];
              return (
                <g key={i} class={`forest-${of.verdict.replace(/\W+/g, "-")}`}>
                  <Name text={names[i]!} cut={cut[i]!} x={narrow ? left : 0} y={narrow ? y - 15 : y + 4} />
                  {of.words !== null && <path class="forest-reach" d={reach(low, high, y, [left, width - right])} />}
                  {differenceOf(of).length === 2 && <Mean from={x(differenceOf(of)[0]!)} to={x(differenceOf(of)[1]!)} y={y} />}
                  <text class="chart-note" x={width - (narrow ? 4 : 0)} y={narrow ? y - 15 : y + 4} text-anchor="end">{`${differenceSaid(of, "")}, n ${grouped(of.n)}`}</text>
                </g>
              );
            })}
          </svg>
        )}
      </div>
    </Figure>
  );
}

/** The ends between which errors leave a difference, which are one without them; none where nothing was compared. */
function differenceOf({ difference, difference_least: least, difference_most: most }: Compared): readonly number[] {
  return [least ?? difference, most ?? difference].filter((end) => end !== null && end !== undefined);
}

/** A dot, or a bar as long as errors leave the mean open. */
function Mean({ from, to, y }: { from: number; to: number; y: number }) {
  return <rect class="forest-mean" x={from - 4.5} y={y - 4.5} width={to - from + 9} height="9" rx="4.5" />;
}
