/** What else is known of a trial: its prompt and variables; its metadata, log, test and answer. */
import type { Cell } from "../data/source";
import { conversationIn } from "../model/conversation";
import { Fields, Messages } from "./conversation";
import { Json } from "./json";
import { TextBox } from "./text";

export function PromptTab({ cell, hidden }: { cell: Cell; hidden: boolean }) {
  const messages = conversationIn(cell.prompt);
  return (
    <>
      {!hidden && cell.prompt !== "" && (
        <TextBox title="Prompt as sent" text={cell.prompt}>
          {messages === undefined ? undefined : <Messages messages={messages} />}
        </TextBox>
      )}
      {!hidden && cell.prompt === "" && <p class="note">The eval's own code asked the model: what was sent is under Calls.</p>}
      <Part title="Variables" of={cell.vars} none="The case has no variables." />
    </>
  );
}

export function MoreTab({ cell }: { cell: Cell }) {
  return (
    <>
      <Part title="Metadata of the case" of={cell.metadata} none="The case has no metadata." />
      {cell.log !== "" && <TextBox title="Printed by your code" text={cell.log} />}
      {Object.keys(cell.test).length > 0 && (
        <section class="box">
          <h3 class="box-title">Test as configured</h3>
          <Json value={cell.test} />
        </section>
      )}
      {Object.keys(cell.answer).length > 0 && <Part title="About the answer" of={cell.answer} none="" />}
    </>
  );
}

function Part({ title, of, none }: { title: string; of: Readonly<Record<string, unknown>>; none: string }) {
  return (
    <section class="box">
      <h3 class="box-title">{title}</h3>
      {Object.keys(of).length > 0 ? <Fields of={of} /> : <p class="note">{none}</p>}
    </section>
  );
}
