/** One cell, whole: a panel beside the matrix, the whole screen on a phone. The page behind it stays alive. */
import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { Cell, DataSource, Head } from "../data/source";
import type { Baseline } from "../model/baseline";
import { thread } from "../model/labels";
import { neighbour } from "../model/neighbour";
import { quoted } from "../model/query";
import type { Table } from "../model/table";
import { Asked } from "../parts/asked";
import { Calls } from "../parts/calls";
import { CellHead } from "../parts/cellhead";
import { Copy } from "../parts/copy";
import { Expectations, InShort } from "../parts/expectations";
import { useKeys } from "../parts/keyboard";
import { grouped } from "../parts/marks";
import { later } from "../parts/later";
import { useLabelKeys, useLabels } from "../parts/labelling";
import { AgreementLine, History, LabelBar, Standing, Thread } from "../parts/labels";
import { MoreTab, PromptTab } from "../parts/more";
import { besideForm, besideOf, formsOf, Output, turnsOf, usualForm, useBefore, useOther, type Form, type Neighbour } from "../parts/output";
import { Tabs, type Tab } from "../parts/tabs";
import { Timeline } from "../parts/timeline";
import { told } from "../parts/text";
import { useKept } from "../state/kept";
import type { RunLabels } from "../state/labelled";
import { link, read, START, write, type Go } from "../state/url";

const AskTab = later((live) => live.AskTab);

export interface DrawerProps {
  readonly source: DataSource;
  readonly head: Head;
  readonly table: Table;
  /** The trial's place in the plan. */
  readonly index: number;
  /** A tab, and the form of the output: `output.diff`, `calls`. */
  readonly tab: string;
  /** It has the whole window, for reading. */
  readonly wide: boolean;
  readonly baseline?: Baseline | undefined;
  readonly blind: boolean;
  readonly go: Go;
  readonly labels: RunLabels;
  /** Who labels, and how somebody else begins to. */
  readonly author: string;
  readonly name: ((author: string) => void) | undefined;
  /** A note is to be written. */
  readonly noting: boolean;
  readonly note: (noting: boolean) => void;
  /** Says for a while why a key did nothing. */
  readonly say: (text: string) => void;
  /** A baseline is being read. */
  readonly awaited: boolean;
}

export function Drawer(p: DrawerProps) {
  const { cell, problem } = useCell(p.source, p.head.id, p.index, stamp(p.table, p.index));
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), []);
  useEffect(() => panel.current?.scrollTo(0, 0), [cell?.index]);
  const close = (): void => p.go({ cell: undefined });
  useKeys({ Escape: close, r: () => p.go({ wide: !p.wide }) });
  return (
    <div class={p.wide ? "drawer wide" : "drawer"} ref={panel} role="dialog" aria-modal="false" aria-labelledby="drawer-title" tabIndex={-1}>
      <Bar {...p} close={close} />
      {problem !== undefined && (
        <div class="drawer-head" role="alert">
          <h2 class="drawer-title" id="drawer-title">{told(problem.message)}</h2>
          <p class="note">{told(problem.hint)}</p>
        </div>
      )}
      {problem === undefined && cell === undefined && <p class="note" id="drawer-title" role="status">Reading the cell…</p>}
      {problem === undefined && cell !== undefined && <Loaded {...p} cell={cell} />}
    </div>
  );
}

/** What another reading of the run tells of this trial: where it is the same, so is the cell. */
function stamp(table: Table, index: number): string {
  const at = table.at(index);
  return at < 0 ? "" : [table.outcome, table.score, table.latency, table.calls].map((column) => column[at]).join();
}

/** The cell before stays until the next one is here. */
function useCell(source: DataSource, run: string, index: number, stamp: string): { readonly cell?: Cell; readonly problem?: Problem } {
  const [loaded, set] = useState<{ readonly cell?: Cell; readonly problem?: Problem }>({});
  useEffect(() => {
    let on = true;
    source.cell(run, index).then(
      (cell) => on && set({ cell }),
      (thrown: unknown) => on && set({ problem: problemOf(thrown) }),
    );
    return () => {
      on = false;
    };
  }, [source, run, index, stamp]);
  return loaded;
}

