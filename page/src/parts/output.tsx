/** An output against what was expected and against what the baseline had, in the form that the reader chooses. */
import { useEffect, useState } from "preact/hooks";
import { problemOf } from "../data/problem";
import type { Cell, DataSource } from "../data/source";
import type { Baseline } from "../model/baseline";
import { asJson, asText } from "../model/visible";
import { Diff } from "./diff";
import { Json } from "./json";
import { Markdown } from "./markdown";
import { Text, TextBox } from "./text";

export type Form = "plain" | "markdown" | "json" | "diff" | "baseline";

const WORDS: Readonly<Record<Form, string>> = {
  plain: "Plain", markdown: "Markdown", json: "JSON", diff: "Against expected", baseline: "Against baseline",
};

/** The forms that this output can be seen in. */
export function formsOf(cell: Cell, baseline: boolean): readonly Form[] {
  const found: Form[] = ["plain"];
  if (typeof cell.output === "string") found.push("markdown");
  if (jsonOf(cell.output) !== undefined) found.push("json");
  if (isThere(cell.expected)) found.push("diff");
  if (baseline) found.push("baseline");
  return found;
}

/** The form to begin with: a tree for what is no text. */
export function usualForm(cell: Cell): Form {
  return typeof cell.output === "object" && cell.output !== null ? "json" : "plain";
}

/** The trial of the baseline that stands against this one, whole. */
export function useBefore(source: DataSource, baseline: Baseline | undefined, index: number, wanted: boolean) {
  const trial = baseline === undefined ? -1 : baseline.run.at(index);
  const place = baseline === undefined || trial < 0 ? -1 : baseline.place(trial);
  const [before, set] = useState<{ readonly place: number; readonly cell?: Cell; readonly problem?: string }>();
  useEffect(() => {
    if (baseline === undefined || place < 0 || !wanted) return undefined;
    let on = true;
    source.cell(baseline.head.id, baseline.table.index[place]!).then(
      (cell) => on && set({ place, cell }),
      (thrown: unknown) => on && set({ place, problem: problemOf(thrown).message }),
    );
    return () => {
      on = false;
    };
  }, [source, baseline, place, wanted]);
  return { there: place >= 0, ...(before?.place === place ? { cell: before.cell, problem: before.problem } : {}) };
}

export function Output(p: {
  cell: Cell;
  form: Form;
  forms: readonly Form[];
  choose: (form: Form) => void;
  before: { readonly cell?: Cell | undefined; readonly problem?: string | undefined };
}) {
  const { cell, form } = p;
  const text = asText(cell.output);
  const tools = p.forms.length > 1 && (
    <span class="forms" role="group" aria-label="Shown as">
      {p.forms.map((each) => (
        <button key={each} type="button" class="button quiet small" aria-pressed={each === form} onClick={() => p.choose(each)}>
          {WORDS[each]}
        </button>
      ))}
    </span>
  );
  if (cell.output === null || cell.output === undefined) return <p class="note">There is no output.</p>;
  const expected = isThere(cell.expected) && form !== "diff" && form !== "baseline";
  return (
    <div class={expected ? "output output-two" : "output"}>
      <TextBox title="Output" text={text} tools={tools}>
        {form === "plain" ? undefined : <Drawn cell={cell} form={form} text={text} before={p.before} />}
      </TextBox>
      {expected && <Expected value={cell.expected} form={form} />}
    </div>
  );
}

function Drawn(p: { cell: Cell; form: Form; text: string; before: { readonly cell?: Cell | undefined; readonly problem?: string | undefined } }) {
  switch (p.form) {
    case "markdown":
      return <Markdown text={p.text} />;
    case "json":
      return <Json value={jsonOf(p.cell.output)} />;
    case "diff":
      return <Diff before={p.cell.expected} after={p.cell.output} names={["the expected value", "the output"]} />;
    case "baseline":
      if (p.before.problem !== undefined) return <p class="note">{p.before.problem}</p>;
      if (p.before.cell === undefined) return <p class="note">Reading the baseline…</p>;
      return <Diff before={p.before.cell.output} after={p.cell.output} names={["the baseline", "this run"]} />;
    default:
      return <Text text={p.text} />;
  }
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

function jsonOf(value: unknown): object | undefined {
  if (typeof value === "string") return asJson(value);
  return typeof value === "object" && value !== null ? value : undefined;
}

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined && value !== "";
}
