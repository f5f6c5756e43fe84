/** A cell asked again: what of it is edited, what that may cost, its run, and both answers beside each other. */
import { useEffect, useState } from "preact/hooks";
import { about, problemOf, type Problem } from "../data/problem";
import type { AskEstimate, AskOffer, Asked, Cell, DataSource, EstimatedCalls, Head } from "../data/source";
import { visible } from "../model/visible";
import { START, write } from "../state/url";
import { Beside, Comparing } from "./beside";
import { count, grouped, money } from "./marks";
import { shown, told } from "./text";
import { TroubleLine } from "./told";

interface Draft {
  readonly offer?: AskOffer;
  readonly prompt: string;
  readonly values: Readonly<Record<string, string>>;
  /** The variant whose model is asked; -1 for one that is typed. */
  readonly variant: number;
  readonly model: string;
  readonly budget: string;
  readonly estimate?: AskEstimate | undefined;
  /** The project's files are being read. */
  readonly busy: boolean;
  /** Another one after each edit: an estimate of what was there before is none. */
  readonly stamp?: object;
  readonly problem?: Problem | undefined;
  /** The run that was begun. */
  readonly run?: string;
}

const NEW: Draft = { prompt: "", values: {}, variant: 0, model: "", budget: "", busy: false };
const LOOK_EVERY = 2_000; // ms: a process that is killed says nothing
/** What is typed stays while other tabs and cells are looked at. */
const drafts = new Map<string, Draft>();

interface Props {
  readonly source: DataSource;
  readonly head: Head;
  readonly cell: Cell;
  readonly md: boolean;
  readonly setMd: (md: boolean) => void;
}

export function AskTab(p: Props) {
  const { source, head, cell } = p;
  const key = `${head.id} ${cell.index}`;
  const [draft, set] = useState(drafts.get(key) ?? NEW);
  const put = (change: Partial<Draft>): void => {
    const next = { ...(drafts.get(key) ?? NEW), ...change };
    drafts.set(key, next);
    set(next);
  };
  const edit = (change: Partial<Draft>): void => put({ ...change, estimate: undefined, stamp: {} });
  const ask = (what: () => Asked, then: (answer: never) => Partial<Draft>): void => {
    if (drafts.get(key)?.busy) return;
    put({ busy: true, problem: undefined });
    Promise.resolve()
      .then(() => source.ask!(head.id, cell.index, what()))
      .then((answer) => put({ busy: false, ...then(answer as never) }), (thrown: unknown) => put({ busy: false, problem: problemOf(thrown) }));
  };
  useEffect(() => {
    if (draft.offer === undefined) ask(() => ({ do: "offer" }), begin);
  }, []);
  const { offer, estimate, run, busy } = draft;
  const field = (name: string, value: string, change: (value: string) => void) => (
    <label key={name}>{shown(name)} <textarea class="control" dir="auto" rows={Math.min(12, value.split("\n").length + 1)} value={value} onInput={(event) => change(event.currentTarget.value)} /></label>
  );
  return (
    <div class="ask">
      {offer !== undefined && (
        <>
          {offer.notes.map((note) => <p key={note} class="note">{told(note)}</p>)}
          {offer.prompt !== null && field("Prompt", draft.prompt, (prompt) => edit({ prompt }))}
          {Object.keys(draft.values).map((name) => field(name, draft.values[name]!, (value) => edit({ values: { ...draft.values, [name]: value } })))}
          {offer.model !== null && (
            <label>Model <select class="control" value={draft.variant} onChange={(event) => edit({ variant: +event.currentTarget.value })}>
              {offer.models.map(({ variant, label }) => <option key={variant} value={variant}>{visible(label)}</option>)}
              <option value={-1}>Another…</option>
            </select></label>
          )}
          {draft.variant < 0 && <label>Its id, as openai:chat:gpt-5-mini <input class="control" value={draft.model} onInput={(event) => edit({ model: event.currentTarget.value })} /></label>}
          {estimate !== undefined && (
            <>
              <ul class="checks">{estimate.calls.map((calls, i) => <li key={i}>{shown(words(calls, estimate.bounded, head.scripted))}</li>)}</ul>
              <label>Budget in US dollars, or none <input class="control" value={draft.budget} onInput={(event) => put({ budget: event.currentTarget.value })} /></label>
            </>
          )}
          <div class="run-dialog-ends">
            <button type="button" class="button" onClick={() => ask(() => ({ do: "estimate", ...edits(offer, draft) }), (estimate: AskEstimate) => (drafts.get(key)!.stamp === draft.stamp ? { estimate, budget: budget(estimate, offer) } : {}))}>Estimate</button>
            {estimate !== undefined && <button type="button" class="button primary" onClick={() => ask(() => ({ do: "run", ...edits(offer, draft), max_cost_usd: dollars(draft.budget) }), ({ run }: { run: string }) => ({ run }))}>Run</button>}
          </div>
        </>
      )}
      {busy && <p class="note" role="status">Reading the files…</p>}
      <TroubleLine problem={draft.problem} />
      {run !== undefined && <Result key={run} {...p} run={run} />}
    </div>
  );
}

