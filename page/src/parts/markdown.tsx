/**
 * Markdown, drawn without a step over HTML: the tokens of it become elements, one by one, of a list that ends here.
 *
 * HTML in it is shown as the text that it is; a link is its words and its address; an image is never asked for from
 * elsewhere. Once somebody has asked for them, links can be followed, and images that are in the text are shown.
 */
import { Fragment, h, type ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { clipped } from "../model/visible";
import { Follow, Picture } from "./links";
import { shown, Text } from "./text";

const LONGEST = 200_000; // characters; a longer text is shown as it is
const MARKS = 3000; // in one paragraph
const DEEPEST = 24; // what is nested further is shown as it is written

/** The tokens of a text; undefined for one that is too long, or nested too deeply to be read. */
export function tokensOf(text: string): readonly Token[] | undefined {
  if (text.length > LONGEST || tangled(text)) return undefined;
  try {
    return new Lexer({ gfm: true }).lex(text.replaceAll("\r\n", "\n"));
  } catch {
    return undefined; // the stack ended
  }
}

/** Whether it is of the kind that takes a reader of Markdown minutes: thousands of marks in one paragraph, or deep nests. */
function tangled(text: string): boolean {
  if (/(?:(?:[>+*-]|\d\.) +){40}|>{60}/.test(text)) return true;
  return text.split(/\n[^\S\n]*\n/).some((part) => part.length > MARKS && (part.match(/[[\]<>`_~*]/g)?.length ?? 0) > MARKS);
}

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text]);
  if (tokens === undefined) {
    return (
      <>
        <p class="note">Shown as plain text: it is too long or too deeply nested for Markdown.</p>
        <Text text={text} />
      </>
    );
  }
  return (
    <div class="md" dir="auto">
      {blocks(tokens)}
    </div>
  );
}

/** The first part of a text as Markdown, for a cell of the matrix. */
export function MarkdownPreview({ text, most = 600 }: { text: string; most?: number }) {
  const tokens = useMemo(() => tokensOf(clipped(text, most).text), [text, most]);
  if (tokens === undefined) return <span class="preview-text">{shown(clipped(text, most).text)}</span>;
  return (
    <div class="md preview-md" dir="auto">
      {blocks(tokens)}
    </div>
  );
}

/** Elements for these tokens. */
export function blocks(tokens: readonly Token[], depth = 0): ComponentChildren {
  return tokens.map((token, i) => <Fragment key={i}>{drawn(token as MarkedToken, depth)}</Fragment>);
}

function drawn(token: MarkedToken, depth: number): ComponentChildren {
  if (depth > DEEPEST) return said(token.raw);
  const inner = (tokens: readonly Token[] | undefined, text: string): ComponentChildren =>
    tokens === undefined ? said(text) : blocks(tokens, depth + 1);
  switch (token.type) {
    case "space":
      return null;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "heading":
      return (
        <div class={`md-heading md-heading-${token.depth}`} role="heading" aria-level={Math.min(6, token.depth + 3)}>
          {inner(token.tokens, token.text)}
        </div>
      );
    case "paragraph":
      return <p>{inner(token.tokens, token.text)}</p>;
    case "text":
      return inner(token.tokens, token.text);
    case "escape":
      return shown(token.text);
    case "strong":
    case "em":
    case "del":
      return h(token.type, null, inner(token.tokens, token.text));
    case "codespan":
      return <code>{shown(token.text)}</code>;
    case "code":
      return <pre class="md-code">{shown(token.text)}</pre>;
    case "blockquote":
      return <blockquote>{inner(token.tokens, token.text)}</blockquote>;
    case "list":
      return <List of={token} depth={depth} />;
    case "table":
      return <Table of={token} depth={depth} />;
    case "link":
      return (
        <Follow address={token.href}>
          <Link words={inner(token.tokens, token.text)} address={token.href} same={token.text === token.href} />
        </Follow>
      );
    case "image":
      return (
        <Picture address={token.href} words={token.text}>
          <Link words={<>[image: {said(token.text)}]</>} address={token.href} same={false} />
        </Picture>
      );
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    default: // HTML, definitions of links, and what another version may bring
      return <span class="md-raw">{shown(token.raw)}</span>;
  }
}

function Link({ words, address, same }: { words: ComponentChildren; address: string; same: boolean }) {
  return (
    <span class="md-link">
      {!same && words}
      <span class="md-address">{same ? shown(address) : <> ({shown(address)})</>}</span>
    </span>
  );
}

function List({ of, depth }: { of: Tokens.List; depth: number }) {
  const items = of.items.map((item, i) => (
    <li key={i}>
      {item.task && !item.tokens.some((token) => token.type === "checkbox") && (item.checked ? "☑ " : "☐ ")}
      {blocks(item.tokens, depth + 1)}
    </li>
  ));
  return of.ordered ? <ol start={of.start === "" ? 1 : of.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ of, depth }: { of: Tokens.Table; depth: number }) {
  const cells = (row: readonly Tokens.TableCell[], as: "th" | "td"): ComponentChildren =>
    row.map((cell, i) => h(as, { key: i, class: `md-${cell.align ?? "left"}` }, blocks(cell.tokens, depth + 1)));
  return (
    <div class="md-table">
      <table>
        <thead>
          <tr>{cells(of.header, "th")}</tr>
        </thead>
        <tbody>
          {of.rows.map((row, i) => (
            <tr key={i}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00A0" };

/** Words of a token: the usual character references in it are the characters that they stand for. */
function said(text: string): ComponentChildren {
  return shown(
    text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/g, (all, ten, sixteen, name) => {
      if (typeof name === "string") return ENTITIES[name] ?? all;
      const code = typeof ten === "string" ? Number(ten) : Number.parseInt(String(sixteen), 16);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
    }),
  );
}
