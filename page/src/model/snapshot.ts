/** A run that goes on, as far as its cells are here: one screen tells of one moment. */
import type { Head } from "../data/source";
import { rateOf } from "./rate";
import { ERROR, FAIL, NOT_APPLICABLE, PASS, type Table } from "./table";

/** The head, with the totals and the rate of these cells: it was read a moment before them. */
export function snapshot(head: Head, table: Table): Head {
  const [passed, failed, errors] = [0, 1, 2].map(() => new Int32Array(table.rows.length)) as [Int32Array, Int32Array, Int32Array];
  const cluster = new Int32Array(table.rows.length);
  const outcomes = [0, 0, 0, 0];
  const sums = { calls: 0, cached: 0, tokens_in: 0, tokens_out: 0 };
  for (let i = 0; i < table.size; i++) {
    const [outcome, row] = [table.outcome[i]!, table.row[i]!];
    outcomes[outcome]!++;
    cluster[row] ||= table.cluster[i]!;
    if (outcome !== NOT_APPLICABLE) [passed, failed, errors][outcome]![row]!++;
    sums.calls += table.calls[i]!;
    sums.cached += table.cached[i]!;
    sums.tokens_in += table.tokensIn[i]! || 0;
    sums.tokens_out += table.tokensOut[i]! || 0;
  }
  const rate = rateOf({ passed, failed, errors, cluster });
  return {
    ...head,
    totals: {
      trials: table.size, passed: outcomes[PASS]!, failed: outcomes[FAIL]!, errors: outcomes[ERROR]!, not_applicable: outcomes[NOT_APPLICABLE]!,
      ...sums, cost_usd: head.totals.cost_usd, // what was spent: cells have what their calls cost, whoever paid
    },
    rate: rate === undefined ? null : { ...rate, value: rate.least === rate.most ? rate.least : null },
  };
}
