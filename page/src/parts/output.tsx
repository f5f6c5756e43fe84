/** An output against what was expected and against what the baseline had, in the form that the reader chooses. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { problemOf } from "../data/problem";
import type { Cell, DataSource } from "../data/source";
import type { Baseline } from "../model/baseline";
import { asJson, asText, visible } from "../model/visible";
import { Beside, Comparing } from "./beside";
import { Checks } from "./expectations";
import { conversationIn, type Message } from "../model/conversation";
import { Messages } from "./conversation";
import { LinksOf } from "./links";
import { Diff } from "./diff";
import { Json } from "./json";
import { Markdown } from "./markdown";
import { Text, TextBox } from "./text";

export type Form = "plain" | "markdown" | "turns" | "json" | "diff" | "baseline" | `variant-${number}`;
type Named = Exclude<Form, `variant-${number}`>;

/** Another column that answered the same case in the same repeat. */
export interface Neighbour {
  /** The column. */
  readonly variant: number;
  readonly name: string;
  /** The trial's place in the plan. */
  readonly index: number;
}

const WORDS: Readonly<Record<Named, string>> = {
  plain: "Plain", markdown: "Markdown", turns: "Conversation", json: "JSON", diff: "Against expected", baseline: "Against baseline",
};

/** As much of a cell as is drawn. */
type Shown = Pick<Cell, "output" | "expected">;

/** The forms that this output can be seen in. */
export function formsOf(cell: Shown, baseline: boolean, neighbours: readonly Neighbour[]): readonly Form[] {
  const found: Form[] = ["plain"];
  if (typeof cell.output === "string") found.push("markdown");
  if (turnsOf(cell.output) !== undefined) found.push("turns");
  if (jsonOf(cell.output) !== undefined) found.push("json");
  if (isThere(cell.expected)) found.push("diff");
  if (baseline) found.push("baseline");
  for (const { variant } of neighbours) found.push(`variant-${variant}`);
  return found;
}

/** The form to begin with: its turns for a conversation, a tree for what is no text. */
export function usualForm(cell: Pick<Cell, "output">): Form {
  if (turnsOf(cell.output) !== undefined) return "turns";
  return typeof cell.output === "object" && cell.output !== null ? "json" : "plain";
}

/** The trial of the baseline that stands against this one, whole. */
export function useBefore(source: DataSource, baseline: Baseline | undefined, index: number, wanted: boolean) {
  const trial = baseline === undefined ? -1 : baseline.run.at(index);
  const place = baseline === undefined || trial < 0 ? -1 : baseline.place(trial);
  const earlier = baseline === undefined || place < 0 || !wanted ? -1 : baseline.table.index[place]!;
  return { there: place >= 0, ...useOther(source, baseline?.head.id ?? "", earlier) };
}

/** Another trial, whole; nothing while it is read, and for the index -1. */
export function useOther(source: DataSource, run: string, index: number): Other {
  const [known, set] = useState<Other & { readonly run: string; readonly index: number }>();
  useEffect(() => {
    if (index < 0) return undefined;
    let on = true;
    source.cell(run, index).then(
      (cell) => on && set({ run, index, cell }),
      (thrown: unknown) => on && set({ run, index, problem: problemOf(thrown).message }),
    );
    return () => {
      on = false;
    };
  }, [source, run, index]);
  return known?.run === run && known.index === index ? known : {};
}

export interface Other {
  readonly cell?: Cell | undefined;
  readonly problem?: string | undefined;
}

export function Output(p: {
  cell: Cell;
  form: Form;
  forms: readonly Form[];
  choose: (form: Form) => void;
  before: Other;
  /** What can be put beside it, what is, and what it is called itself. */
  neighbours: readonly Neighbour[];
  other: Other;
  name: string;
  /** Whether comparisons are of Markdown. */
  md: boolean;
  setMd: (md: boolean) => void;
}) {
  const { cell, form } = p;
  const text = asText(cell.output);
  const neighbour = p.neighbours.find(({ variant }) => form === `variant-${variant}`);
  const tools = p.forms.length > 1 && (
    <span class="forms" role="group" aria-label="Shown as">
      <Forms forms={p.forms} form={form} choose={p.choose} />
      {p.neighbours.length > 0 && (
        <select
          class="control small" aria-label="Beside another column" title="Beside another column's output: key c" value={neighbour?.variant ?? ""}
          onChange={(event) => p.choose(event.currentTarget.value === "" ? (p.md ? "markdown" : usualForm(cell)) : `variant-${Number(event.currentTarget.value)}`)}
        >
          <option value="">Beside…</option>
          {p.neighbours.map(({ variant, name }) => <option key={variant} value={variant}>{visible(name)}</option>)}
        </select>
      )}
    </span>
  );
  if ((cell.output === null || cell.output === undefined) && neighbour === undefined) return <p class="note">There is no output.</p>;
  const expected = isThere(cell.expected) && form !== "diff" && form !== "baseline" && neighbour === undefined;
  return (
    <div class={expected ? "output output-two" : "output"}>
      <TextBox title="Output" text={text} tools={tools}>
        {neighbour !== undefined || form === "baseline" || form === "diff" ? (
          <Held {...p} neighbour={neighbour} />
        ) : form === "plain" ? undefined : <Drawn cell={cell} form={form} text={text} />}
      </TextBox>
      <LinksOf text={text} />
      {expected && <Expected value={cell.expected} form={form} />}
    </div>
  );
}

