/** The head of a cell: which one it is, what came of it, what it took, and its repeats. */
import type { Cell, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { changeSaid, sideOf } from "../model/changed";
import type { Table } from "../model/table";
import { isRanked } from "./expectations";
import { asWritten, beside, count, grouped, Mark, money, number, seconds, sign, spent, word } from "./marks";
import { Brief, shown } from "./text";

interface Props {
  readonly head: Head;
  readonly table: Table;
  readonly cell: Cell;
  readonly trial: number;
  readonly baseline: Baseline | undefined;
  readonly hidden: boolean;
  readonly reveal: () => void;
  readonly open: (index: number) => void;
}

export function CellHead(p: Props) {
  const { cell, trial, table, hidden } = p;
  const variant = p.head.columns[cell.variant];
  const row = trial < 0 ? undefined : table.rows[table.row[trial]!];
  const description = cell.description || row?.description || "";
  return (
    <>
      <h2 class="drawer-title" id="drawer-title">
        <span class="drawer-case"><Brief key={cell.case} text={description || cell.case} /></span>
        {description !== "" && description !== cell.case && <span class="drawer-id"><Brief key={cell.case} text={cell.case} most={160} /></span>}
      </h2>
      {hidden ? (
        <p class="drawer-hidden">
          Blind: variant, verdict and scores are hidden until you have labelled this trial.{" "}
          <button type="button" class="button quiet small" onClick={p.reveal}>Reveal</button>
        </p>
      ) : (
        <>
          <p class="drawer-variant">
            <span class="drawer-prompt">{shown(variant?.name ?? "")}</span>
            {variant !== undefined && !variant.name.includes(variant.model) && <span class="muted"> {shown(variant.model)}</span>}
          </p>
          <p class="drawer-came">
            {cell.outcomes.length > 0 && cell.outcomes.every(isRanked) ? <span class="muted">ranked</span> : <Mark outcome={cell.outcome} />}
            {cell.score !== null && (
              <span>
                score <b>{beside(cell.score, cell.threshold)}</b>
                {cell.threshold !== null && <span class="muted">, wanted at least {asWritten(cell.threshold)}</span>}
              </span>
            )}
            {p.baseline !== undefined && trial >= 0 && <Before table={table} baseline={p.baseline} trial={trial} />}
          </p>
          <p class="drawer-facts">{facts(p).join(" · ")}</p>
        </>
      )}
      <Repeats {...p} />
    </>
  );
}

function facts({ head, cell, table, trial }: Props): readonly string[] {
  const found: string[] = [];
  if (cell.latency_s !== null) found.push(seconds(cell.latency_s));
  if (cell.tokens_in !== null || cell.tokens_out !== null) {
    found.push(`${grouped(cell.tokens_in ?? 0)} → ${grouped(cell.tokens_out ?? 0)} tokens`);
  }
  const calls = trial < 0 ? cell.calls.length : table.calls[trial]!;
  if (calls > 0 || cell.cost_usd !== null) found.push(spent(cell.cost_usd, { scripted: head.scripted, calls }));
  const cached = trial < 0 ? 0 : table.cached[trial]!;
  if (calls > 0) {
    const parts = cached > 0 ? [`${cached === calls ? "all" : grouped(cached)} replayed`] : [];
    if (cell.judged !== null && cell.judged.calls > 0) {
      const price = cell.judged.cost_usd === null ? "" : ` for ${money(cell.judged.cost_usd)}`;
      parts.unshift(`${grouped(cell.judged.calls)} to judges${price}`);
    }
    found.push(parts.length > 0 ? `${count(calls, "call")}: ${parts.join(", ")}` : count(calls, "call"));
  }
  return found.filter((fact) => fact !== "");
}

function Before({ table, baseline, trial }: { table: Table; baseline: Baseline; trial: number }) {
  const before = baseline.before(trial);
  if (before === undefined) return <span class="muted">not in the baseline</span>;
  const { kind, words } = changeSaid(sideOf(baseline.table, [baseline.place(trial)]), sideOf(table, [trial]), baseline.otherTest(table.row[trial]!, table.variant[trial]!));
  return (
    <span class={`before before-${kind}`}>
      {words !== "±0" && <b>{words}</b>} baseline: {sign(before.outcome)} {word(before.outcome)}
      {!Number.isNaN(before.score) && ` ${number(before.score)}`}
    </span>
  );
}

function Repeats({ table, trial, hidden, open }: Props) {
  if (trial < 0) return null;
  const trials = table.cell(table.row[trial]!, table.variant[trial]!);
  if (trials.length < 2) return null;
  return (
    <div class="repeats" role="group" aria-label="Repeats">
      <span class="muted">Repeat</span>
      {trials.map((each) => {
        const outcome = table.outcome[each]!;
        const said = hidden ? `repeat ${table.repeat[each]! + 1}` : `repeat ${table.repeat[each]! + 1}: ${word(outcome)}`;
        return (
          <button
            key={each} type="button" class="button small" aria-current={each === trial ? "true" : undefined} aria-label={said} title={said}
            onClick={() => open(table.index[each]!)}
          >
            {table.repeat[each]! + 1}
            {!hidden && <Mark outcome={outcome} short />}
          </button>
        );
      })}
    </div>
  );
}
