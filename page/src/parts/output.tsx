/** An output against what was expected and against what the baseline had, in the form that the reader chooses. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { problemOf } from "../data/problem";
import type { Cell, DataSource } from "../data/source";
import type { Baseline } from "../model/baseline";
import { looksLikeMarkdown } from "../model/looks";
import { asJson, asText, visible } from "../model/visible";
import { useKept } from "../state/kept";
import { Beside, Comparing, type Side } from "./beside";
import { Checks } from "./expectations";
import { conversationIn, type Message } from "../model/conversation";
import { Messages } from "./conversation";
import { LinksOf } from "./links";
import { Diff } from "./diff";
import { Json } from "./json";
import { Markdown } from "./markdown";
import { Outlined } from "./outline";
import { Text, TextBox } from "./text";

/** `variant-2-0`: beside columns 2 and 0. */
export type Form = "plain" | "markdown" | "turns" | "json" | "diff" | "baseline" | `variant-${string}`;
type Named = Exclude<Form, `variant-${string}`>;

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
export function formsOf(cell: Shown, baseline: boolean): readonly Named[] {
  const found: Named[] = ["plain"];
  if (typeof cell.output === "string") found.push("markdown");
  if (turnsOf(cell.output) !== undefined) found.push("turns");
  if (jsonOf(cell.output) !== undefined) found.push("json");
  if (isThere(cell.expected)) found.push("diff");
  if (baseline) found.push("baseline");
  return found;
}

/** The form to begin with: its turns for a conversation, a tree for what is no text, Markdown for what looks like it; `plain`: not that. */
export function usualForm({ output }: Pick<Cell, "output">, plain = false): Form {
  if (turnsOf(output) !== undefined) return "turns";
  if (typeof output === "object" && output !== null) return "json";
  return !plain && typeof output === "string" && looksLikeMarkdown(output) ? "markdown" : "plain";
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
  forms: readonly Named[];
  choose: (form: Form) => void;
  /** The form without another output. */
  alone: Form;
  before: Other;
  /** What can be put beside it, what is, and what it is called itself. */
  neighbours: readonly Neighbour[];
  others: readonly (Neighbour & Other)[];
  name: string;
  /** Somebody reads in the whole window. */
  wide: boolean;
  /** Whether comparisons are of Markdown. */
  md: boolean;
  setMd: (md: boolean) => void;
}) {
  const { cell, form, others } = p;
  const text = asText(cell.output);
  const free = others.length < MOST_BESIDE ? p.neighbours.filter(({ variant }) => !others.some((other) => other.variant === variant)) : NONE;
  const tools = (p.forms.length > 1 || free.length > 0) && (
    <span class="forms" role="group" aria-label="Shown as">
      <Forms forms={p.forms} form={form} choose={p.choose} />
      {free.length > 0 && (
        <select class="control small" aria-label="Beside another column" title="Beside another column's output: key c" value="" onChange={(event) => p.choose(besideForm([...others, { variant: Number(event.currentTarget.value) }]))}>
          <option value="">{others.length > 0 ? "And…" : "Beside…"}</option>
          {free.map(({ variant, name }) => <option key={variant} value={variant}>{visible(name)}</option>)}
        </select>
      )}
    </span>
  );
  if ((cell.output === null || cell.output === undefined) && others.length === 0) return <p class="note">There is no output.</p>;
  const expected = isThere(cell.expected) && form !== "diff" && form !== "baseline" && others.length === 0;
  return (
    <div class={expected ? "output output-two" : "output"}>
      <TextBox title="Output" text={text} tools={tools}>
        {others.length > 0 || form === "baseline" || form === "diff" ? (
          <Held {...p} />
        ) : form === "turns" ? <Turns cell={cell} wide={p.wide} /> : form === "plain" ? undefined : <Drawn cell={cell} form={form} text={text} />}
      </TextBox>
      <LinksOf text={text} />
      {expected && <Expected value={cell.expected} form={form} />}
    </div>
  );
}

const MOST_BESIDE = 3;

/** The form that puts these columns beside the output. */
export function besideForm(columns: readonly Pick<Neighbour, "variant">[]): Form {
  return `variant-${columns.map(({ variant }) => variant).join("-")}`;
}

