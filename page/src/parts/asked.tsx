/** What was asked, above the answer: the last message of the user and what follows it; those before are folded. */
import type { Cell } from "../data/source";
import { messagesOf, type Message } from "../model/conversation";
import { Fields, Messages } from "./conversation";
import { count } from "./marks";

/** `told`: the turns that the output repeats. `hidden`: the prompt would tell the variant. */
export function Asked({ cell, hidden, told }: { cell: Cell; hidden: boolean; told: readonly Message[] }) {
  const messages = hidden ? undefined : askedIn(cell)?.filter(({ text }) => !told.some((turn) => turn.text === text));
  if ((messages ?? Object.keys(cell.vars)).length === 0) return null;
  const last = Math.max(0, messages?.findLastIndex(({ role }) => /^(?:user|human)$/i.test(role)) ?? 0);
  return (
    <section class="asked" aria-label="Asked">
      <h3 class="box-title">Asked</h3>
      {messages !== undefined ? (
        <>
          {last > 0 && <details class="raw"><summary>{count(last, "message")} before</summary><Messages messages={messages.slice(0, last)} /></details>}
          <Messages messages={messages.slice(last)} most={700} lines={8} />
        </>
      ) : (
        <Fields of={cell.vars} />
      )}
    </section>
  );
}

/** The prompt's messages; of a case that the eval's own code asked about, those of the first call. */
function askedIn({ prompt, calls }: Cell): readonly Message[] | undefined {
  return messagesOf(prompt === "" ? calls.find(({ role }) => role === "subject")?.request : { prompt });
}
