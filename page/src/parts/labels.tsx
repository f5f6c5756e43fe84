/** What people say of a trial: pass or fail, 1 to 5, a star, a note; by whom, since when, and how to take it back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Head, Label } from "../data/source";
import { agreement, reviewed, type Said } from "../model/labels";
import type { Table } from "../model/table";
import type { Labels } from "./labelling";
import { count, grouped, Mark, rate, when } from "./marks";
import { shown } from "./text";
import { TroubleLine } from "./told";

const SCORES = [1, 2, 3, 4, 5] as const;

const DECISIONS = [["keep", "Keep", "+"], ["leave out", "Leave out", "-"]] as const;

/** How far the review of a dataset is. */
export function ReviewLine({ review, labels }: { review: NonNullable<Head["review"]>; labels: readonly Label[] }) {
  const { kept, leftOut } = reviewed(review.places, labels);
  return (
    <p class="note" role="status">
      <b>{shown(review.file)}</b>{`: ${grouped(kept + leftOut)} of ${count(review.places.length, "drawn trace")} reviewed, ${grouped(leftOut)} left out. Press + to keep a trace, - to leave it out.`}
    </p>
  );
}

/**
 * Buttons for one person's labels. `noting`: the note is to be written; `noted` says that its field is being written in.
 * `drawn`: the trial is of a dataset that is reviewed.
 */
export function LabelBar(p: { labels: Labels; drawn: boolean; author: string; name: ((author: string) => void) | undefined; noting: boolean; noted: () => void }) {
  const { labels } = p;
  const { mine } = labels;
  return (
    <div class="labelbar" role="group" aria-label="Your label">
      {p.drawn && (
        <span class="label-scores" role="group" aria-label="In the dataset">
          {DECISIONS.map(([value, words, key]) => (
            <button key={value} type="button" class="button small" aria-pressed={mine?.dataset === value} title={`${words}: key ${key}`} onClick={() => labels.toggle("dataset", value)}>
              {words}
            </button>
          ))}
        </span>
      )}
      {(["pass", "fail"] as const).map((verdict) => (
        <button
          key={verdict} type="button" class={`button small label-${verdict}`} aria-pressed={mine?.verdict === verdict}
          title={`${verdict}: key ${verdict[0]}`} onClick={() => labels.toggle("verdict", verdict)}
        >
          <Mark outcome={verdict} />
        </button>
      ))}
      <span class="label-scores" role="group" aria-label="From 1 to 5">
        {SCORES.map((score) => (
          <button
            key={score} type="button" class="button small" aria-pressed={mine?.score === score} title={`${score} of 5: key ${score}`}
            onClick={() => labels.toggle("score", score)}
          >
            {score}
          </button>
        ))}
      </span>
      <button type="button" class="button small" aria-pressed={mine?.star === true} title="Star: key s" onClick={() => labels.toggle("star", true)}>
        <span aria-hidden="true">{mine?.star === true ? "★" : "☆"}</span><span class="unseen">Star</span>
      </button>
      <button type="button" class="button small quiet" title="Undo the last one: key u" disabled={mine === undefined} onClick={labels.undo}>
        Undo
      </button>
      <Note key={`${p.author} ${mine?.note ?? ""}`} noting={p.noting} noted={p.noted} say={(note) => labels.say("note", note)} />
      <Author key={p.author} author={p.author} name={p.name} />
      <TroubleLine problem={labels.problem} />
    </div>
  );
}

function Note({ noting, noted, say }: { noting: boolean; noted: () => void; say: (note: string) => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!noting) return;
    field.current?.focus();
    noted();
  }, [noting]);
  const dropped = useRef(false);
  const done = (): void => {
    if (!dropped.current && text.trim() !== "") say(text.trim());
    dropped.current = false;
  };
  /** Leaving the field is what adds the note. */
  const leave = (): void => field.current?.closest<HTMLElement>(".drawer")?.focus();
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      dropped.current = true;
      setText("");
      leave();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      leave();
    }
  };
  return (
    <textarea
      ref={field} class="note-field" rows={Math.min(6, text.split("\n").length)} aria-label="Note" placeholder="Note (n)"
      value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={key} onBlur={done} maxLength={10_000}
    />
  );
}