/** The columns that a form puts beside the output. */
export function besideOf(form: string, neighbours: readonly Neighbour[]): readonly Neighbour[] {
  const named = form.startsWith("variant-") ? [...new Set(form.slice(8).split("-"))] : [];
  return named.flatMap((each) => neighbours.find(({ variant }) => String(variant) === each) ?? []).slice(0, MOST_BESIDE);
}

/** The output held against others: of other columns, of the baseline, or what was expected. */
function Held(p: Parameters<typeof Output>[0]) {
  const { cell, form, md, others, before } = p;
  const [apart, keep] = useKept("apart");
  const baseline = form === "baseline" && others.length === 0;
  if (baseline && before.cell === undefined) return <p class="note" role="status">{before.problem ?? "Reading the baseline…"}</p>;
  const [old, now] = baseline ? ["the baseline", "this run"] : ["the expected value", "the output"];
  const value = baseline ? before.cell!.output : cell.expected;
  const sides: readonly Side[] = others.length === 0 ? [{ name: old!, value, ...(baseline ? { cell: before.cell! } : {}) }] : others.map((one) => {
    const away = (): void => p.choose(others.length > 1 ? besideForm(others.filter((each) => each !== one)) : p.alone);
    return one.cell === undefined ? { name: one.name, value: undefined, missing: one.problem ?? "Reading…", away } : { name: one.name, value: one.cell.output, cell: one.cell, away };
  });
  const beside = others.length > 0 || md;
  const own: Side = { name: others.length > 0 ? p.name : now!, value: cell.output, ...(others.length > 0 || baseline ? { cell } : {}) };
  return (
    <Comparing md={md} setMd={p.setMd} apart={apart} setApart={beside ? keep : undefined}>
      {beside ? (
        <Beside others={sides} own={own} md={md} apart={apart} />
      ) : (
        <>
          <Diff before={value} after={cell.output} names={[old!, now!]} />
          {baseline && (
            <section aria-label="Expectations in the baseline">
              <h3 class="sub">In the baseline</h3>
              <Checks cell={before.cell!} />
            </section>
          )}
        </>
      )}
    </Comparing>
  );
}

function Turns({ cell, wide }: { cell: Shown; wide: boolean }) {
  const turns = useMemo(() => turnsOf(cell.output) ?? [], [cell]);
  const entries = useMemo(() => turns.map(({ role, text }) => ({ kind: role, style: "", name: text, facts: "", depth: 0, failed: false })), [turns]);
  return (
    <Outlined entries={entries} total={turns.length} room={wide ? "(min-width: 1200px)" : "not all"}>
      <Messages messages={turns} md />
    </Outlined>
  );
}

function Drawn(p: { cell: Shown; form: Form; text: string }) {
  switch (p.form) {
    case "markdown":
      return <Markdown text={p.text} />;
    case "json":
      return <Json value={jsonOf(p.cell.output)} />;
    case "turns":
      return <Messages messages={turnsOf(p.cell.output) ?? []} md />;
    default:
      return <Text text={p.text} />;
  }
}

/** The text of an output by itself, in the forms that a cell has. `md` is remembered: the reader prefers Markdown. */
export function Answer({ title, text, md, setMd }: { title: string; text: string; md: boolean; setMd: (md: boolean) => void }) {
  const cell = useMemo(() => ({ output: text, expected: null }), [text]);
  const forms = useMemo(() => formsOf(cell, false), [cell]);
  const [plain, keep] = useKept("plain");
  const usual = useMemo(() => usualForm(cell), [cell]);
  const [other, set] = useState<Form>();
  const simple = usual === "plain" || usual === "markdown";
  const chosen = other ?? (simple ? (md || (usual === "markdown" && !plain) ? "markdown" : "plain") : usual);
  const now = forms.find((each) => each === chosen) ?? usual;
  const choose = (next: Form): void => {
    set(simple && (next === "plain" || next === "markdown") ? undefined : next);
    if (usual === "markdown") keep(next === "plain");
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
function Forms({ forms, form, choose }: { forms: readonly Named[]; form: Form; choose: (form: Form) => void }) {
  return (
    <>
      {forms.map((each) => (
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
export function turnsOf(value: unknown): readonly Message[] | undefined {
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
