/** Labelling pairs of a ranking: two outputs side by side in the order of the draw, with the judge's answers hidden. */
import { useEffect, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, DrawnPair, PairAnswer, PairDraw } from "../data/source";
import { useKeys } from "../parts/keyboard";
import { count } from "../parts/marks";
import { Answer } from "../parts/output";
import { RuleForm } from "../parts/ruleform";
import { Brief, shown, TextBox } from "../parts/text";
import { Told, Trouble, TroubleLine, Waiting } from "../parts/told";
import { nextWithout, useAnswers } from "../state/answers";
import { useUnruled } from "../state/unruled";

const FIRST_DRAW = 60;
const WORTH_EVERY = 10; // labels between two readings of how many there are
const ANSWERS: readonly (readonly [PairAnswer, string, string])[] = [
  ["first", "First", "1 or ←"],
  ["second", "Second", "2 or →"],
  ["tie", "Tie", "t"],
];

interface Props {
  readonly source: DataSource;
  readonly run: string;
  readonly ranking: string;
  readonly author: string;
  readonly md: boolean;
  readonly setMd: (md: boolean) => void;
}

export function PairsView({ source, run, ranking, author, md, setMd }: Props) {
  const [draws, set] = useState<readonly PairDraw[]>();
  const [problem, setProblem] = useState<Problem>();
  const [without, leave] = useUnruled(run);
  /** `before`: what went wrong before, and is still to be told. */
  const read = async (before?: Problem): Promise<void> => {
    try {
      set(await source.pairs!(run, author));
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
  const draw = draws?.find((each) => each.ranking === ranking);
  const more = (size: number): void => void change(source.drawMorePairs!(run, { ranking, size, draws: draw?.draws ?? 0 }));
  if (draws === undefined) return problem === undefined ? <Waiting>Reading the draw…</Waiting> : <Trouble problem={problem} />;
  if (draw === undefined) return <Told title="Nothing to compare"><p>No judge compared outputs in pairs here.</p></Told>;
  const asked = draw.items.length > 0 && draw.rule === null && !without(ranking) && draw.items.every(({ answer }) => answer === null);
  return (
    <>
      <TroubleLine problem={problem} />
      {draw.items.length === 0 && (
        <Told title="Does the judge prefer what people prefer?">
          <p>{`A judge compared ${count(draw.judged, "pair")} of outputs. Compare a random draw of them, without seeing its answers: that shows how often it errs, and corrects the ranking. Sixty take about an hour.`}</p>
          <DrawForm draw={draw} make={more} />
        </Told>
      )}
      {asked && <RuleForm metric={ranking} what="makes an output better by" without={() => leave(ranking)} keep={(rule) => void change(source.keepPairRule!(run, ranking, rule))} />}
      {draw.items.length > 0 && <Pairs key={`${author} ${draw.items.length}`} draw={draw} more={more} source={source} run={run} author={author} asked={asked} again={() => void read()} trouble={trouble} md={md} setMd={setMd} />}
    </>
  );
}

function DrawForm({ draw, make }: { draw: PairDraw; make: (size: number) => void }) {
  const [size, set] = useState(Math.min(FIRST_DRAW, draw.left));
  return (
    <form class="labelling-draw" onSubmit={(event) => { event.preventDefault(); make(size); }}>
      <label>Pairs to draw <input class="control" type="number" min={1} max={Math.min(2000, draw.left)} value={size} onInput={(event) => set(event.currentTarget.valueAsNumber)} /></label>{" "}
      <button type="submit" class="button">Draw</button>
    </form>
  );
}

interface PairsProps extends Pick<Props, "md" | "setMd"> {
  readonly draw: PairDraw;
  readonly more: (size: number) => void;
  readonly source: DataSource;
  readonly run: string;
  readonly author: string;
  /** A rule is asked for: keys are not for labels yet. */
  readonly asked: boolean;
  readonly again: () => void;
  readonly trouble: (problem: Problem | undefined) => void;
}

function Pairs({ draw, more, source, run, author, asked, again, trouble, md, setMd }: PairsProps) {
  const { items, ranking } = draw;
  const { answers, done, at, go, put: keep, then } = useAnswers<PairAnswer | null>(items.map(({ answer }) => answer), (answer) => answer, trouble, source.person);
  const [last, remember] = useState<readonly number[]>([]);
  const item: DrawnPair | undefined = items[at];
  const put = (index: number, answer: PairAnswer | null): readonly (PairAnswer | null)[] => {
    const { first, second } = items[index]!;
    return keep(index, answer, () => source.keepPreference!(run, { ranking, first, second, answer, author, rule: draw.rule }));
  };
  const say = (answer: PairAnswer): void => {
    if (item === undefined) return;
    const changed = put(at, answer);
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
  const skip = (): void => go(nextWithout(answers, at));
  const first = (): void => say("first");
  const second = (): void => say("second");
  useKeys({ 1: first, l: first, ArrowLeft: first, 2: second, r: second, ArrowRight: second, t: () => say("tie"), s: skip, u: undo }, !asked);
  if (item === undefined && done < items.length) return <Waiting>Keeping the last answers…</Waiting>;
  if (item === undefined) {
    return (
      <Told title={`All ${count(items.length, "pair")} compared`}>
        <p>{shown(draw.worth)}</p>
        {draw.left > 0 && <DrawForm draw={draw} make={more} />}
        <p><code>evenhand calibrate</code> says whether the judge can be used, and writes the correction for later runs.</p>
        <button type="button" class="button" onClick={undo} disabled={last.length === 0}>Undo the last one (u)</button>
      </Told>
    );
  }
  return (
    <>
      <header class="labelling-head">
        <h2 class="chart-title"><Brief text={ranking} most={160} lines={2} /> <span class="muted">{`${done} of ${items.length} compared`}</span></h2>
        {draw.rule !== null && <p class="labelling-pass">Better: <Brief text={draw.rule} most={160} lines={2} /></p>}
      </header>
      <TextBox title="Answer to" text={item.material} />
      <div class="labelling-pair">
        <Answer title="First" text={item.outputs[0]} md={md} setMd={setMd} />
        <Answer title="Second" text={item.outputs[1]} md={md} setMd={setMd} />
      </div>
      <div class="labelbar" role="group" aria-label="Which is better">
        {ANSWERS.map(([answer, name, keys]) => (
          <button key={answer} type="button" class="button" title={`${name}: key ${keys}`} onClick={() => say(answer)}>{name}</button>
        ))}
        <button type="button" class="button quiet" title="Skip: key s" onClick={skip}>Skip</button>
        <button type="button" class="button quiet" title="Undo the last one: key u" disabled={last.length === 0} onClick={undo}>Undo</button>
      </div>
      <p class="note">{shown(draw.worth)}</p>
    </>
  );
}
