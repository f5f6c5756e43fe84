/** Labelling a random draw: one output after the other, with the judge's verdict hidden. */
import { useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, Draw, DrawnItem, DrawWish } from "../data/source";
import { useKeys } from "../parts/keyboard";
import { Author } from "../parts/labels";
import { count, Mark } from "../parts/marks";
import { Answer } from "../parts/output";
import { RuleForm } from "../parts/ruleform";
import { Brief, shown, TextBox } from "../parts/text";
import { nextWithout, useAnswers } from "../state/answers";
import { useUnruled } from "../state/unruled";
import { Told, Trouble, TroubleLine, Waiting } from "../parts/told";
import { PairsView } from "./pairs";

const FIRST_DRAW = 60;
const WORTH_EVERY = 10; // labels between two readings of what they are worth
const SCORES = [1, 2, 3, 4, 5] as const;

interface Props {
  readonly source: DataSource;
  readonly run: string;
  readonly author: string;
  readonly name: ((author: string) => void) | undefined;
  /** Outputs are read as Markdown. */
  readonly md: boolean;
  readonly setMd: (md: boolean) => void;
}

type Verdict = "pass" | "fail" | null;

const OUTPUTS = "";

/** Outputs one by one, or the pairs of a ranking; where a run has both, one chooses. */
export function LabelView({ outputs, rankings, ...props }: Props & { readonly outputs: boolean; readonly rankings: readonly string[] }) {
  const ways = [...(outputs || rankings.length === 0 ? [OUTPUTS] : []), ...rankings];
  const [chosen, choose] = useState(OUTPUTS);
  const way = ways.includes(chosen) ? chosen : ways[0]!; // of a large run, rankings are known later
  return (
    <div class="labelling">
      <div class="labelling-who">
        {ways.length > 1 && (
          <label>What to label{" "}
            <select class="control" value={way} onChange={(event) => choose(event.currentTarget.value)}>
              {ways.map((each) => <option key={each} value={each}>{each === OUTPUTS ? "outputs" : shown(each)}</option>)}
            </select>{" "}
          </label>
        )}
        <Author key={props.author} author={props.author} name={props.name} />
      </div>
      {way === OUTPUTS ? <OutputsView {...props} /> : <PairsView key={way} ranking={way} {...props} />}
    </div>
  );
}

function OutputsView({ source, run, author, md, setMd }: Props) {
  const [draw, set] = useState<Draw>();
  const [problem, setProblem] = useState<Problem>();
  const [without, leave] = useUnruled(run);
  /** `before`: what went wrong before, and is still to be told. */
  const read = async (before?: Problem): Promise<void> => {
    try {
      set(await source.drawn!(run, author));
      setProblem(before);
    } catch (thrown) {
      setProblem(problemOf(thrown));
    }
  };
  useEffect(() => void read(), [source, run, author]);
  /** What others did meanwhile is the likeliest reason of a refusal: so it is read. */
  const trouble = (told: Problem | undefined): void => {
    setProblem(told);
    if (told !== undefined && told.slug !== "") void read(told);
  };
  const change = async (made: Promise<unknown>): Promise<void> => {
    try {
      await made;
      await read();
    } catch (thrown) {
      trouble(problemOf(thrown));
    }
  };
  const more = (wish: Omit<DrawWish, "draws">): void => void change(source.drawMore!(run, { ...wish, draws: draw?.draws ?? 0 }));
  if (draw === undefined) return problem === undefined ? <Waiting>Reading the draw…</Waiting> : <Trouble problem={problem} />;
  const unruled = draw.items.length === 0 ? undefined : draw.metrics.find((metric) => {
    const items = draw.items.filter((item) => item.metric === metric);
    return items.length > 0 && draw.rules[metric] === undefined && !without(metric) && items.every(({ verdict }) => verdict === null);
  });
  return (
    <>
      <TroubleLine problem={problem} />
      {draw.items.length === 0 && (
        <Told title="Is the judge right?">
          <p>{`A judge judged ${count(draw.judged, "output")}. Label a random draw of them, without seeing its verdicts: that shows how often it errs, and corrects its pass rate. Sixty take about an hour.`}</p>
          <DrawForm key="first" draw={draw} make={more} />
        </Told>
      )}
      {unruled !== undefined && <RuleForm key={unruled} metric={unruled} what="makes an output pass" without={() => leave(unruled)} keep={(rule) => void change(source.keepRule!(run, unruled, rule))} />}
      {draw.items.length > 0 && <Items key={`${author} ${draw.items.length}`} draw={draw} more={more} source={source} run={run} author={author} asked={unruled !== undefined} again={() => void read()} trouble={trouble} md={md} setMd={setMd} />}
    </>
  );
}

