/** The pass rate of each tag's cases in each column. */
import type { Summary } from "../data/source";
import { quoted } from "../model/query";
import { rateFrom } from "../model/rate";
import { START, write, type RunState } from "../state/url";
import { count, grouped, interval, percents, RateBar } from "./marks";
import { shown } from "./text";

export function TagTable({ of, state, many }: { of: Summary; state: RunState; many: boolean }) {
  const drawn = of.tags.some(({ columns }) => columns.some(({ pooled }) => pooled !== null));
  return (
    <>
      <p class="chart-said">{`A case counts once in each of its tags. A tag of few cases says little: its interval is wide.${drawn ? " A pooled rate is drawn towards those of all tags, most for small tags: compare tags by pooled rates." : ""} Click a tag to see its cases in the matrix.`}</p>
      <div class="table-box" tabIndex={0} role="region" aria-label="Table of tags">
        <table class="list tag-table">
          <thead><tr><th>Tag</th>{many && <th>Variant</th>}<th class="n">Passed</th><th class="n">Rate</th><th class="tag-bar"><span class="unseen">Bar</span></th><th>95 %</th>{drawn && <th colSpan={2}>Pooled, 95 %</th>}</tr></thead>
          {of.tags.map(({ tag, columns }) => (
            <tbody key={tag}>
              {columns.map(({ column, passed, trials, rate: found, pooled }, i) => {
                const rate = rateFrom(found), shrunken = rateFrom(pooled);
                return (
                  <tr key={column}>
                    {i === 0 && <th scope="rowgroup" rowSpan={columns.length}><a href={write({ ...START, run: state.run, base: state.base, q: `tag:${quoted(tag)}` })}>{tag.trim() === "" ? "(blank)" : shown(tag)}</a></th>}
                    {many && <td class="tag-column">{shown(column)}</td>}
                    <td class="n">{grouped(passed)}/{grouped(trials)}</td>
                    <td class="n"><b>{rate === null ? "–" : percents(rate)}</b></td>
                    <td class="tag-bar"><RateBar of={rate} /></td>
                    <td class="tag-interval">{rate === null ? "" : interval(rate.low, rate.high)}</td>
                    {drawn && <td class="n"><b>{shrunken === null ? "–" : percents(shrunken)}</b></td>}
                    {drawn && <td class="tag-interval">{shrunken === null ? "" : interval(shrunken.low, shrunken.high)}</td>}
                  </tr>
                );
              })}
            </tbody>
          ))}
        </table>
      </div>
      {of.more_tags > 0 && <p class="note">{`${count(of.more_tags, "more tag")}, in the JSON export.`}</p>}
    </>
  );
}
