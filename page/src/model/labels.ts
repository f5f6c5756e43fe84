/** What people said of trials: events that are only ever added, and what stands when all of them are read. */
import type { Label, NewLabel } from "../data/source";
import { rateOf, type Rate } from "./rate";
import { FAIL, PASS, type Table } from "./table";

export type Field = Label["field"];
export type Value = Label["value"];

/** What becomes of a trace in a dataset. */
export type Decision = "keep" | "leave out";

/** What an author says of a trial now. */
export interface Said {
  readonly author: string;
  readonly verdict?: "pass" | "fail";
  readonly score?: number;
  readonly star?: boolean;
  readonly note?: string;
  readonly code?: string;
  /** Of a dataset that is drawn from the run. */
  readonly dataset?: Decision;
  /** Of judged metrics and of drawn pairs, each with the metric's or the ranking's name. */
  readonly metrics?: readonly { readonly metric: string; readonly field: Field; readonly value: string }[];
  /** The verdict or the score was given while the variant and the verdicts were hidden. */
  readonly blind: boolean;
}

/** What stands of these events of one trial, by author, in the order in which they first spoke. */
export function standing(events: readonly Label[]): readonly Said[] {
  const by = new Map<string, Map<string, Label>>();
  for (const event of events) {
    const fields = by.get(event.author) ?? new Map<string, Label>();
    fields.set(nameOf(event), event);
    by.set(event.author, fields);
  }
  return Array.from(by, ([author, fields]) => said(author, fields)).filter(
    (one) => one.metrics !== undefined || one.verdict !== undefined || one.score !== undefined || one.star !== undefined || one.note !== undefined || one.code !== undefined || one.dataset !== undefined,
  );
}

/** What a label is about: its field, with the metric where it is of one: `verdict@policy`. */
export const nameOf = ({ field, metric }: Pick<Label, "field" | "metric">): string => (metric ? `${field}@${metric}` : field);

function said(author: string, fields: ReadonlyMap<string, Label>): Said {
  const value = (field: Field): Value => fields.get(field)?.value ?? null;
  const [verdict, score, star, note, code] = [value("verdict"), value("score"), value("star"), value("note"), value("code")];
  const dataset = value("dataset");
  const metrics = [...fields.values()].flatMap(({ metric, field, value: given }) =>
    metric && given !== null ? [{ metric, field, value: String(given) }] : [],
  );
  return {
    author,
    ...(metrics.length > 0 ? { metrics } : {}),
    ...(verdict === "pass" || verdict === "fail" ? { verdict } : {}),
    ...(typeof score === "number" ? { score } : {}),
    ...(star === true ? { star } : {}),
    ...(typeof note === "string" && note !== "" ? { note } : {}),
    ...(typeof code === "string" && code !== "" ? { code } : {}),
    ...(dataset === "keep" || dataset === "leave out" ? { dataset } : {}),
    blind: [fields.get("verdict"), fields.get("score")].some((event) => event?.blind === true && event.value !== null),
  };
}

/** How far the review of a dataset is, over the drawn trials' places: the last decision on a trial counts, whoever made it. */
export function reviewed(places: readonly number[], labels: readonly Label[]): { readonly kept: number; readonly leftOut: number } {
  const mine = new Map<string, Label>();
  for (const label of labels) if (label.field === "dataset") mine.set(JSON.stringify([label.index, label.author]), label);
  const last = new Map<number, Label>();
  for (const label of mine.values()) {
    const before = last.get(label.index);
    if (label.value !== null && (before === undefined || before.seq < label.seq)) last.set(label.index, label);
  }
  const values = places.map((place) => last.get(place)?.value);
  return { kept: values.filter((value) => value === "keep").length, leftOut: values.filter((value) => value === "leave out").length };
}

/**
 * The notes on one trial that nobody took back, oldest first. Each is added to those before it; the same author's note from
 * before the last one, given again, takes the last one back, as `takenBack` does it, and none takes back all of theirs.
 */
export function thread(events: readonly Label[]): readonly Label[] {
  const by = new Map<string, Label[]>();
  for (const event of events) {
    if (event.field !== "note") continue;
    const notes = by.get(event.author) ?? [];
    by.set(event.author, notes);
    if (!event.value) notes.length = 0;
    else if (event.value === notes.at(-2)?.value) notes.pop();
    else if (event.value !== notes.at(-1)?.value) notes.push(event);
  }
  return [...by.values()].flat().sort((a, b) => a.seq - b.seq);
}

/** The events of one trial, oldest first. */
export function eventsOf(labels: readonly Label[], index: number): readonly Label[] {
  return labels.filter((label) => label.index === index).sort((a, b) => a.seq - b.seq);
}

/**
 * The event that takes back the last thing that this author said of a trial, and puts in its place what stood before;
 * undefined where nothing is left. An event that restored what stood before was itself such a step back: going back
 * goes on before it.
 */
export function takenBack(events: readonly Label[], author: string): Pick<NewLabel, "field" | "value"> | undefined {
  const steps: { field: Field; before: Value }[] = [];
  const now = new Map<Field, Value>();
  for (const { field, value, author: whose, metric } of events) {
    if (whose !== author || metric) continue; // those of metrics are taken back where they are given
    const before = now.get(field) ?? null;
    now.set(field, value);
    const last = steps.at(-1);
    if (last?.field === field && last.before === value) steps.pop();
    else if (before !== value) steps.push({ field, before });
  }
  const last = steps.at(-1);
  return last === undefined ? undefined : { field: last.field, value: last.before };
}

/** How far people and the run's verdicts go together. */
export interface Agreement {
  /** People's verdicts on trials that the run passed or failed; a trial counts once for each of its authors. */
  readonly n: number;
  readonly agreed: number;
  readonly cases: number;
  /** The share that agreed, over cases; null for none. */
  readonly rate: Rate | null;
  /** The run said pass where people said fail, and the other way round. */
  readonly tooKind: number;
  readonly tooStrict: number;
  /** How many were given blind. */
  readonly blind: number;
}

export function agreement(table: Table, labels: readonly Label[]): Agreement {
  const byTrial = new Map<number, Label[]>();
  for (const label of [...labels].sort((a, b) => a.seq - b.seq)) {
    const events = byTrial.get(label.index);
    if (events === undefined) byTrial.set(label.index, [label]);
    else events.push(label);
  }
  const cases = new Map<number, [number, number]>();
  const sum = { n: 0, agreed: 0, tooKind: 0, tooStrict: 0, blind: 0 };
  for (const [index, events] of byTrial) {
    const trial = table.at(index);
    const outcome = trial < 0 ? undefined : table.outcome[trial];
    if (outcome !== PASS && outcome !== FAIL) continue;
    for (const { verdict, blind } of standing(events)) {
      if (verdict === undefined) continue;
      const same = (verdict === "pass") === (outcome === PASS);
      const cluster = cases.get(table.row[trial]!) ?? [0, 0];
      cases.set(table.row[trial]!, [cluster[0] + Number(same), cluster[1] + 1]);
      sum.n++;
      sum.agreed += Number(same);
      sum.tooKind += Number(!same && verdict === "fail");
      sum.tooStrict += Number(!same && verdict === "pass");
      sum.blind += Number(blind);
    }
  }
  const agreed = Array.from(cases.values(), ([same]) => same);
  const failed = Array.from(cases.values(), ([same, n]) => n - same);
  const rate = rateOf({ passed: agreed, failed, errors: agreed.map(() => 0) }) ?? null;
  return { ...sum, cases: cases.size, rate };
}
