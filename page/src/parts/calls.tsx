/** What was sent to models for a trial, and what came back: from the journal, each call with its origin and its price. */
import { useState } from "preact/hooks";
import { Problem, problemOf } from "../data/problem";
import type { Call } from "../data/source";
import { alike, answerIn, messagesOf } from "../model/conversation";
import { asJson, asText } from "../model/visible";
import { Copy } from "./copy";
import { Json } from "./json";
import { Messages } from "./conversation";
import { count, grouped, money, seconds } from "./marks";
import { shown, Text, TextBox, told } from "./text";

const ORIGINS = {
  provider: ["provider", "sent to the provider, and paid for"],
  cache: ["cache", "from the cache of replies: nothing was sent"],
  journal: ["journal", "answered before this run was resumed: nothing was sent again"],
  script: ["script", "from offline.jsonl: nothing was sent to a provider"],
  replay: ["replay", "recorded by the run or the cassette that this one replays: nothing was sent"],
} as const;

/** `all` counts those, too, that the journal does not have: of a run that was settled elsewhere, and what costs nothing. */
export function Calls({ calls, all }: { calls: readonly Call[]; all: number }) {
  const unknown = all - calls.length;
  if (calls.length === 0 && unknown <= 0) return <p class="note">No model was called for this trial.</p>;
  return (
    <div class="calls">
      {unknown > 0 && <p class="note">{`${count(unknown, "call")} not recorded: free, or made before the run was imported.`}</p>}
      {calls.map((call, i) => (
        <CallCard key={i} call={call} before={calls[i - 1]} nth={i + 1} open={calls.length === 1} />
      ))}
    </div>
  );
}

/** `before` is the call before: the turns that both sent are folded. */
export function CallCard({ call, before, nth, open = false }: { call: Call; before?: Call | undefined; nth?: number; open?: boolean }) {
  const [unfolded, setUnfolded] = useState(open);
  return (
    <details class={call.error === "" ? "card" : "card card-error"} open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>
        {nth !== undefined && <span class="muted">{nth}</span>}
        <b>{call.role}</b>
        <span class="card-name">{shown(call.provider)}</span>
        <Origin call={call} />
        <span class="card-facts">{facts(call).join(" · ")}</span>
      </summary>
      {unfolded && (call.whole === undefined ? <CallBody call={call} before={before} /> : <FirstPart call={call} whole={call.whole} />)}
    </details>
  );
}

function Origin({ call }: { call: Call }) {
  if (call.origin === null) {
    return <span class="chip chip-error" title="No answer is recorded: the call is in progress, or the run was stopped during it">no answer</span>;
  }
  const [said, meaning] = ORIGINS[call.origin];
  return <span class="chip" title={meaning}>{said}</span>;
}

/** Latency, tokens, cost, attempts: what is known of them. */
function facts(call: Call): readonly string[] {
  const found = [seconds(call.latency_s)];
  if (call.tokens_in !== null || call.tokens_out !== null) {
    found.push(`${grouped(call.tokens_in ?? 0)} → ${grouped(call.tokens_out ?? 0)} tokens`);
  }
  if (call.cost_usd !== null || call.origin !== "script") found.push(call.cost_usd === null ? "cost unknown" : money(call.cost_usd));
  if (call.attempts > 1) found.push(count(call.attempts, "attempt"));
  if (call.wasted > 0) found.push(`${call.wasted} may have been charged for in vain`);
  return found;
}

/** A call so long that it comes in two parts: how it begins, and the whole when it is asked for. */
function FirstPart({ call, whole }: { call: Call; whole: () => Promise<Call> }) {
  const [all, set] = useState<Call | "coming" | Problem>();
  if (all !== undefined && all !== "coming" && !(all instanceof Problem)) return <CallBody call={all} />;
  const [sent, came] = call.sizes ?? [0, 0];
  const fetchIt = (): void => {
    set("coming");
    whole().then(set, (thrown: unknown) => set(problemOf(thrown)));
  };
  return (
    <div class="card-body">
      <p class="note">{`${bytes(sent)} were sent, and ${bytes(came)} came back. This is how they begin.`}</p>
      <button type="button" class="button small" disabled={all === "coming"} onClick={fetchIt}>{all === "coming" ? "Reading…" : "Show all of it"}</button>
      {all instanceof Problem && <p class="note" role="alert">{all.message}</p>}
      <TextBox title="Request as sent" text={asText(call.request)} />
      <TextBox title="Reply as it came" text={call.response} />
    </div>
  );
}

function bytes(n: number): string {
  return n < 1e6 ? `${grouped(Math.ceil(n / 1e3))} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

function CallBody({ call, before }: { call: Call; before?: Call | undefined }) {
  const messages = messagesOf(call.request);
  const same = before === undefined || messages === undefined ? 0 : alike(messagesOf(before.request) ?? [], messages);
  const answer = answerIn(call.response);
  return (
    <div class="card-body">
      {call.error !== "" && (
        <div class="problem-box">
          <b>{told(call.error)}</b>
          <Text text={call.message} />
        </div>
      )}
      {call.model !== "" && <p class="note">Answered by {shown(call.model)}</p>}
      {messages !== undefined && (
        <>
          <h3 class="sub">Sent</h3>
          {same > 0 && <details class="raw"><summary>{`${count(same, "message")} as in the call before`}</summary><Messages messages={messages.slice(0, same)} /></details>}
          <Messages messages={messages.slice(same)} />
        </>
      )}
      {answer !== undefined && (
        <>
          <h3 class="sub">Answer</h3>
          <div class="message from-assistant"><Text text={answer} /></div>
        </>
      )}
      <Raw title="Request as sent" value={call.request} open={messages === undefined} />
      <RawReply response={call.response} open={answer === undefined} />
    </div>
  );
}

function RawReply({ response, open }: { response: string; open: boolean }) {
  const value = asJson(response);
  if (value !== undefined) return <Raw title="Reply as it came" value={value} open={open} copy={response} />;
  if (response === "") return <p class="note">No reply.</p>;
  return <TextBox title="Reply as it came" text={response} />;
}

function Raw({ title, value, open, copy }: { title: string; value: unknown; open: boolean; copy?: string }) {
  const [unfolded, setUnfolded] = useState(open);
  return (
    <details class="raw" open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>{title}</summary>
      {unfolded && (
        <>
          <Copy text={() => copy ?? JSON.stringify(value, null, 2)} what="Copy all" />
          <Json value={value} open={3} />
        </>
      )}
    </details>
  );
}
