/** Paired differences with their intervals, a line each, around the line of no difference. */
import type { Compared } from "../data/source";
import { visible } from "../model/visible";
import { number, points, signed } from "../model/words";
import { Axis, Figure, Name, useWidth } from "./plot";

const ROW = 30;
const FOOT = 26;

/** The results of one metric: they share a scale. */
export function Forest({ metric, results }: { metric: string; results: readonly Compared[] }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const rates = results.every((of) => of.rates);
  const form = rates ? points : amounts(results);
  const ends = results.flatMap(({ difference, low, high }) => [difference, low, high].filter((end) => end !== null));
  const reach = (Math.max(0, ...ends.map(Math.abs)) || 1) * 1.05;
  const narrow = width < 520;
  const [left, right] = narrow ? [4, 4] : [Math.min(200, width * 0.26), 176];
  const row = narrow ? ROW + 16 : ROW;
  const x = (value: number): number => left + ((value + reach) / (2 * reach)) * (width - left - right);
  const numbers = (of: Compared): string =>
    of.difference === null ? "nothing to compare" : `${form(of.difference)} [${end(of.low, form, "-∞")}, ${end(of.high, form, "+∞")}]`;
  const name = (of: Compared): string => (of.before === of.after ? of.after : `${of.before} → ${of.after}`);
  const table = () => ({
    head: ["column", "before", "after", "difference", "verdict", "cases"],
    rows: results.map((of) => [
      visible(name(of)), of.first === null ? "–" : number(of.first), of.second === null ? "–" : number(of.second), numbers(of), of.verdict, String(of.n),
    ]),
  });
  return (
    <Figure
      name={`forest-${metric.replace(/\W+/g, "-")}`} title={visible(metric)} table={table}
      said={rates ? "in percentage points" : ""}
    >
      <div ref={ref} class="chart-place">
        {width > 0 && (
          <svg class="chart-svg" width={width} height={results.length * row + FOOT} aria-hidden="true">
            <Axis along="x" low={-reach} high={reach} about={narrow ? 4 : 6} place={x} from={0} to={results.length * row} form={form} />
            <line class="axis-line" x1={x(0)} x2={x(0)} y1="0" y2={results.length * row} />
            {results.map((of, i) => {
              const y = i * row + (narrow ? 30 : ROW / 2);
              return (
                <g key={i} class={`forest-${of.verdict.replace(/\W+/g, "-")}`}>
                  <Name text={`${name(of)}`} x={narrow ? left : 0} y={narrow ? y - 15 : y + 4} width={narrow ? width / 2 : left - 8} />
                  {of.difference !== null && (
                    <>
                      <line class="forest-reach" x1={of.low === null ? left : x(of.low)} x2={of.high === null ? width - right : x(of.high)} y1={y} y2={y} />
                      <circle class="forest-mean" cx={x(of.difference)} cy={y} r="4.5" />
                    </>
                  )}
                  <text class="chart-note" x={width - (narrow ? 4 : 0)} y={narrow ? y - 15 : y + 4} text-anchor="end">{`${numbers(of)}, n ${of.n}`}</text>
                </g>
              );
            })}
          </svg>
        )}
      </div>
    </Figure>
  );
}

/** In as many digits as the widest interval can tell apart, and at least two. */
function amounts(results: readonly Compared[]): (value: number) => string {
  const reach = Math.max(0, ...results.map(({ low, high }) => (low === null || high === null ? 0 : (high - low) / 2)));
  const digits = reach >= 10 ? 0 : reach > 0 ? Math.max(2, 1 - Math.floor(Math.log10(reach * 2))) : 2;
  return (value) => (Math.abs(value) < 10 ** -digits / 2 ? "0" : signed(value.toFixed(digits)));
}

function end(value: number | null, form: (value: number) => string, unknown: string): string {
  return value === null ? unknown : form(value);
}
