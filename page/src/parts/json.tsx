/** A JSON value as a tree that folds. What is folded is not drawn, and long lists come in pages. */
import { useState } from "preact/hooks";
import { asJson, clipped } from "../model/visible";
import { count } from "./marks";
import { Clipped, shown } from "./text";

const PAGE = 100;
const SMALL = 30; // entries up to which a value is open from the start
const DEEP = 2; // levels down to which it is

type Entries = readonly (readonly [string, unknown])[];

export function Json({ value, open = DEEP }: { value: unknown; open?: number }) {
  return (
    <div class="json">
      <Node name={undefined} value={value} open={open} />
    </div>
  );
}

function Node({ name, value, open }: { name: string | undefined; value: unknown; open: number }) {
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-leaf">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch name={name} value={value} open={open} />;
}

function Branch({ name, value, open }: { name: string | undefined; value: object; open: number }) {
  const list = Array.isArray(value);
  const size = list ? value.length : Object.keys(value).length;
  const [unfolded, setUnfolded] = useState(open > 0 && size <= SMALL);
  const said = list ? count(size, "item") : count(size, "key");
  const [first, last] = list ? "[]" : "{}";
  if (size === 0) {
    return (
      <div class="json-leaf">
        <Name name={name} />
        <span class="json-empty">{`${first}${last}`}</span>
      </div>
    );
  }
  return (
    <details class="json-branch" open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="json-brace">{first}</span>
        {!unfolded && <span class="json-hint">{shown(hint(value))}</span>}
        <span class="json-count">{said}</span>
      </summary>
      {unfolded && <Entries of={Object.entries(value)} list={list} open={open - 1} />}
    </details>
  );
}

function Entries({ of, list, open }: { of: Entries; list: boolean; open: number }) {
  const [shownTo, show] = useState(PAGE);
  const rest = of.length - shownTo;
  return (
    <div class="json-entries">
      {of.slice(0, shownTo).map(([key, value]) => (
        <Node key={key} name={list ? `${Number(key)}` : key} value={value} open={open} />
      ))}
      {rest > 0 && (
        <button type="button" class="button quiet small" onClick={() => show(shownTo + PAGE)}>
          {`Show ${Math.min(PAGE, rest)} more of ${count(rest, "entry", "entries")}`}
        </button>
      )}
    </div>
  );
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <>
      <span class="json-key">{shown(clipped(name, 300).text)}</span>
      <span class="json-colon">: </span>
    </>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value !== "string") return <span class="json-other">{String(value)}</span>;
  if (value.length > 120 || value.includes("\n")) {
    return (
      <div class="json-text">
        <Clipped text={value} most={2000} lines={24} />
      </div>
    );
  }
  return <span class="json-string">{shown(JSON.stringify(value))}</span>;
}

/** The first of what is folded, in a line. */
function hint(value: object): string {
  const names = Array.isArray(value)
    ? value.slice(0, 3).map((item: unknown) => (typeof item === "object" && item !== null ? "…" : clipped(String(item), 20).text))
    : Object.keys(value).slice(0, 4).map((key) => clipped(key, 24).text);
  return names.join(", ");
}

/** JSON for a cell of the matrix: in lines where it can be read, as it is where it was cut. */
export function JsonPreview({ text, most = 600 }: { text: string; most?: number }) {
  const value = text.length < 20_000 ? asJson(text) : undefined;
  const part = clipped(value === undefined ? text : JSON.stringify(value, null, 1), most);
  return (
    <span class="preview-json" dir="auto">
      {shown(part.text)}
      {part.more && "…"}
    </span>
  );
}
