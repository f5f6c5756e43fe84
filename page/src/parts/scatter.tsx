/** One column against another, a point for each case; a rectangle drawn on it becomes a filter. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Brushed, Range } from "../model/brush";
import type { Column } from "../model/columns";
import { axisOf, marksOf, radiusOf, shadeOf, tiled, type Mark } from "../model/scatter";
import { pairSaid, type Pair } from "../model/pair";
import { formOf, sidesOf, type Series, type Sides } from "../model/series";
import type { Measured } from "../model/scale";
import type { Row } from "../data/source";
import { visible } from "../model/visible";
import { count, grouped, number } from "../model/words";
import { useBrush } from "./brush";
import { Axis, cutTo, Figure, Name, useWidth } from "./plot";

const [LEFT, BOTTOM, TOP, RIGHT] = [52, 40, 10, 12];
const LARGEST = 520;
const TILE = 6;
const LISTED = 2000;

interface Props {
  /** The two columns, the first along x. */
  columns: readonly [Column, Column];
  series: readonly [Series, Series];
  /** The two compared, over the chosen cases. */
  pair: Pair;
  measure: Measured;
  rows: readonly Row[];
  /** By row, 1 for those that the filter chooses: the others are drawn faintly. */
  chosen: Uint8Array;
  box: Brushed | undefined;
  brush: (box: Brushed | undefined, axis: Range) => void;
  /** Opens a case. */
  open: (row: number) => void;
  /** What chooses columns and measure. */
  children: ComponentChildren;
}

export function Scatter({ columns, series, pair, measure, rows, chosen, box, brush, open, children }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const size = Math.min(LARGEST, width) - LEFT - RIGHT;
  const axis = useMemo(() => axisOf(...series), [series]);
  const marks = useMemo(() => (size > 0 ? marksOf(...series, chosen, axis, Math.round(size / TILE)) : []), [series, chosen, axis, size]);
  const found = useMemo(() => sidesOf(...series, chosen), [series, chosen]);
  const form = formOf(measure);
  const [first, second] = [visible(columns[0].name), visible(columns[1].name)];
  const place = {
    x: (value: number): number => LEFT + ((value - axis.low) / (axis.high - axis.low)) * size,
    y: (value: number): number => TOP + size - ((value - axis.low) / (axis.high - axis.low)) * size,
  };
  const cut = cutTo(size - 24, [first, second]);
  const most = Math.max(1, ...marks.map(({ n }) => n));
  const { frame, drawn, said, hint } = useBrush({
    axis, size, left: LEFT, top: TOP, box, form, names: [first, second],
    done: (made) => brush(made, axis),
    tapped: (x, y) => {
      const mark = nearest(marks, x, y, (axis.high - axis.low) / size, most);
      if (mark === undefined) return;
      if (mark.n === 1) open(mark.rows[0]!);
      else {
        const half = ((axis.high - axis.low) / size) * 3;
        brush({ x: { low: mark.x - half, high: mark.x + half }, y: { low: mark.y - half, high: mark.y + half } }, axis);
      }
    },
  });
  const points = useMemo(
    () => marks.map((mark, i) => {
      const title = <title>{titleOf(mark, rows, form, first, second)}</title>;
      const kind = mark.chosen > 0 ? "point" : "point point-faint";
      if (!tiled(rows.length)) return <circle key={i} class={kind} cx={place.x(mark.x)} cy={place.y(mark.y)} r={radiusOf(mark.n, most)}>{title}</circle>;
      const tile = (at: number): number => Math.floor(((at - axis.low) / (axis.high - axis.low)) * Math.round(size / TILE)) * (size / Math.round(size / TILE));
      const side = size / Math.round(size / TILE);
      return (
        <rect key={i} class={`${kind} tile-${shadeOf(mark.n, most)}`} x={LEFT + tile(mark.x)} y={TOP + size - tile(mark.y) - side} width={side} height={side}>{title}</rect>
      );
    }),
    [marks, rows, measure],
  );
  return (
    <Figure
      name="scatter" title={`Case by case: ${visible(measure.name)} in ${first} against ${second}`}
      said={<Said found={found} pair={pair} first={first} second={second} form={form} />} table={() => numbers(series, rows, chosen, form, first, second)}
    >
      {children}
      <div ref={ref} class="chart-place">
        {size > 0 && (
          <svg
            class="chart-svg scatter" width={size + LEFT + RIGHT} height={size + TOP + BOTTOM} tabindex={0} role="application"
            aria-roledescription="scatter" aria-label={`${count(found.n, "case")}: ${first} along, ${second} up. ${hint}`} {...frame}
          >
            <Axis along="x" low={Math.max(axis.low, lowest(axis))} high={axis.high} place={place.x} from={TOP} to={TOP + size} form={form} />
            <Axis along="y" low={Math.max(axis.low, lowest(axis))} high={axis.high} place={place.y} from={LEFT} to={LEFT + size} form={form} />
            <line class="diagonal" x1={LEFT} y1={TOP + size} x2={LEFT + size} y2={TOP} />
            <rect class="plot-frame" x={LEFT} y={TOP} width={size} height={size} />
            <g>{points}</g>
            <Name class="axis-name" text={first} cut={`${cut[0]!} →`} x={LEFT + size} y={TOP + size + 32} anchor="end" />
            <Name class="axis-name" text={second} cut={`${cut[1]!} →`} x={14} y={TOP} anchor="end" turned />
            {drawn}
          </svg>
        )}
      </div>
      <p class="chart-hint">{hint} Above the dashed line {second} is higher.{tiled(rows.length) ? " A darker tile is more cases." : ""}</p>
      <p class="unseen" role="status">{said}</p>
    </Figure>
  );
}

