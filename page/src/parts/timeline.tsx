/** What an agent did, step by step: nested, with what each took, and the steps that a verdict names. All text is data. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Problem, problemOf } from "../data/problem";
import type { Step, StepPage, StepSum, WholeStep } from "../data/source";
import { asJson } from "../model/visible";
import { Json } from "./json";
import { count, grouped, money, seconds } from "./marks";
import { Outlined, type Entry } from "./outline";
import { Clipped, shown, told } from "./text";

const DEEPEST = 8; // levels that are indented
const LINE = 160; // characters of arguments and of a result in a step's own line
const KINDS = { model: "model", tool: "tool", agent: "agent", message: "said" } as const;

/** `failed`: the trial did not pass, so the step that failed is looked for where no other is. */
export function Timeline({ steps, at, failed, wide }: { steps: StepPage; at?: number | undefined; failed: boolean; wide: boolean }) {
  const [page, set] = useState(steps);
  const [problem, setProblem] = useState<Problem>();
  const turn = (first: number): void => {
    page.from?.(first).then(set, (thrown: unknown) => setProblem(problemOf(thrown)));
  };
  const { size } = steps;
  useEffect(() => {
    if (at !== undefined && (at < page.first || at >= page.first + page.steps.length)) turn(Math.floor(at / size) * size);
  }, [at]);
  const blamed = useMemo(() => new Map(page.blamed), [page]);
  const entries = useMemo(() => page.steps.map((step) => entryOf(step, blamed.has(step.place))), [page]);
  const sought = at ?? page.blamed[0]?.[0] ?? (failed ? page.steps.find(({ status }) => status === "error")?.place : undefined);
  const last = page.first + page.steps.length;
  return (
    <div class="timeline">
      <Sums sums={page.sums} took={page.took_s} />
      {problem !== undefined && <p class="note" role="alert">{told(problem.message)}</p>}
      {page.first > 0 && page.from !== undefined && <button type="button" class="button small" onClick={() => turn(Math.max(0, page.first - size))}>Earlier steps</button>}
      <Outlined entries={entries} first={page.first} total={page.total} start={sought === undefined ? undefined : sought - page.first} room={wide ? "(min-width: 800px)" : "(min-width: 1300px)"}>
        <ol class="steps" start={page.first + 1} aria-label="Steps">
          {page.steps.map((step, i) => (
            <StepLine key={step.place} step={step} said={said(step, page.steps[i - 1])} took={page.took_s} blamed={blamed.get(step.place) ?? NOBODY} sought={step.place === sought} whole={page.whole} />
          ))}
        </ol>
      </Outlined>
      {last < page.total && (page.from !== undefined ? <button type="button" class="button small" onClick={() => turn(last)}>{`Later steps: ${count(page.total - last, "more", "more")}`}</button> : <p class="note">{`${grouped(page.total - last)} more steps are not in this report: evenhand show RUN CELL --json prints all of them.`}</p>)}
    </div>
  );
}

const NOBODY: readonly string[] = [];

function entryOf(step: Step, blamed: boolean): Entry {
  const tokens = (step.tokens_in ?? 0) + (step.tokens_out ?? 0);
  const found = [step.duration_s === null ? "" : seconds(step.duration_s), tokens > 0 ? `${grouped(tokens)} tok.` : ""];
  const message = step.kind === "message" && step.result !== "";
  return { kind: message ? step.name : KINDS[step.kind], style: `step-${step.kind}`, name: message ? step.result : step.name, facts: found.filter((each) => each !== "").join(" · "), depth: Math.min(step.depth, DEEPEST), failed: blamed || step.status === "error" };
}

/** Where time and money went. */
function Sums({ sums, took }: { sums: readonly StepSum[]; took: number }) {
  const longest = Math.max(...sums.map(({ duration_s }) => duration_s), 0);
  if (sums.length === 0) return null;
  return (
    <table class="step-sums">
      <caption class="unseen">Where time and money went</caption>
      <thead>
        <tr><th>Kind</th><th>Name</th><th class="num">Steps</th><th class="num">Failed</th><th class="num">Time</th><th class="num">Cost</th><th aria-hidden="true" /></tr>
      </thead>
      <tbody>
        {sums.map((sum) => (
          <tr key={`${sum.kind} ${sum.name}`}>
            <td><span class={`chip step-${sum.kind}`}>{KINDS[sum.kind]}</span></td>
            <td class="step-name">{shown(sum.name)}</td>
            <td class="num">{grouped(sum.count)}</td>
            <td class="num">{sum.failed > 0 ? <b class="step-failed">{grouped(sum.failed)}</b> : "–"}</td>
            <td class="num">{sum.duration_s > 0 ? seconds(sum.duration_s) : "–"}</td>
            <td class="num">{sum.cost_usd > 0 ? money(sum.cost_usd) : "–"}</td>
            <td class="step-share"><Bar from={0} size={longest > 0 ? sum.duration_s / longest : 0} /></td>
          </tr>
        ))}
      </tbody>
      {took > 0 && <tfoot><tr><td colSpan={7} class="muted">{`${seconds(took)} from the first step to the end of the last`}</td></tr></tfoot>}
    </table>
  );
}

