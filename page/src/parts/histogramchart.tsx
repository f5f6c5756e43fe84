/** How often each score occurs: a drawing for each column, with the same bins and the same scale. */
import { useMemo } from "preact/hooks";
import type { Column } from "../model/columns";
import { binned, reach, type Bins } from "../model/histogram";
import { missingSaid, type Missing } from "../model/missing";
import { formOf, markOf, type Series } from "../model/series";
import type { Measured } from "../model/scale";
import { visible } from "../model/visible";
import { count, grouped, mean, rate } from "../model/words";
import { barOf, Axis, cutTo, Figure, Hatch, Name, useWidth } from "./plot";

const PANEL = 84;
const GAP = 38;
const LEFT = 40;
const APART = 62; // for what has no number

interface Props {
  columns: readonly Column[];
  series: readonly Series[];
  /** Of the whole run, so that they stay what they are while it is filtered. */
  bins: Bins;
  measure: Measured;
  /** How many are shown, and which of them have no number in a column. */
  cases: number;
  missing: readonly Missing[];
}

export function HistogramChart({ columns, series, bins, measure, cases, missing }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const form = formOf(measure);
  const shown = columns.map(({ name, variant }) => ({ name: visible(name), variant, series: series[variant.index]! }));
  const counts = useMemo(() => columns.map((each) => binned(series[each.variant.index]!.values, bins)), [columns, series, bins]);
  const most = Math.max(1, ...counts.map((each) => Math.max(0, ...each)), ...shown.map((each) => each.series.errors));
  const trials = shown.reduce((n, each) => n + each.series.values.length, 0);
  const without = shown.reduce((n, each) => n + each.series.without, 0);
  const x = (value: number): number => LEFT + ((value - bins.low) / (bins.high - bins.low)) * (width - LEFT - APART - 8);
  const said =
    `${count(trials, "trial")} in bins of ${form(bins.width)}; the same scale for all variants. The triangle is the mean, its line the 95 % interval, an arrow where it goes on; a mean that errors leave open has none. ` +
    `Errors stand apart, hatched${without > 0 ? `; ${count(without, "trial")} without this number ${without === 1 ? "is" : "are"} left out` : ""}. ` +
    missingSaid(cases, "this number", columns.map(({ variant }) => missing[variant.index]!));
  const cut = cutTo(width - LEFT - 210, shown.map(({ name }) => name));
  return (
    <Figure name="histogram" title={`How often each ${visible(measure.name)} occurs`} said={said} table={() => numbers(bins, counts, shown, form)}>
      <div ref={ref} class="chart-place">
        {width > 0 && bins.n === 0 && <p class="chart-empty">No trial has this number.</p>}
        {width > 0 && bins.n > 0 && (
          <svg class="chart-svg" width={width} height={shown.length * (PANEL + GAP) + 20} aria-hidden="true">
            <Hatch id="hatch-histogram" />
            {shown.map(({ name, variant, series: one }, i) => {
              const [top, bottom] = [i * (PANEL + GAP) + GAP - 6, i * (PANEL + GAP) + GAP - 6 + PANEL];
              const height = (n: number): number => (n > 0 ? Math.max(1.5, (n / most) * PANEL) : 0);
              return (
                <g key={i}>
                  <Name text={name} cut={cut[i]!} x={LEFT} y={top - 12} />
                  <text class="chart-note" x={width - 4} y={top - 12} text-anchor="end">{meanWords(one, form, cases)}</text>
                  <Axis along="y" low={0} high={most} about={2} whole place={(n) => bottom - (n / most) * PANEL} from={LEFT} to={width - APART} form={grouped} />
                  {Array.from(counts[i]!, (n, bin) => {
                    const [from, to] = [x(bins.low + bin * bins.width), x(bins.low + (bin + 1) * bins.width)];
                    return n > 0 && (
                      <rect key={bin} class={barOf(variant.index, columns.length)} x={from + 0.5} y={bottom - height(n)} width={Math.max(1, to - from - 1)} height={height(n)}>
                        <title>{`${form(bins.low + bin * bins.width)} to ${form(bins.low + (bin + 1) * bins.width)}: ${count(n, "trial")}`}</title>
                      </rect>
                    );
                  })}
                  <line class="axis-line" x1={LEFT} x2={width - APART} y1={bottom} y2={bottom} />
                  {markOf(one) !== null && <MeanMark of={markOf(one)!} place={x} y={top - 3} ends={[LEFT, width - APART]} />}
                  {one.errors > 0 && (
                    <g>
                      <rect class="hatched" fill="url(#hatch-histogram)" x={width - APART + 22} y={bottom - height(one.errors)} width="22" height={height(one.errors)} />
                      <text class="chart-note" x={width - 4} y={bottom - height(one.errors) - 4} text-anchor="end">{count(one.errors, "error")}</text>
                    </g>
                  )}
                </g>
              );
            })}
            <Axis along="x" low={bins.low} high={bins.high} place={x} from={shown.length * (PANEL + GAP) - 6} to={shown.length * (PANEL + GAP) - 6} form={form} />
          </svg>
        )}
      </div>
    </Figure>
  );
}

function MeanMark({ of, place, y, ends }: { of: { value: number; low: number | null; high: number | null }; place: (value: number) => number; y: number; ends: [number, number] }) {
  const at = place(of.value);
  return (
    <g class="mean">
      {of.low !== null && of.high !== null && <path class="whisker" d={reach(place(of.low), place(of.high), y, ends)} />}
      <path class="mean-mark" d={`M${at} ${y + 3}l-4 -7h8z`} />
    </g>
  );
}

/** Of `passed` the rate, which is a range where there are errors. */
function meanWords({ mean: of, rate: share }: Series, form: (value: number) => string, cases?: number): string {
  return share === undefined ? mean(of, form, cases) : rate(share);
}

function numbers(bins: Bins, counts: readonly Int32Array[], shown: readonly { name: string; series: Series }[], form: (value: number) => string) {
  const rows = Array.from({ length: bins.n }, (_, bin) => [
    `${form(bins.low + bin * bins.width)} to ${form(bins.low + (bin + 1) * bins.width)}`,
    ...counts.map((each) => grouped(each[bin]!)),
  ]);
  rows.push(["error", ...shown.map(({ series }) => grouped(series.errors))], ["without the number", ...shown.map(({ series }) => grouped(series.without))]);
  rows.push(["mean", ...shown.map(({ series }) => meanWords(series, form))]);
  return { head: ["from, to", ...shown.map(({ name }) => name)], rows };
}