function lowest(axis: Range): number {
  return axis.low < 0 && axis.low > -0.05 ? 0 : axis.low;
}

function Said({ found, pair, first, second, form }: { found: Sides; pair: Pair; first: string; second: string; form: (value: number) => string }) {
  const { half } = found;
  return (
    <>
      {`${count(found.n, "case")}: `}
      <b>{grouped(found.higher)}</b>{` higher in ${second}, `}
      <b>{grouped(found.lower)}</b>{` higher in ${first}, `}
      <b>{grouped(found.alike)}</b>{" alike."}
      {pair.difference !== undefined && ` ${pairSaid(pair, form, ` (${second} minus ${first})`)}`}
      {half > 0 && <span class="chart-apart">{` ${count(half, "case")} with a number in one of the two only ${half === 1 ? "is" : "are"} not drawn.`}</span>}
    </>
  );
}

function titleOf(mark: Mark, rows: readonly Row[], form: (value: number) => string, first: string, second: string): string {
  const names = mark.rows.map((row) => visible(rows[row]!.description || rows[row]!.id));
  const more = mark.n > names.length ? `\n… and ${grouped(mark.n - names.length)} more` : "";
  return `${first} ${form(mark.x)}, ${second} ${form(mark.y)}\n${names.join("\n")}${more}`;
}

/** The mark under a place, if there is one. */
function nearest(marks: readonly Mark[], x: number, y: number, pixel: number, most: number): Mark | undefined {
  let best: Mark | undefined;
  let least = Infinity;
  for (const mark of marks) {
    const far = Math.hypot(mark.x - x, mark.y - y) / pixel;
    if (far <= TILE + radiusOf(mark.n, most) && far < least) [best, least] = [mark, far];
  }
  return best;
}

function numbers(series: readonly [Series, Series], rows: readonly Row[], chosen: Uint8Array, form: (value: number) => string, first: string, second: string) {
  const found: string[][] = [];
  for (let row = 0; row < rows.length && found.length < LISTED; row++) {
    const [x, y] = [series[0].means[row]!, series[1].means[row]!];
    if (chosen[row] !== 1 || (Number.isNaN(x) && Number.isNaN(y))) continue;
    const value = (of: number): string => (Number.isNaN(of) ? "–" : form(of));
    found.push([visible(rows[row]!.description || rows[row]!.id), value(x), value(y), Number.isNaN(y - x) ? "–" : number(y - x)]);
  }
  return { head: ["case", first, second, "difference"], rows: found };
}