const DESIGNS: readonly (readonly [DrawWish["design"], string])[] = [
  ["uniform", "all equally likely"],
  ["active", "more of what the judge doubts"],
  ["stratum", "from each value of a column"],
];

function DrawForm({ draw, make }: { draw: Draw; make: ItemsProps["more"] }) {
  const [size, set] = useState(Math.min(FIRST_DRAW, draw.left));
  const [design, choose] = useState<DrawWish["design"]>("uniform");
  const [column, by] = useState(draw.columns[0] ?? "");
  const [equal, alike] = useState(false);
  return (
    <form class="labelling-draw" onSubmit={(event) => { event.preventDefault(); make({ size, design, column, equal }); }}>
      <label>Outputs to draw <input class="control" type="number" min={1} max={Math.min(2000, draw.left)} value={size} onInput={(event) => set(event.currentTarget.valueAsNumber)} /></label>{" "}
      <label>How{" "}
        <select class="control" value={design} onChange={(event) => choose(event.currentTarget.value as DrawWish["design"])}>
          {DESIGNS.filter(([id]) => id !== "stratum" || draw.columns.length > 0).map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select>
      </label>{" "}
      {design === "stratum" && (
        <>
          <label>Column{" "}
            <select class="control" value={column} onChange={(event) => by(event.currentTarget.value)}>
              {draw.columns.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>{" "}
          <label><input type="checkbox" checked={equal} onChange={(event) => alike(event.currentTarget.checked)} /> as many of each value</label>{" "}
        </>
      )}
      <button type="submit" class="button">Draw</button>
    </form>
  );
}

interface ItemsProps extends Pick<Props, "md" | "setMd"> {
  readonly draw: Draw;
  readonly more: (wish: Omit<DrawWish, "draws">) => void;
  readonly source: DataSource;
  readonly run: string;
  readonly author: string;
  /** A rule is asked for: keys are not for labels yet. */
  readonly asked: boolean;
  readonly again: () => void;
  readonly trouble: (problem: Problem | undefined) => void;
}

function Items({ draw, more, source, run, author, asked, again, trouble, md, setMd }: ItemsProps) {
  const { items } = draw;
  const { answers: verdicts, done, at, go, put: keep, send, then } = useAnswers<Verdict>(items.map(({ verdict }) => verdict), (verdict) => verdict, trouble, source.person);
  const [last, remember] = useState<readonly number[]>([]);
  const item = items[at];
  const put = (index: number, verdict: Verdict): readonly Verdict[] => {
    const { index: trial, metric } = items[index]!;
    return keep(index, verdict, () => source.keepVerdict!(run, { index: trial, metric, verdict, author, rule: draw.rules[metric] ?? null }));
  };
  const say = (verdict: Verdict): void => {
    if (item === undefined) return;
    const changed = put(at, verdict);
    remember([...last, at]);
    const to = nextWithout(changed, at);
    go(to);
    if (to < 0 || changed.filter((each) => each !== null).length % WORTH_EVERY === 0) then(again);
  };
  const undo = (): void => {
    const before = last.at(-1);
    if (before === undefined) return;
    put(before, null);
    remember(last.slice(0, -1));
    go(before);
  };
  const skip = (): void => go(nextWithout(verdicts, at));
  useKeys({ p: () => say("pass"), f: () => say("fail"), s: skip, u: undo, c: () => focusOn("labelling-code"), n: () => focusOn("labelling-note") }, !asked);
  const [scores, score] = useState<ReadonlyMap<number, number | null>>(new Map());
  const scoreOf = (of: DrawnItem): number | null => scores.get(of.index) ?? (scores.has(of.index) ? null : of.score);
  const rate = (value: number): void => {
    if (item === undefined) return;
    const before = scoreOf(item);
    const kept = before === value ? null : value;
    score(new Map(scores).set(item.index, kept));
    send(() => source.label(run, { index: item.index, field: "score", value: kept, author, blind: true }), () => score((now) => new Map(now).set(item.index, before)));
  };
  useKeys({ 1: () => rate(1), 2: () => rate(2), 3: () => rate(3), 4: () => rate(4), 5: () => rate(5) }, !asked);
  const remark = (field: "code" | "note", text: string): void => {
    if (item !== undefined) send(() => source.label(run, { index: item.index, field, value: text === "" ? null : text, author, blind: true }));
  };
  if (item === undefined && done < items.length) return <Waiting>Keeping the last labels…</Waiting>;
  if (item === undefined) {
    return (
      <Told title={`All ${count(items.length, "output")} labelled`}>
        {draw.worth.map((line) => <p key={line}>{shown(line)}</p>)}
        {draw.counted.length > 0 && <ul aria-label="Failure codes">{draw.counted.map((line) => <li key={line}>{shown(line)}</li>)}</ul>}
        {draw.left > 0 && <DrawForm draw={draw} make={more} />}
        <p><code>evenhand calibrate</code> says whether the judge can be used, and writes the correction for later runs.</p>
        <button type="button" class="button" onClick={undo} disabled={last.length === 0}>Undo the last one (u)</button>
      </Told>
    );
  }
  const rule = draw.rules[item.metric];
  return (
    <>
      <header class="labelling-head" key={item.metric}>
        <h2 class="chart-title">{shown(item.metric)} <span class="muted">{`${done} of ${items.length} labelled`}</span></h2>
        {item.criterion !== "" && <p class="labelling-pass">The judge was asked: <Brief text={item.criterion} most={160} lines={2} /></p>}
        {rule !== undefined && <p class="labelling-pass">Passes if: <Brief text={rule} most={160} lines={2} /></p>}
      </header>
      <TextBox title="Answer to" text={item.material} />
      <Answer title="Output" text={item.output} md={md} setMd={setMd} />
      <div class="labelbar" role="group" aria-label="Your label">
        {(["pass", "fail"] as const).map((verdict) => (
          <button key={verdict} type="button" class={`button label-${verdict}`} title={`${verdict}: key ${verdict[0]}`} onClick={() => say(verdict)}><Mark outcome={verdict} /></button>
        ))}
        <span class="label-scores" role="group" aria-label="From 1 to 5">
          {SCORES.map((value) => (
            <button key={value} type="button" class="button small" aria-pressed={scoreOf(item) === value} title={`${value} of 5: key ${value}`} onClick={() => rate(value)}>{value}</button>
          ))}
        </span>
        <button type="button" class="button quiet" title="Skip: key s" onClick={skip}>Skip</button>
        <button type="button" class="button quiet" title="Undo the last one: key u" disabled={last.length === 0} onClick={undo}>Undo</button>
      </div>
      <Remarks key={`${item.index} ${item.metric}`} item={item} codes={draw.codes} remark={remark} />
      {draw.worth.map((line) => <p key={line} class="note">{shown(line)}</p>)}
    </>
  );
}

function Remarks({ item, codes, remark }: { item: DrawnItem; codes: readonly string[]; remark: (field: "code" | "note", text: string) => void }) {
  const field = (id: "code" | "note", label: string, kept: string) => (
    <label>{label}{" "}
      <input
        id={`labelling-${id}`} class="control" defaultValue={kept} maxLength={id === "code" ? 100 : 10_000} list={id === "code" ? "codes" : undefined}
        onChange={(event) => remark(id, event.currentTarget.value.trim())}
        onKeyDown={(event) => { if (event.key === "Enter" || event.key === "Escape") event.currentTarget.blur(); }}
      />
    </label>
  );
  return (
    <div class="labelling-remarks">
      {field("code", "Failure code (c)", item.code)}
      {field("note", "Note (n)", item.note)}
      <datalist id="codes">{codes.map((code) => <option key={code} value={code} />)}</datalist>
    </div>
  );
}

function focusOn(id: string): boolean {
  const field = document.getElementById(id);
  field?.focus();
  return field !== null;
}
