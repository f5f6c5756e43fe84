/** Messages one by one, and the variables that a prompt was made of. */
import type { Message } from "../model/conversation";
import { looksLikeMarkdown } from "../model/looks";
import { asText } from "../model/visible";
import { Json } from "./json";
import { Markdown } from "./markdown";
import { Clipped, shown } from "./text";

/** `md`: what looks like Markdown is drawn as such. Longer texts than `most` characters or so many lines are cut, until they are asked for. */
export function Messages({ messages, most = 6000, lines = 60, md = false }: { messages: readonly Message[]; most?: number; lines?: number; md?: boolean }) {
  return (
    <ol class="messages">
      {messages.map((message, i) => (
        <li key={i} tabIndex={-1} class={`message ${/^(?:assistant|model|ai)$/i.test(message.role) ? "from-assistant" : /^(?:user|human)$/i.test(message.role) ? "from-user" : ""}`}>
          <span class="message-role">{shown(message.role)}</span>
          {message.text === "" ? null : md && message.text.length <= most && looksLikeMarkdown(message.text) ? <Markdown text={message.text} /> : <Clipped text={message.text} most={most} lines={lines} />}
          {message.rest.map((part, at) => (
            <Json key={at} value={part} open={1} />
          ))}
        </li>
      ))}
    </ol>
  );
}

/** Names and what they stand for: simple values as text, others as a tree. */
export function Fields({ of }: { of: Readonly<Record<string, unknown>> }) {
  return (
    <dl class="fields">
      {Object.entries(of).map(([name, value]) => (
        <div key={name} class="field">
          <dt>{shown(name)}</dt>
          <dd>{typeof value === "object" && value !== null ? <Json value={value} /> : <Clipped text={asText(value)} most={3000} lines={20} />}</dd>
        </div>
      ))}
    </dl>
  );
}
