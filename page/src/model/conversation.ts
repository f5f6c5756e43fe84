/** What was said between a program and a model, read from requests and replies of the usual shapes. */
import { asJson, asText } from "./visible";

/** One message. What it holds besides text stays as it is. */
export interface Message {
  readonly role: string;
  readonly text: string;
  readonly rest: readonly unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

/** The messages of a request; undefined where it is of another shape. */
export function messagesOf(request: unknown): readonly Message[] | undefined {
  const fields = fieldsOf(request);
  if (fields === undefined) return undefined;
  const body = fieldsOf(fields["body"]) ?? fields;
  const system = body["system"] ?? body["instructions"] ?? fieldsOf(body["systemInstruction"] ?? body["system_instruction"]);
  const first = system === undefined ? [] : [message({ role: "system", content: system })];
  for (const key of ["messages", "input", "contents", "prompt"]) {
    const said = body[key];
    if (typeof said === "string" && said !== "") return [...first, ...(conversationIn(said) ?? [{ role: "user", text: said, rest: [] }])];
    if (Array.isArray(said) && said.length > 0) return [...first, ...said.map(message)];
  }
  return undefined;
}

/** With how many messages both begin. */
export function alike(first: readonly Message[], second: readonly Message[]): number {
  const differ = second.findIndex((message, i) => JSON.stringify(message) !== JSON.stringify(first[i]));
  return differ < 0 ? second.length : differ;
}

/** The messages of a prompt that is a conversation written as JSON; undefined for any other text. */
export function conversationIn(prompt: string): readonly Message[] | undefined {
  const value = asJson(prompt);
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const list: readonly unknown[] = value;
  return list.every((item) => typeof fieldsOf(item)?.["role"] === "string") ? list.map(message) : undefined;
}

function message(given: unknown): Message {
  const fields = fieldsOf(given);
  if (fields === undefined) return { role: "user", text: asText(given), rest: [] };
  const { role, content, parts, type, ...others } = fields;
  const [text, rest] = textIn(content ?? parts ?? []);
  const extra = Object.entries(others).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)); // nothing is no part
  const more = extra.length > 0 ? [Object.fromEntries(extra)] : [];
  const name = typeof role === "string" ? role : typeof type === "string" ? type : "user";
  return { role: name, text, rest: [...rest, ...more] };
}

/** The text of a content: text itself, or parts of which some are text. */
function textIn(content: unknown): [text: string, rest: readonly unknown[]] {
  if (typeof content === "string") return [content, []];
  const list: readonly unknown[] = Array.isArray(content) ? content : [content];
  const texts: string[] = [];
  const rest: unknown[] = [];
  for (const part of list) {
    const fields = fieldsOf(part);
    const text = typeof part === "string" ? part : fields?.["text"];
    if (typeof text === "string") texts.push(text);
    else if (Array.isArray(fields?.["parts"])) texts.push(textIn(fields["parts"])[0]);
    else if (part !== null && part !== undefined) rest.push(part);
  }
  return [texts.join("\n\n"), rest];
}

/** The words of a raw reply; undefined where it is of another shape, or of words has none. */
export function answerIn(response: string): string | undefined {
  const body = fieldsOf(asJson(response));
  if (body === undefined) return undefined;
  const choice = fieldsOf(listOf(body["choices"])[0]);
  const candidate = fieldsOf(fieldsOf(listOf(body["candidates"])[0])?.["content"]);
  const outputs = listOf(body["output"]).map((item) => fieldsOf(item)?.["content"]).flatMap(listOf);
  for (const content of [fieldsOf(choice?.["message"])?.["content"], choice?.["text"], candidate?.["parts"], body["content"], outputs, body["output"]]) {
    const text = content === undefined || content === null ? "" : textIn(content)[0];
    if (text !== "") return text;
  }
  return undefined;
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
