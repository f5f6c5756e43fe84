/** The previews of the cells in sight: asked for together, kept for a while, called off when they are out of sight. */
import { calledOff, problemOf, type Problem } from "./problem";
import type { DataSource, Preview } from "./source";

const KEPT = 4000;
const TOGETHER = 120; // previews in one request
const PATIENCE = 40; // ms: scrolling past asks for nothing

export class Previews {
  /** In the order of use: a Map remembers it. */
  private readonly kept = new Map<number, Preview>();
  private wanted: readonly number[] = [];
  private asked = new Set<number>();
  private timer: number | undefined;
  private request: AbortController | undefined;

  constructor(
    private readonly source: DataSource,
    private readonly run: string,
    /** Called when some have come, or could not be had. */
    private readonly came: (problem?: Problem) => void,
  ) {}

  get(index: number): Preview | undefined {
    const preview = this.kept.get(index);
    if (preview !== undefined) {
      this.kept.delete(index);
      this.kept.set(index, preview);
    }
    return preview;
  }

  /** These are in sight now. */
  want(indexes: readonly number[]): void {
    this.wanted = indexes.filter((index) => !this.kept.has(index));
    if (this.wanted.length === 0) return;
    if (this.wanted.every((index) => this.asked.has(index))) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), PATIENCE);
  }

  /** The run has grown or was settled anew: forget what may have changed. */
  forget(): void {
    this.kept.clear();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.request?.abort();
  }

  private async ask(): Promise<void> {
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    const wanted = this.wanted.filter((index) => !this.kept.has(index));
    for (let at = 0; at < wanted.length; at += TOGETHER) {
      const part = wanted.slice(at, at + TOGETHER);
      this.asked = new Set(wanted.slice(at));
      try {
        for (const preview of await this.source.previews(this.run, part, request.signal)) this.kept.set(preview.index, preview);
      } catch (thrown) {
        if (calledOff(thrown) || request.signal.aborted) return;
        this.asked = new Set(); // shown as "…" until they are asked for again
        this.came(problemOf(thrown));
        return;
      }
      for (const index of this.kept.keys()) {
        if (this.kept.size <= KEPT) break;
        this.kept.delete(index);
      }
      if (request.signal.aborted) return;
      this.came();
    }
    this.asked = new Set();
  }
}