/** The run of the edited cell while it goes on, and what it came to beside the cell as it was. */
function Result({ source, head: { id }, cell, md, setMd, run }: Props & { run: string }) {
  const [now, set] = useState<{ readonly head?: Head; readonly own?: Cell | undefined; readonly problem?: Problem }>({});
  useEffect(() => {
    let over = false;
    const look = async (): Promise<void> => {
      try {
        const head = await source.head(run);
        const own = head.totals.trials > 0 ? await source.cell(run, 0) : undefined;
        if (over) return;
        set({ head, own });
        if (!head.alive) end();
      } catch (thrown) {
        if (!over) set({ problem: problemOf(thrown) });
      }
    };
    const unwatch = source.watch(run, () => void look());
    const timer = setInterval(() => void look(), LOOK_EVERY);
    const end = (): void => {
      over = true;
      unwatch();
      clearInterval(timer);
    };
    return end;
  }, [run]);
  const { head, own } = now;
  const stop = (): void => void source.stop!(run).catch(() => undefined); // it has ended meanwhile
  return (
    <div>
      <p role="status">
        {head === undefined || head.alive ? <>Running{head !== undefined && `: ${count(head.totals.calls, "call")}`} <button type="button" class="button small" onClick={stop}>Stop</button></> : shown(head.message || head.status)}
        {" "}<a href={write({ ...START, run })}>Open the run</a>
      </p>
      <TroubleLine problem={now.problem} />
      {own?.error && <p class="line-problem">{shown(own.error.message)}</p>}
      {own !== undefined && (
        <Comparing md={md} setMd={setMd} apart={false} setApart={undefined}>
          <Beside apart={false} others={[{ name: `${id.slice(0, 10)} cell ${cell.index}`, value: cell.output, cell }]} own={{ name: "Edited", value: own.output, cell: own }} md={md} />
        </Comparing>
      )}
    </div>
  );
}

function begin(offer: AskOffer): Partial<Draft> {
  const values = Object.fromEntries(Object.entries(offer.values).map(([name, value]) => [name, asTyped(value)]));
  return { offer, prompt: offer.prompt ?? "", values, variant: offer.model ?? 0 };
}

function asTyped(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is otherwise than in the cell. */
function edits(offer: AskOffer, { prompt, values, variant, model }: Draft): Omit<Asked, "do"> {
  const changed = Object.entries(offer.values).filter(([name, value]) => values[name] !== asTyped(value));
  return {
    prompt: prompt === (offer.prompt ?? "") ? null : prompt,
    values: Object.fromEntries(changed.map(([name, value]) => [name, typeof value === "string" ? values[name] : parsed(name, values[name]!)])),
    variant: variant < 0 || variant === offer.model || offer.model === null ? null : variant,
    model: variant < 0 ? model.trim() : "",
  };
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw about(name, thrown);
  }
}

/** The server refuses what is no number. */
function dollars(text: string): number | string | null {
  return text.trim() === "" ? null : isNaN(+text) ? text : +text;
}

/** What the calls may cost, in cents; empty where that is not known. */
function budget({ calls, bounded }: AskEstimate, { max_cost_usd }: AskOffer): string {
  if (!bounded) return String(max_cost_usd ?? 1);
  if (calls.some(({ cost_usd }) => cost_usd === null)) return "";
  const cents = Math.ceil(calls.reduce((sum, { cost_usd }) => sum + cost_usd!, 0) * 100) || 1;
  return String(Math.min(cents / 100, max_cost_usd ?? cents));
}

function words({ provider, role, calls, tokens_in, tokens_out, cost_usd }: EstimatedCalls, bounded: boolean, scripted: boolean): string {
  const most = bounded ? "at most " : "";
  return [
    `${bounded ? role : "Its code decides what is asked. Last time:"} ${provider}, ${count(calls, "call")}`,
    tokens_in === null ? [] : `about ${grouped(tokens_in)} tokens in`,
    tokens_out === null ? [] : `${most}${grouped(tokens_out)} out`,
    cost_usd === null ? (scripted ? "replies scripted" : "price unknown") : most + money(cost_usd),
  ].flat().join(", ");
}
