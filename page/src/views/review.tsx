/** Reviewing a random draw: one output after the other, pass or fail and a note on what is wrong, key by key. */
import { useEffect, useRef, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, ReviewDraw } from "../data/source";
import { useKeys } from "../parts/keyboard";
import { Author } from "../parts/labels";
import { count, Mark } from "../parts/marks";
import { Answer } from "../parts/output";
import { shown, TextBox } from "../parts/text";
import { nextWithout, useAnswers } from "../state/answers";
import { Told, Trouble, TroubleLine, Waiting } from "../parts/told";

const FIRST_DRAW = 60;
const MOST_DRAWN = 2000;
const READ_EVERY = 10; // reviews between two looks at what others have reviewed
const NOTE = "review-note";

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

interface Reviewed {
  readonly verdict: Verdict;
  readonly note: string;
}

export function ReviewView(props: Props) {
  const { source, run, author, name } = props;
  const [draw, set] = useState<ReviewDraw>();
  const [problem, setProblem] = useState<Problem>();
  /** `before`: what went wrong before, and is still to be told. */
  const read = async (before?: Problem): Promise<void> => {
    try {
      set(await source.reviewDraw!(run, author));
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
  const more = (size: number): void => void source.drawReviews!(run, size, draw?.draws ?? 0).then(() => read(), (thrown: unknown) => trouble(problemOf(thrown)));
  if (draw === undefined) return problem === undefined ? <Waiting>Reading the draw…</Waiting> : <Trouble problem={problem} />;
  return (
    <div class="labelling">
      <div class="labelling-who"><Author key={author} author={author} name={name} /></div>
      <TroubleLine problem={problem} />
      {draw.items.length === 0 && (
        <Told title="What goes wrong?">
          <p>Read a random draw of outputs, and write a note on each that fails. Failures are likelier to be drawn, and each case once at most. A hundred take about an hour.</p>
          <DrawForm make={more} />
        </Told>
      )}
      {draw.items.length > 0 && <Items key={`${author} ${draw.items.length}`} {...props} draw={draw} more={more} again={() => void read()} trouble={trouble} />}
    </div>
  );
}

function DrawForm({ make }: { make: (size: number) => void }) {
  const [size, set] = useState(FIRST_DRAW);
  return (
    <form class="labelling-draw" onSubmit={(event) => { event.preventDefault(); make(size); }}>
      <label>Outputs to draw <input class="control" type="number" min={1} max={MOST_DRAWN} value={size} onInput={(event) => set(event.currentTarget.valueAsNumber)} /></label>{" "}
      <button type="submit" class="button">Draw</button>
    </form>
  );
}

interface ItemsProps extends Props {
  readonly draw: ReviewDraw;
  readonly more: (size: number) => void;
  readonly again: () => void;
  readonly trouble: (problem: Problem | undefined) => void;
}

function Items({ draw, more, source, run, author, again, trouble, md, setMd }: ItemsProps) {
  const { items } = draw;
  const { answers: said, done, at, go, put: keep, then } = useAnswers<Reviewed>(items.map(({ verdict, note }) => ({ verdict, note })), ({ verdict }) => verdict, trouble, source.person);
  const verdicts = said.map(({ verdict }) => verdict);
  const [last, remember] = useState<readonly number[]>([]);
  const field = useRef<HTMLInputElement>(null);
  const item = items[at];
  const put = (place: number, review: Reviewed): readonly Reviewed[] => {
    const { index } = items[place]!;
    return keep(place, review, () => source.keepReview!(run, { index, ...review, author }));
  };
  const next = (changed: readonly Reviewed[]): void => {
    const to = nextWithout(changed.map(({ verdict }) => verdict), at);
    go(to);
    const answered = changed.filter(({ verdict }) => verdict !== null).length;
    if (to < 0 || answered % READ_EVERY === 0) then(again); // others review, too
  };
  const pass = (): void => {
    if (item === undefined) return;
    remember([...last, at]);
    next(put(at, { verdict: "pass", note: "" }));
  };
  /** Kept at once, so that nothing is lost where the note is never finished. */
  const fail = (): void => {
    if (item === undefined) return;
    put(at, { verdict: "fail", note: field.current?.value.trim() ?? "" });
    field.current?.focus();
  };
  const written = (note: string): void => {
    if (item === undefined) return;
    remember([...last, at]);
    next(put(at, { verdict: "fail", note: note.trim() }));
  };
  const undo = (): void => {
    const before = last.at(-1);
    if (before === undefined) return;
    put(before, { verdict: null, note: "" });
    remember(last.slice(0, -1));
    go(before);
  };
  const skip = (): void => go(nextWithout(verdicts, at));
  useKeys({ p: pass, f: fail, n: fail, s: skip, u: undo });
  if (item === undefined && done < items.length) return <Waiting>Keeping the last reviews…</Waiting>;
  if (item === undefined) {
    return (
      <Told title={`All ${count(items.length, "output")} reviewed`}>
        {draw.disputed.length > 0 && <><p>People disagree:</p><ul aria-label="Disagreements">{draw.disputed.map((line) => <li key={line}>{shown(line)}</li>)}</ul></>}
        <DrawForm make={more} />
        <p><code>evenhand review propose</code> lets a model name kinds of failure from the notes; <code>evenhand review count</code> says how frequent each is.</p>
        <button type="button" class="button" onClick={undo} disabled={last.length === 0}>Undo the last one (u)</button>
      </Told>
    );
  }
  return (
    <>
      <header class="labelling-head"><h2 class="chart-title">Review <span class="muted">{`${done} of ${items.length} reviewed`}</span></h2></header>
      <TextBox title="Answer to" text={item.material} />
      <Answer title="Output" text={item.output} md={md} setMd={setMd} />
      <div class="labelbar" role="group" aria-label="Your review">
        <button type="button" class="button label-pass" title="pass: key p" onClick={pass}><Mark outcome="pass" /></button>
        <button type="button" class="button label-fail" title="fail, then a note: key f" aria-pressed={said[at]?.verdict === "fail"} onClick={fail}><Mark outcome="fail" /></button>
        <button type="button" class="button quiet" title="Skip: key s" onClick={skip}>Skip</button>
        <button type="button" class="button quiet" title="Undo the last one: key u" disabled={last.length === 0} onClick={undo}>Undo</button>
      </div>
      <form key={item.index} class="labelling-remarks" onSubmit={(event) => { event.preventDefault(); written(field.current?.value ?? ""); }}>
        <label>What is wrong (f), then Enter{" "}
          <input ref={field} id={NOTE} class="control" defaultValue={said[at]?.note ?? ""} maxLength={100_000} onKeyDown={(event) => { if (event.key === "Escape") event.currentTarget.blur(); }} />
        </label>
      </form>
    </>
  );
}
