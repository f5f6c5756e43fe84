/** Where judges and people differ: how many by metric, and each with both reasons side by side. */
import { useState } from "preact/hooks";
import type { Head } from "../data/source";
import { byMetric, KINDS, type Beside, type Kind } from "../model/judges";
import { standing } from "../model/labels";
import { quoted } from "../model/query";
import type { Table } from "../model/table";
import { START, write, type RunState } from "../state/url";
import { grouped, Mark } from "./marks";
import { Clipped, shown } from "./text";

const FEW = 20;

interface Props {
  readonly head: Head;
  readonly table: Table;
  readonly state: RunState;
}

/** Nothing where nobody has said anything of what a judge or the run has a verdict on. */
export function DisputedList({ head, table, state }: Props) {
  return <>{[...byMetric(table)].map(([metric, all]) => <OfMetric key={metric} head={head} table={table} state={state} metric={metric} all={all} />)}</>;
}

function OfMetric({ head, table, state, metric, all }: Props & { metric: string; all: readonly (Beside & { readonly trial: number })[] }) {
  const [whole, setWhole] = useState(false);
  const apart = all.filter(({ kind }) => kind !== "agrees");
  const q = (kinds: string): string => `judge${metric === "" ? "" : `@${quoted(metric)}`}:${kinds}`;
  const at = (change: Partial<RunState>): string => write({ ...START, run: state.run, base: state.base, ...change });
  const kinds = (["lenient", "strict"] as const).filter((kind) => apart.some((each) => each.kind === kind));
  return (
    <>
      <p class="chart-said">
        <b>{metric === "" ? "Trials as a whole" : shown(metric)}</b>{`: agree on ${grouped(all.length - apart.length)} of ${grouped(all.length)}. `}
        {kinds.map((kind: Kind) => <span key={kind}><a href={at({ q: q(kind) })}>{KINDS[kind]}: {grouped(apart.filter((each) => each.kind === kind).length)}</a>{" "}</span>)}
      </p>
      {apart.length > 0 && (
        <div class="table-box" tabIndex={0} role="region" aria-label="Where judge and people differ">
          <table class="list disputed">
            <thead><tr><th>Case</th>{head.columns.length > 1 && <th>Variant</th>}<th>Judge</th><th>People</th></tr></thead>
            <tbody>
              {(whole ? apart : apart.slice(0, FEW)).map((each) => (
                <tr key={`${each.trial} ${each.kind}`}>
                  <th scope="row"><a href={at({ q: q("lenient,strict"), cell: table.index[each.trial]! })}>{shown(nameOf(table, each.trial))}</a></th>
                  {head.columns.length > 1 && <td>{shown(head.columns[table.variant[each.trial]!]!.name)}</td>}
                  <td><Mark outcome={each.kind === "lenient" ? "pass" : "fail"} />{each.reason !== "" && <Clipped text={each.reason} most={600} lines={4} />}</td>
                  <td><People of={each} table={table} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {apart.length > FEW && <button type="button" class="button quiet small" onClick={() => setWhole(!whole)}>{whole ? "Fewer" : `${grouped(apart.length - FEW)} more`}</button>}
    </>
  );
}

function nameOf({ rows, row }: Table, trial: number): string {
  const { description, id } = rows[row[trial]!]!;
  return description || id;
}

/** Who said what, and what they wrote of the trial. */
function People({ of, table }: { of: Beside & { readonly trial: number }; table: Table }) {
  const said = standing(table.labels.get(of.trial) ?? []);
  return (
    <>
      {of.people.map(({ author, value }) => {
        const { note = "", code = "" } = said.find((one) => one.author === author) ?? {};
        return (
          <div key={author}>
            <Mark outcome={value === "pass" ? "pass" : "fail"} /> <span class="muted">{shown(author)}</span> {code !== "" && <span class="chip" title="Failure code">{shown(code)}</span>}
            {note !== "" && <Clipped text={note} most={600} lines={4} />}
          </div>
        );
      })}
    </>
  );
}