function Bar({ source, say, table, index, blind, go, wide, close }: DrawerProps & { close: () => void }) {
  const trial = table.at(index);
  /** Where a matrix is on the page its order counts, and it has the keys; a button is one of them pressed. */
  const matrix = (): boolean => document.querySelector("[role=grid]") !== null;
  const step = (rows: -1 | 0 | 1, columns: -1 | 0 | 1) => () => {
    if (matrix() || trial < 0) return false;
    const next = neighbour(table, trial, rows, columns);
    if (next >= 0) go({ cell: table.index[next]! });
    return true;
  };
  const steps = { j: step(1, 0), k: step(-1, 0), h: step(0, -1), l: step(0, 1) };
  useKeys(steps);
  const press = (key: keyof typeof steps) => () => {
    dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  };
  return (
    <div class="drawer-bar">
      <button type="button" class="button quiet small" title="Previous case: key k" onClick={press("k")}>↑<kbd aria-hidden="true">k</kbd><span class="unseen">Previous case</span></button>
      <button type="button" class="button quiet small" title="Next case: key j" onClick={press("j")}>↓<kbd aria-hidden="true">j</kbd><span class="unseen">Next case</span></button>
      <button type="button" class="button quiet small" title="Variant to the left: key h" onClick={press("h")}>←<kbd aria-hidden="true">h</kbd><span class="unseen">Variant to the left</span></button>
      <button type="button" class="button quiet small" title="Variant to the right: key l" onClick={press("l")}>→<kbd aria-hidden="true">l</kbd><span class="unseen">Variant to the right</span></button>
      <span class="drawer-space" />
      <button type="button" class="button quiet small" aria-pressed={wide} title="In the whole window, with the prompt: key r" onClick={() => go({ wide: !wide })}>Read</button>
      {source.searchAll !== undefined && trial >= 0 && (
        <a class="button quiet small" title="This case in all runs" href={write({ ...START, q: `case:${quoted(table.rows[table.row[trial]!]!.id)}`, tab: "texts", blind })}>In all runs</a>
      )}
      <Copy what="Copy link" title={source.live ? reach(source) : "The address of this cell in this file"} text={() => link(read(location.hash))} copied={() => source.live && say(`Copied. ${reach(source)}`)} />
      <button type="button" class="button quiet small" title="Close: Esc" onClick={close}>Close</button>
    </div>
  );
}

function Loaded(p: DrawerProps & { cell: Cell }) {
  const { source, head, table, cell, author, go } = p;
  const trial = table.at(cell.index);
  const [revealed, reveal] = useState(-1);
  const veiled = p.blind && revealed !== cell.index;
  const labels = useLabels(p.labels, cell.index, author, veiled);
  const hidden = veiled && labels.mine?.verdict === undefined && labels.mine?.score === undefined;
  const [tab = "", chosen = "", as = ""] = p.tab.split(".");
  const before = useBefore(source, hidden ? undefined : p.baseline, cell.index, chosen === "baseline");
  const neighbours = p.blind ? NONE : neighboursOf(head, table, trial);
  const picked = besideOf(chosen, neighbours);
  const cells = [0, 1, 2].map((i) => useOther(source, head.id, picked[i]?.index ?? -1)); // as many as there can be, for hooks have an order
  const others = picked.map((each, i) => ({ ...each, ...cells[i] }));
  const [plain, keepPlain] = useKept("plain");
  const looks = useMemo(() => usualForm(cell), [cell]);
  const usual = looks === "markdown" && plain ? "plain" : looks;
  const forms = formsOf(cell, before.there);
  const form = picked.length > 0 ? besideForm(picked) : (forms.find((each) => each === chosen) ?? usual);
  const md = as === "markdown" || chosen === "markdown";
  const choose = (next: Form, rendered = md): void => {
    const held = next === "diff" || next === "baseline" || next.startsWith("variant-");
    if (looks === "markdown" && (next === "plain" || next === "markdown")) keepPlain(next === "plain");
    go({ tab: next === looks ? "" : `output.${next}${held && rendered ? ".markdown" : ""}` });
  };
  const alone: Form = md ? "markdown" : usual;
  const turn = (to: "diff" | "baseline") => () => {
    if (!forms.includes(to)) return p.say(missing(to, p));
    p.say("");
    choose(form === to && (tab === "" || tab === "output") ? alone : to);
  };
  const trials = trial < 0 ? [] : table.cell(table.row[trial]!, table.variant[trial]!);
  const toStep = (place: number): void => go({ tab: `steps.${place}` });
  const repeat = (step: number) => () => {
    const next = trials[trials.indexOf(trial) + step];
    if (next !== undefined) go({ cell: table.index[next]! });
  };
  const beside = (): void => {
    const last = picked.at(-1)?.variant;
    const next = neighbours[neighbours.findIndex(({ variant }) => variant === last) + 1];
    choose(next === undefined ? alone : besideForm([next]));
    p.say(neighbours.length > 0 ? "" : p.blind ? "While you label blind, no other column is shown." : "No other column answered this case.");
  };
  useKeys({ c: beside, d: turn("diff"), b: turn("baseline"), "[": repeat(-1), "]": repeat(1) });
  const drawn = head.review?.places.includes(cell.index) ?? false;
  useLabelKeys(labels, () => p.note(true), source.writable, drawn);
  const tabs = tabsOf(cell, hidden, labels.events.length, head.may_ask && source.live);
  const two = form.startsWith("variant-") || (form === "baseline" && md); // each side has its expectations
  const now = tabs.some(({ id }) => id === tab) ? tab : "output";
  return (
    <>
      <div class="drawer-head">
        <CellHead head={head} table={table} cell={cell} trial={trial} baseline={p.baseline} hidden={hidden} reveal={() => reveal(cell.index)} open={(index) => go({ cell: index })} />
        {source.writable && <LabelBar labels={labels} drawn={drawn} author={author} name={p.name} noting={p.noting} noted={() => p.note(false)} />}
        <Thread notes={thread(labels.events).filter((note) => !hidden || note.author === author)} author={author} withdraw={source.writable ? (before) => labels.say("note", before) : undefined} />
        {!hidden && <Standing said={source.writable ? labels.said.filter((one) => one.author !== author) : labels.said} />}
      </div>
      <Tabs tabs={tabs} chosen={now} choose={(id) => go({ tab: id === "output" ? "" : id })}>
        {now === "output" && (
          <Fragment key={cell.index}>
          {p.wide && <Asked cell={cell} hidden={hidden} told={form === "turns" ? (turnsOf(cell.output) ?? []) : []} />}
          <div class={two ? "answered answered-two" : "answered"}>
            <div class="answered-output">
              {!hidden && !two && cell.outcome !== "pass" && <InShort cell={cell} more={() => go({ tab: "expectations" })} />}
              <Output cell={cell} form={form} forms={forms} choose={choose} alone={alone} before={before} neighbours={neighbours} others={others} name={head.columns[cell.variant]?.name ?? ""} wide={p.wide} md={md} setMd={(on) => choose(form, on)} />
            </div>
            {!hidden && !two && cell.outcomes.length > 0 && (
              <section class="answered-expected" aria-label="Expectations">
                <h3 class="box-title">Expectations</h3>
                <Expectations cell={cell} step={toStep} />
              </section>
            )}
          </div>
          </Fragment>
        )}
        {now === "expectations" && <Expectations key={cell.index} cell={cell} step={toStep} />}
        {now === "prompt" && <PromptTab key={cell.index} cell={cell} hidden={hidden} />}
        {now === "steps" && cell.steps !== null && <Timeline key={`${cell.index}-${chosen}`} steps={cell.steps} failed={cell.outcome !== "pass"} wide={p.wide} at={chosen === "" ? undefined : Number(chosen)} />}
        {now === "calls" && <Calls key={cell.index} calls={cell.calls} all={trial < 0 ? 0 : table.calls[trial]!} />}
        {now === "labels" && <><AgreementLine table={table} labels={p.labels.all} /><History events={labels.events} /></>}
        {now === "ask" && <AskTab key={cell.index} source={source} head={head} cell={cell} md={as === "markdown"} setMd={(on) => go({ tab: on ? "ask..markdown" : "ask" })} />}
        {now === "more" && <MoreTab key={cell.index} cell={cell} />}
      </Tabs>
    </>
  );
}

