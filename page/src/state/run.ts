/** A run as it comes in: its head, then its cells block by block; again and again while it is being written. */
import { useEffect, useState } from "preact/hooks";
import { about, problemOf, type Problem } from "../data/problem";
import type { DataSource, Head } from "../data/source";
import { tableOf, type Table } from "../model/table";

export interface Progress {
  /** How many cells are here, and whether these are all that the run has by now. */
  readonly cells: number;
  readonly done: boolean;
}

export interface LoadedRun {
  readonly head: Head | undefined;
  /** It grows in place; `progress` is another one whenever it did. */
  readonly table: Table | undefined;
  readonly progress: Progress;
  readonly problem: Problem | undefined;
  /** What could not be read of a run that is shown: some of it, or what it has come to since. */
  readonly missed: Problem | undefined;
}

const NOTHING: Progress = { cells: 0, done: false };
const EMPTY: LoadedRun = { head: undefined, table: undefined, progress: NOTHING, problem: undefined, missed: undefined };
const DRAWN_EVERY = 250; // ms between two drawings while blocks come in
const LOOK_EVERY = 10_000; // ms, while a run is being written
const ENDED: readonly Head["status"][] = ["finished", "decided"];
const REST = 4; // a live run is read again after so many times as long as the last reading took

export function useRun(source: DataSource, run: string): LoadedRun {
  const [loaded, set] = useState(EMPTY);
  useEffect(() => {
    set(EMPTY);
    if (run === "") return undefined;
    const reader = new Reader(source, run, set);
    return () => reader.stop();
  }, [source, run]);
  return loaded;
}

/** Reads the run once, and again whenever it grew. The first reading is shown while it goes on, later ones when done. */
class Reader {
  private stopped = false;
  private shown: LoadedRun = EMPTY;
  private reading = true;
  private again = false;
  private timer: number | undefined;
  private looking: number | undefined;
  /** Set while the run file is being watched. */
  private unwatch: (() => void) | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly run: string,
    private readonly show: (loaded: LoadedRun) => void,
  ) {
    if (source.live) document.addEventListener("visibilitychange", this.look);
    void this.read();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.unwatch?.();
    clearInterval(this.looking);
    document.removeEventListener("visibilitychange", this.look);
  }

  /** Whoever comes back to the page sees what was resumed, labelled or killed meanwhile. */
  private readonly look = (): void => {
    const { head } = this.shown;
    if (document.visibilityState !== "visible" || head === undefined || this.reading) return;
    this.source.head(this.run).then(
      ({ seq, alive }) => {
        if (!this.stopped && !this.reading && (seq !== head.seq || alive !== head.alive)) void this.read();
      },
      () => undefined, // the server was stopped: what is shown stays
    );
  };

  private async read(): Promise<void> {
    this.reading = true;
    this.again = false;
    const started = performance.now();
    try {
      const head = await this.source.head(this.run);
      if (this.stopped) return;
      if (this.shown.table === undefined) {
        this.put({ head, table: tableOf(head), progress: NOTHING, problem: undefined, missed: undefined });
      }
      this.follow(head);
      await this.readCells(head);
      if (head.partial) await this.readNotes(head);
    } catch (thrown) {
      if (this.stopped) return;
      if (!this.shown.progress.done) this.put({ ...this.shown, problem: problemOf(thrown) });
      else this.put({ ...this.shown, missed: about("the run has changed, and could not be read again", thrown) });
    }
    this.reading = false;
    if (this.again) this.later(performance.now() - started);
  }

  private async readCells(head: Head): Promise<void> {
    const first = !this.shown.progress.done;
    const table = first && this.shown.table !== undefined ? this.shown.table : tableOf(head);
    let drawn = -Infinity;
    for await (const block of this.source.blocks(this.run)) {
      if (this.stopped) return;
      table.add(block);
      if (first && performance.now() - drawn > DRAWN_EVERY) {
        this.put({ head, table, progress: { cells: table.size, done: false }, problem: undefined, missed: undefined });
        await new Promise((resolve) => setTimeout(resolve));
        drawn = performance.now();
      }
    }
    if (!this.stopped) this.put({ head, table, progress: { cells: table.size, done: true }, problem: undefined, missed: undefined });
  }

  /** What a large run's head came without. A page without it is still a page, which says what it has not. */
  private async readNotes(head: Head): Promise<void> {
    try {
      const notes = await this.source.notes?.(this.run);
      if (this.stopped || notes === undefined || this.shown.head !== head) return;
      this.put({ ...this.shown, head: { ...head, ...notes, partial: false } });
    } catch (thrown) {
      if (!this.stopped) this.put({ ...this.shown, missed: about("the run's rate, findings and warnings could not be read", thrown) });
    }
  }

  /**
   * As long as a process writes it. A killed one says nothing, and somebody else may resume it: so a look is taken, too,
   * now and then, until the run has ended.
   */
  private follow({ alive, status, seq }: Head): void {
    if (!this.source.live) return;
    clearInterval(this.looking);
    this.looking = alive || !ENDED.includes(status) ? setInterval(this.look, LOOK_EVERY) : undefined;
    if (alive === (this.unwatch !== undefined)) return;
    if (!alive) {
      this.unwatch?.();
      this.unwatch = undefined;
      return;
    }
    this.unwatch = this.source.watch(this.run, (newest) => {
      if (newest <= seq) return;
      seq = newest;
      if (this.reading) this.again = true;
      else this.later(100);
    });
  }

  private later(took: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(), Math.min(30_000, Math.max(500, took * REST)));
  }

  private put(loaded: LoadedRun): void {
    this.shown = loaded;
    this.show(loaded);
  }
}