/** The output held against another one: of another column, of the baseline, or what was expected. */
function Held(p: Parameters<typeof Output>[0] & { neighbour: Neighbour | undefined }) {
  const { cell, form, neighbour, md } = p;
  const against = neighbour !== undefined ? p.other : form === "baseline" ? p.before : undefined;
  if (against !== undefined && against.cell === undefined) {
    return <p class="note" role="status">{against.problem ?? (neighbour !== undefined ? "Reading the other column…" : "Reading the baseline…")}</p>;
  }
  const before = against === undefined ? cell.expected : against.cell!.output;
  const [old, now]: readonly [string, string] = neighbour !== undefined ? [neighbour.name, p.name] : form === "baseline" ? ["the baseline", "this run"] : ["the expected value", "the output"];
  const there = against?.cell === undefined ? {} : { cell: against.cell };
  return (
    <Comparing md={md} setMd={p.setMd}>
      {neighbour !== undefined || md ? (
        <Beside other={{ name: old, value: before, ...there }} own={{ name: now, value: cell.output, ...(against === undefined ? {} : { cell }) }} md={md} />
      ) : (
        <>
          <Diff before={before} after={cell.output} names={[old, now]} />
          {form === "baseline" && against?.cell !== undefined && (
            <section aria-label="Expectations in the baseline">
              <h3 class="sub">In the baseline</h3>
              <Checks cell={against.cell} />
            </section>
          )}
        </>
      )}
    </Comparing>
  );
}

function Drawn(p: { cell: Shown; form: Form; text: string }) {
  switch (p.form) {
    case "markdown":
      return <Markdown text={p.text} />;
    case "json":
      return <Json value={jsonOf(p.cell.output)} />;
    case "turns":
      return <Messages messages={turnsOf(p.cell.output) ?? []} />;
    default:
      return <Text text={p.text} />;
  }
}

/** The text of an output by itself, in the forms that a cell has. `md` is remembered: the reader prefers Markdown. */
export function Answer({ title, text, md, setMd }: { title: string; text: string; md: boolean; setMd: (md: boolean) => void }) {
  const cell = useMemo(() => ({ output: text, expected: null }), [text]);
  const forms = useMemo(() => formsOf(cell, false, NONE), [cell]);
  const usual = usualForm(cell);
  const [other, set] = useState<Form>();
  const chosen = other ?? (md && usual === "plain" ? "markdown" : usual);
  const now = forms.includes(chosen) ? chosen : usual;
  const choose = (next: Form): void => {
    set(usual === "plain" && (next === "plain" || next === "markdown") ? undefined : next);
    setMd(next === "markdown");
  };
  return (
    <TextBox title={title} text={text} tools={<Forms forms={forms} form={now} choose={choose} />}>
      {now === "plain" ? undefined : <Drawn cell={cell} form={now} text={text} />}
    </TextBox>
  );
}

const NONE: readonly Neighbour[] = [];

/** Buttons for the forms that an output has by itself. */
function Forms({ forms, form, choose }: { forms: readonly Form[]; form: Form; choose: (form: Form) => void }) {
  return (
    <>
      {forms.filter((each): each is Named => !each.startsWith("variant-")).map((each) => (
        <button key={each} type="button" class="button quiet small" aria-pressed={each === form} onClick={() => choose(each)}>
          {WORDS[each]}
        </button>
      ))}
    </>
  );
}

function Expected({ value, form }: { value: unknown; form: Form }) {
  const tree = form === "json" ? jsonOf(value) : undefined;
  const text = asText(value);
  return (
    <TextBox title="Expected" text={text}>
      {tree !== undefined ? <Json value={tree} /> : form === "markdown" ? <Markdown text={text} /> : undefined}
    </TextBox>
  );
}

/** The messages of an output that is a conversation: a list of them, or an object that has one. */
function turnsOf(value: unknown): readonly Message[] | undefined {
  const found = jsonOf(value);
  if (found === undefined) return undefined;
  const list = Array.isArray(found) ? found : "messages" in found ? found.messages : undefined;
  return conversationIn(JSON.stringify(list) ?? "");
}

function jsonOf(value: unknown): object | undefined {
  if (typeof value === "string") return asJson(value);
  return typeof value === "object" && value !== null ? value : undefined;
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined && value !== "";
}
