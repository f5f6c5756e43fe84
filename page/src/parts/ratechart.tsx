/** A bar for each column: the share that passed, how far errors leave it open, and its interval. */
import type { Column } from "../model/columns";
import { missingSaid, type Missing } from "../model/missing";
import { apart, type ColumnSummary } from "../model/summary";
import { visible } from "../model/visible";
import { count, grouped, interval, percents } from "../model/words";
import { barOf, cutTo, Figure, Hatch, Name, useWidth } from "./plot";

const BAR = 16;
const ROW = 46;
const RIGHT = 104;

interface Props {
  columns: readonly Column[];
  summaries: readonly ColumnSummary[];
  /** How many are shown, and which of them have no verdict in a column. */
  cases: number;
  missing: readonly Missing[];
}

export function RateChart({ columns, summaries, cases, missing }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const known = columns.map(({ name, variant }) => ({ name: visible(name), ...summaries[variant.index]! }));
  const right = Math.min(RIGHT, width / 3);
  const x = (share: number): number => 1 + share * (width - right - 2);
  const table = () => ({
    head: ["variant", "passed", "failed", "rate", "95 %", "cases", "errors", "not applicable"],
    rows: known.map(({ name, outcomes, rate }) => [
      name, ...[outcomes[0], outcomes[1]].map((n) => grouped(n)), rate ? percents(rate) : "–",
      rate ? interval(rate.low, rate.high) : "–", grouped(rate?.n ?? 0), grouped(outcomes[2]), grouped(outcomes[3]),
    ]),
  });
  const cut = cutTo(width - right - 90, known.map(({ name }) => name));
  const left = missingSaid(cases, "a verdict or an error", columns.map(({ variant }) => missing[variant.index]!));
  const said = `Of ${count(cases, "case")}: the share of each variant that passed. Every case, or cluster of cases, counts once. The line ends where the 95 % interval does.${known.some(({ outcomes }) => outcomes[2] > 0) ? " Errors may have passed or failed: how far they leave the share open is hatched." : ""} ${left}`.trim();
  return (
    <Figure name="rates" title="Pass rate" said={said} table={table}>
      <div ref={ref} class="chart-place">
        {width > 0 && (
          <svg class="chart-svg" width={width} height={known.length * ROW + 18} aria-hidden="true">
            <Hatch id="hatch-rates" />
            {known.map(({ name, outcomes, rate }, i) => {
              const y = i * ROW + 18;
              return (
                <g key={i}>
                  <Name text={name} cut={cut[i]!} x={1} y={y - 5} />
                  <rect class="bar-all" x={x(0)} y={y} width={x(1) - x(0)} height={BAR} />
                  {rate !== null && (
                    <>
                      <rect class={barOf(columns[i]!.variant.index, columns.length)} x={x(0)} y={y} width={x(rate.least) - x(0)} height={BAR} />
                      {rate.most > rate.least && <rect class="hatched" fill="url(#hatch-rates)" x={x(rate.least)} y={y} width={x(rate.most) - x(rate.least)} height={BAR} />}
                      <path class="whisker-edge" d={whisker(x(rate.low), x(rate.high), y + BAR / 2)} />
                      <path class="whisker" d={whisker(x(rate.low), x(rate.high), y + BAR / 2)} />
                    </>
                  )}
                  <text class="chart-value" x={width - right + 8} y={y + 9}>{rate === null ? "no verdicts" : percents(rate)}</text>
                  <text class="chart-note" x={width - right + 8} y={y + 22}>
                    {rate === null ? "" : `${interval(rate.low, rate.high)}, n ${grouped(rate.n)}${rate.n < cases ? ` of ${grouped(cases)}` : ""}`}
                  </text>
                  {outcomes[2] + outcomes[3] > 0 && (
                    <text class="chart-note" x={width - right} y={y - 5} text-anchor="end">{apart(outcomes)}</text>
                  )}
                </g>
              );
            })}
          </svg>
        )}
      </div>
    </Figure>
  );
}

function whisker(low: number, high: number, y: number): string {
  return `M${low} ${y}H${high}M${low} ${y - 4}V${y + 4}M${high} ${y - 4}V${y + 4}`;
}
