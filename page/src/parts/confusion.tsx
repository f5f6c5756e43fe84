/** What was taken for what: a confusion matrix for each column, with precision and recall of each label. */
import type { Confusion, LabelRow, RateInterval } from "../data/source";
import { rateFrom } from "../model/rate";
import { count, grouped, interval, percents } from "./marks";
import { shown } from "./text";

const SHADES = 4;

export function Confusions({ of, many }: { of: readonly Confusion[]; many: boolean }) {
  return (
    <>
      <p class="chart-said">
        Rows are the labels that were expected, columns what was answered. Recall: of the trials with a label, the share that was answered so. Precision: of the answers with a label,
        the share that was right. Each with its 95 % interval, in which a case counts once.
      </p>
      {of.map((each) => <Matrix key={each.column} of={each} many={many} />)}
    </>
  );
}

function Matrix({ of, many }: { of: Confusion; many: boolean }) {
  const elsewhere = of.labels.some((row) => row.elsewhere > 0);
  const name = many ? `Labels of ${of.column}` : "Labels";
  return (
    <>
      {many && <h3 class="verdicts-of">{shown(of.column)}</h3>}
      {of.errors > 0 && <p class="note">{`${count(of.errors, "trial")} in error may have been answered with any label, so precision and recall may be ranges.`}</p>}
      <div class="table-box confusion-box" tabIndex={0} role="region" aria-label={name}>
        <table class="confusion">
          <thead>
            <tr>
              <th scope="col">expected<span aria-hidden="true"> ↓ </span><span class="muted">answered<span aria-hidden="true"> →</span></span></th>
              {of.answers.map((answer) => <th key={answer ?? 0} scope="col" class={answer === null ? "n muted" : "n"}>{answer === null ? "(no label)" : shown(answer)}</th>)}
              {elsewhere && <th scope="col" class="n muted">(another)</th>}
              <th scope="col">Recall</th><th scope="col">Precision</th>
            </tr>
          </thead>
          <tbody>{of.labels.map((row) => <Row key={row.label} of={row} answers={of.answers} elsewhere={elsewhere} />)}</tbody>
        </table>
      </div>
      {of.more > 0 && <p class="note">{`${count(of.more, "more label")}, of fewer trials, in the JSON export.`}</p>}
    </>
  );
}

function Row({ of, answers, elsewhere }: { of: LabelRow; answers: Confusion["answers"]; elsewhere: boolean }) {
  const all = of.answered.reduce((sum, n) => sum + n, of.elsewhere);
  return (
    <tr>
      <th scope="row">{shown(of.label)}</th>
      {of.answered.map((n, i) => <td key={answers[i] ?? 0} class={shade(n, all, answers[i] === of.label)}>{grouped(n)}</td>)}
      {elsewhere && <td class={shade(of.elsewhere, all, false)}>{grouped(of.elsewhere)}</td>}
      <Share of={of.recall} /><Share of={of.precision} />
    </tr>
  );
}

/** Darker the larger its part of the row is; in colours of right and wrong. */
function shade(n: number, all: number, right: boolean): string {
  if (n === 0) return "n confusion-none";
  return `n confusion-${right ? "right" : "wrong"} shade-${Math.max(1, Math.ceil((SHADES * n) / all))}`;
}

function Share({ of }: { of: RateInterval | null }) {
  const rate = rateFrom(of);
  return <td class="confusion-share">{rate === null ? "–" : <><b>{percents(rate)}</b> [{interval(rate.low, rate.high)}]</>}</td>;
}