const reach = ({ person }: DataSource): string => person === undefined ? "Works in this browser only, while “evenhand view” runs." : "Opens for all who may see runs here.";
const NONE: readonly Neighbour[] = [];

/** Why an output cannot be held against something. */
function missing(form: "diff" | "baseline", { baseline, awaited, blind }: DrawerProps): string {
  if (form === "diff") return "This case has no expected output that the answer could be compared with.";
  if (awaited) return "The baseline is still being read.";
  if (baseline !== undefined) return blind ? "While you label blind, the baseline is not shown." : "The baseline has no trial of this case, column and repeat.";
  return "No baseline is chosen. Choose one above the matrix, or in the comparison.";
}

/** What the other columns answered to the same case, in the same repeat where they have it. */
function neighboursOf(head: Head, table: Table, trial: number): readonly Neighbour[] {
  if (trial < 0) return NONE;
  return head.columns.flatMap(({ index: variant, name }) => {
    const trials = variant === table.variant[trial] ? [] : table.cell(table.row[trial]!, variant);
    const found = trials.find((each) => table.repeat[each] === table.repeat[trial]) ?? trials[0];
    return found === undefined ? [] : [{ variant, name, index: table.index[found]! }];
  });
}

function tabsOf(cell: Cell, hidden: boolean, events: number, ask: boolean): readonly Tab[] {
  const output: Tab = { id: "output", name: "Output" };
  const prompt: Tab = { id: "prompt", name: hidden ? "Variables" : "Prompt" };
  if (hidden) return [output, prompt];
  const met = cell.outcomes.filter(({ outcome }) => outcome === "pass").length;
  return [
    output,
    { id: "expectations", name: "Expectations", note: cell.outcomes.length > 0 ? `${met}/${cell.outcomes.length}` : "" },
    prompt,
    ...(cell.steps === null ? [] : [{ id: "steps", name: "Steps", note: grouped(cell.steps.total) }]),
    { id: "calls", name: "Calls", note: String(cell.calls.length) },
    { id: "labels", name: "Labels", note: events > 0 ? String(events) : "" },
    { id: "more", name: "More" },
    ...(ask ? [{ id: "ask", name: "Ask again" }] : []),
  ];
}
