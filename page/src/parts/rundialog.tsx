/** What somebody says of a run: its name, tags and a note; and where it is deleted, once that was said twice. */
import { useEffect, useRef, useState } from "preact/hooks";
import { problemOf, type Problem } from "../data/problem";
import type { DataSource, RunSummary } from "../data/source";
import { count, money } from "./marks";
import { shown } from "./text";
import { TroubleLine } from "./told";

interface Props {
  readonly source: DataSource;
  readonly run: RunSummary;
  readonly close: () => void;
  /** Something was changed. */
  readonly changed: () => void;
}

export function RunDialog({ source, run, close, changed }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [title, setTitle] = useState(run.title);
  const [tags, setTags] = useState(run.tags.join(", "));
  const [note, setNote] = useState(run.note);
  const [asked, ask] = useState(false);
  const [problem, fail] = useState<Problem>();
  const [read, see] = useState(run); // what others have said by then is replaced only by who has read it
  useEffect(() => {
    if (dialog.current !== null && !dialog.current.open) dialog.current.showModal();
  }, []);
  const doing = (made: Promise<void> | undefined): void => {
    made?.then(
      () => {
        changed();
        dialog.current?.close();
      },
      (thrown: unknown) => {
        fail(problemOf(thrown));
        source.runs().then((runs) => see(runs.find(({ id }) => id === run.id) ?? read), () => undefined);
      },
    );
  };
  const save = (event: Event): void => {
    event.preventDefault();
    const now = tags.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    const said = {
      ...(title.trim() === run.title ? {} : { title }),
      ...(tags === run.tags.join(", ") ? {} : { tags: now }),
      ...(note.trim() === run.note ? {} : { note }),
    };
    const was = { title: read.title, tags: read.tags, note: read.note };
    doing(Object.keys(said).length === 0 ? Promise.resolve() : source.remark?.(run.id, { ...said, was }));
  };
  return (
    <dialog ref={dialog} class="help run-dialog" aria-labelledby="run-dialog-title" onClose={close} onKeyDown={(event) => event.stopPropagation()}>
      <form onSubmit={save}>
        <h2 id="run-dialog-title">{shown(run.title || run.id)}</h2>
        <TroubleLine problem={problem} />
        <label>Name <input class="control" value={title} maxLength={300} placeholder="As its plan says" onInput={(event) => setTitle(event.currentTarget.value)} /></label>
        <label>Tags, with commas between them <input class="control" value={tags} onInput={(event) => setTags(event.currentTarget.value)} /></label>
        <label>Note <textarea class="control" rows={4} value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>
        {run.said_by !== "" && <p class="muted">Last changed by {shown(run.said_by)}</p>}
        <div class="run-dialog-ends">
          <button type="submit" class="button primary">Save</button>
          <button type="button" class="button" onClick={() => dialog.current?.close()}>Cancel</button>
          {!asked && <button type="button" class="button quiet run-delete" onClick={() => ask(true)}>Delete…</button>}
        </div>
        {asked && (
          <div class="problem-box" role="alert">
            <p>
              {`Delete this run for good? It has ${count(run.totals.trials, "trial")}${run.totals.cost_usd ? `, whose replies cost ${money(run.totals.cost_usd)}` : ""}, and all labels given to them. It cannot be brought back.`}
              {run.alive && " A process is writing it: it is not deleted before that has ended."}
            </p>
            <button type="button" class="button run-delete" onClick={() => doing(source.delete?.(run.id))}>Delete for good</button>
            <button type="button" class="button" onClick={() => ask(false)}>Keep it</button>
          </div>
        )}
      </form>
    </dialog>
  );
}
