/** Text that somebody else wrote, of any size: always text nodes, and nothing in it that cannot be seen. */
import { Fragment, type ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { chunks, clipped, codeName, hasLongLine, pieces, quoted, signOf, sizeOf } from "../model/visible";
import { Copy } from "./copy";

const LONG_WORD = 2_000; // characters from which on a text is looked at for long words
const LONG = 20_000; // characters from which on text is drawn in chunks

/** The text, with a sign for each character that would not be seen. */
export function shown(text: string): ComponentChildren {
  const parts = pieces(text);
  if (parts.every((part) => !part.special)) return parts.length === 0 ? "" : broken(parts[0]!.text);
  return parts.map((part, i) =>
    part.special ? (
      <span key={i} class="special" title={codeName(part.text.codePointAt(0) ?? 0)}>
        {signOf(part.text)}
      </span>
    ) : (
      <Fragment key={i}>{broken(part.text)}</Fragment>
    ),
  );
}

/** A message of ours: what it puts between backticks is shown as code. */
export function told(message: string): ComponentChildren {
  return quoted(message).map(({ text, code }, i) => (code ? <code key={i}>{shown(text)}</code> : <Fragment key={i}>{shown(text)}</Fragment>));
}

/** Words of thousands of letters in pieces, between which a line may end: else a browser measures them again for each line. */
function broken(text: string): ComponentChildren {
  if (text.length < LONG_WORD || !/\S{400}/.test(text)) return text;
  const found: ComponentChildren[] = [];
  for (const part of text.split(/(\S{200}(?=\S))/u)) if (part !== "") found.push(part, <wbr key={found.length} />);
  return found.slice(0, -1);
}

/** Text alone, with its line breaks. */
export function Text({ text, wrap = true }: { text: string; wrap?: boolean }) {
  const parts = useMemo(() => (text.length > LONG ? chunks(text) : []), [text]);
  const style = wrap ? "text" : "text text-long-lines";
  if (parts.length === 0) return <pre class={style} dir="auto">{shown(text)}</pre>;
  return (
    <div class={style} dir="auto">
      {parts.map((part, i) => (
        <pre
          key={i}
          class={part.open ? "text-chunk text-open" : "text-chunk"}
          style={{ "--lines": Math.max(part.lines, wrap ? Math.ceil(part.text.length / 90) : 1) }}
        >
          {shown(part.text)}
        </pre>
      ))}
    </div>
  );
}

/** Text under a heading, with what can be done with it. `children` stand in place of the plain text. */
export function TextBox(p: {
  title: ComponentChildren;
  text: string;
  tools?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const [wrap, setWrap] = useState(true);
  const plain = p.children === undefined;
  const wide = useMemo(() => plain && hasLongLine(p.text, 90), [plain, p.text]);
  return (
    <section class="box">
      <header class="box-head">
        <h3 class="box-title">{p.title}</h3>
        <span class="box-size">{p.text === "" ? "empty" : sizeOf(p.text.length)}</span>
        <span class="box-tools">
          {p.tools}
          {wide && (
            <button type="button" class="button quiet small" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
              Wrap
            </button>
          )}
          <Copy text={p.text} what="Copy all" />
        </span>
      </header>
      {plain ? <Text text={p.text} wrap={wrap || !wide} /> : p.children}
    </section>
  );
}

/** The first part of a text, for a cell of the matrix. */
export function TextPreview({ text, most = 600 }: { text: string; most?: number }) {
  const part = clipped(text, most);
  return (
    <span class="preview-text" dir="auto">
      {shown(part.text)}
      {part.more && "…"}
    </span>
  );
}

/** The first lines of a text, and the rest on demand. */
export function Clipped({ text, most = 600, lines = 8 }: { text: string; most?: number; lines?: number }) {
  const [open, setOpen] = useState(false);
  const part = clipped(text, most, lines);
  if (!part.more || open) return <Text text={text} />;
  return (
    <div class="clipped">
      <Text text={`${part.text}…`} />
      <button type="button" class="button quiet small" onClick={() => setOpen(true)}>
        Show all, {sizeOf(text.length)}
      </button>
    </div>
  );
}

/** A title or a message in a few lines, however long it is, and the rest on demand. */
export function Brief({ text, most = 300, lines = 4 }: { text: string; most?: number; lines?: number }) {
  const [open, setOpen] = useState(false);
  const part = clipped(text, most, lines);
  if (!part.more) return <>{shown(text)}</>;
  return (
    <>
      {shown(open ? text : `${part.text}…`)}{" "}
      <button type="button" class="button quiet small" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Less" : "More"}</button>
    </>
  );
}