/** Where somebody is signed in, the name is known. */
export function Author({ author, name }: { author: string; name: ((author: string) => void) | undefined }) {
  const [text, setText] = useState(author); // what is being written outlives a drawing of the page
  return name !== undefined && (
    <label class="author">
      as{" "}
      <input
        class="author-field" value={text} maxLength={80} size={Math.max(4, Math.min(20, text.length))} aria-label="Your name, stored with your labels"
        onInput={(event) => setText(event.currentTarget.value)} onChange={() => (text.trim() === "" ? setText(author) : name(text))}
      />
    </label>
  );
}

/** What everybody says of this trial now, but for their notes. */
export function Standing({ said }: { said: readonly Said[] }) {
  const more = said.filter((one) => Object.keys(one).length > 2 + Number(one.note !== undefined)); // than author and blind
  if (more.length === 0) return null;
  return (
    <ul class="standing" aria-label="What people say">
      {more.map((one) => (
        <li key={one.author}>
          <b>{shown(one.author)}</b> {one.verdict !== undefined && <Mark outcome={one.verdict} />}{" "}
          {one.score !== undefined && <span>{one.score} of 5</span>}{" "}
          {one.star === true && <span><span aria-hidden="true">★</span><span class="unseen">starred</span></span>}{" "}
          {one.metrics?.map(({ metric, field, value }) => (
            <span key={`${field} ${metric}`} class="chip" title={field === "verdict" ? "On this judged metric" : "In a drawn pair"}>
              {shown(metric)}: {field === "verdict" ? <Mark outcome={value === "pass" ? "pass" : "fail"} /> : shown(value)}
            </span>
          ))}
          {one.blind && <span class="chip" title="Variant and verdicts were hidden">blind</span>}
          {one.dataset !== undefined && <span class="chip" title="In the dataset">{one.dataset}</span>}
          {one.code !== undefined && <span class="chip" title="Failure code">{shown(one.code)}</span>}
        </li>
      ))}
    </ul>
  );
}

/** The notes on this trial, oldest first, whoever wrote them. `withdraw`: takes back this author's last one. */
export function Thread({ notes, author, withdraw }: { notes: readonly Label[]; author: string; withdraw: ((before: Label["value"]) => void) | undefined }) {
  const mine = notes.filter((note) => note.author === author);
  if (notes.length === 0) return null;
  return (
    <ol class="events thread" aria-label="Notes" tabIndex={0}>
      {notes.map((note) => (
        <Event key={note.seq} event={note}>
          {withdraw !== undefined && note === mine.at(-1) && <button type="button" class="button quiet small" onClick={() => withdraw(mine.at(-2)?.value ?? null)}>Withdraw</button>}
        </Event>
      ))}
    </ol>
  );
}

/** Every event of this trial, newest first. */
export function History({ events }: { events: readonly Label[] }) {
  if (events.length === 0) return <p class="note">This trial has no labels or notes.</p>;
  return <ol class="events">{[...events].reverse().map((event) => <Event key={event.seq} event={event} />)}</ol>;
}

function Event({ event, children }: { event: Label; children?: ComponentChildren }) {
  return (
    <li dir="auto">
      <time dateTime={new Date(event.at * 1000).toISOString()}>{when(event.at)}</time>{" "}
      <b>{shown(event.author)}</b> {saidOf(event)}
      {event.blind && " (blind)"}
      {children}
    </li>
  );
}

function saidOf({ field, value, metric }: Label): ComponentChildren {
  const word = metric ? `${field} of ${shown(metric)}` : field === "score" ? "rating" : field;
  if (value === null || value === false) return `took back: ${word}`;
  return field === "star" ? "star" : <>{word}: {shown(String(value))}</>;
}

/** `People and verdicts agree on 18 of 20 [70–97 %]`, over the run. */
export function AgreementLine({ table, labels }: { table: Table; labels: readonly Label[] }) {
  const found = agreement(table, labels);
  if (found.n === 0) return <p class="note agreement">No trial of this run has a verdict and a person's pass or fail yet.</p>;
  const { n, agreed, tooKind, tooStrict, blind } = found;
  const apart = [
    tooKind > 0 ? `${tooKind} passed that people fail` : "",
    tooStrict > 0 ? `${tooStrict} failed that people pass` : "",
  ].filter((part) => part !== "");
  return (
    <p class="note agreement">
      {`People and verdicts agree on ${agreed} of ${n}: ${rate(found.rate)}. `}
      {apart.length > 0 && `${apart.join(", ")}. `}
      {blind > 0 && `${blind} labelled blind.`}
    </p>
  );
}