/** A bar: where it begins and how long it is, as shares of the whole. */
function Bar({ from, size, failed = false }: { from: number; size: number; failed?: boolean }) {
  const x = Math.min(99, Math.max(0, from * 100));
  return (
    <svg class={failed ? "step-bar step-bar-failed" : "step-bar"} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {size > 0 && <rect x={x} y="1" width={Math.max(0.8, Math.min(100 - x, size * 100))} height="4" rx="1" />}
    </svg>
  );
}

interface LineProps {
  readonly step: Step;
  /** What its own line says of it. */
  readonly said: string;
  readonly took: number;
  readonly blamed: readonly string[];
  /** It is the one that was looked for. */
  readonly sought: boolean;
  readonly whole: StepPage["whole"];
}

function StepLine({ step, said, took, blamed, sought, whole }: LineProps) {
  const [open, setOpen] = useState(sought);
  const failed = step.status === "error";
  const classes = ["step", failed ? "step-error" : "", blamed.length > 0 ? "step-blamed" : ""].filter((each) => each !== "");
  return (
    <li class={classes.join(" ")}>
      <details class="step-card" style={{ "--depth": Math.min(step.depth, DEEPEST) }} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class="step-number">{step.place + 1}</span>
          <span class={`chip step-${step.kind}`}>{KINDS[step.kind]}</span>
          <b class="step-name">{shown(step.name)}</b>
          {step.agent !== "" && <span class="muted">by {shown(step.agent)}</span>}
          {failed && <span class="chip chip-error">failed</span>}
          {step.kind === "tool" && step.status === "unknown" && <span class="chip" title="It is unknown whether it succeeded">end not known</span>}
          <span class="step-said">{shown(said)}</span>
          <span class="card-facts">{facts(step).join(" · ")}</span>
          {step.started_s !== null && took > 0 && <Bar from={step.started_s / took} size={(step.duration_s ?? 0) / took} failed={failed} />}
        </summary>
        {open && <Body step={step} whole={whole} />}
      </details>
      {blamed.length > 0 && (
        <p class="step-verdict">
          {blamed.map((name, i) => <span key={i}>✗ {shown(name)}</span>)}
        </p>
      )}
    </li>
  );
}

/** Of a tool what it was given, of others what came of it, as much as a line has room for. What a model has just answered is said once. */
function said(step: Step, before: Step | undefined): string {
  if (step.kind === "message" && step.result !== "" && before?.kind === "model" && before.result === step.result) return `↑ as in step ${step.place}`;
  if (step.error !== "") return step.error.slice(0, LINE);
  const text = step.kind === "tool" ? step.arguments : step.result;
  return text.length > LINE ? `${text.slice(0, LINE)}…` : text;
}

function facts(step: Step): readonly string[] {
  const found: string[] = [];
  if (step.duration_s !== null) found.push(seconds(step.duration_s));
  if (step.tokens_in !== null || step.tokens_out !== null) found.push(`${grouped(step.tokens_in ?? 0)} → ${grouped(step.tokens_out ?? 0)} tokens`);
  if (step.cost_usd !== null) found.push(money(step.cost_usd));
  return found;
}

function Body({ step, whole }: { step: Step; whole: StepPage["whole"] }) {
  const [all, set] = useState<WholeStep | "coming" | Problem>();
  const there = all !== undefined && all !== "coming" && !(all instanceof Problem) ? all : undefined;
  const fetchIt = (): void => {
    set("coming");
    whole?.(step.place).then(set, (thrown: unknown) => set(problemOf(thrown)));
  };
  const error = there?.error ?? step.error;
  return (
    <div class="card-body">
      {error !== "" && <div class="problem-box"><Clipped text={error} most={2000} lines={12} /></div>}
      <Value title={step.kind === "model" ? "Asked" : "Arguments"} value={there === undefined ? read(step.arguments) : there.arguments} />
      <Value title={step.kind === "message" ? "Said" : step.kind === "model" ? "Answered" : "Result"} value={there === undefined ? read(step.result) : there.result} />
      {step.arguments === "" && step.result === "" && error === "" && <p class="note">This step has no further details.</p>}
      {step.cut && there === undefined && whole !== undefined && <button type="button" class="button small" disabled={all === "coming"} onClick={fetchIt}>{all === "coming" ? "Reading…" : "Show all of it"}</button>}
      {step.cut && whole === undefined && <p class="note">This is the beginning; the report doesn't have the rest.</p>}
      {all instanceof Problem && <p class="note" role="alert">{told(all.message)}</p>}
    </div>
  );
}

function read(text: string): unknown {
  return text === "" ? null : (asJson(text) ?? text);
}

function Value({ title, value }: { title: string; value: unknown }) {
  if (value === null || value === undefined || value === "") return null;
  return (
    <>
      <h3 class="sub">{title}</h3>
      {typeof value === "string" ? <div class="message"><Clipped text={value} most={4000} lines={30} /></div> : <Json value={value} open={2} />}
    </>
  );
}
