/**
 * Where the page gets its data: one interface, two backends (a server, or the file that the page itself is).
 *
 * What a model, a dataset or a judge wrote is text in all of these shapes, and stays text.
 */
import type { Block, CanaryPoint, CasePage, Comparison, Draw, Head, Label, MeasuredColumn, Notes, PairAnswer, PairDraw, Preview, PromptPage, ReviewDraw, RunChange, RunSummary, SavedView, SearchPiece, SentCall, SentCell, SentLabels, SentSteps, Summary, WholeStep } from "./shapes.generated";

export type * from "./shapes.generated";

/** One model call of a trial. */
export interface Call extends SentCall {
  /** Fetches the call whole; there where `sizes` are. */
  readonly whole?: () => Promise<Call>;
}

/** Some of a trial's steps. */
export interface StepPage extends SentSteps {
  /** Fetches the steps from a place on, and one of them whole; not there in a report. */
  readonly from?: (first: number) => Promise<StepPage>;
  readonly whole?: (place: number) => Promise<WholeStep>;
}

/** One trial, whole. */
export interface Cell extends SentCell {
  readonly calls: readonly Call[];
  readonly steps: StepPage | null;
}

export type NewLabel = Pick<Label, "index" | "field" | "value" | "blind" | "author">;

/** What to draw: any output equally likely, more of what the judge doubts, or from each value of a column. */
export interface DrawWish {
  readonly size: number;
  readonly design: "uniform" | "active" | "stratum";
  readonly column: string;
  /** By stratum: as many of each value. */
  readonly equal: boolean;
  /** The `draws` of what was read: so nothing is drawn that somebody else drew meanwhile. */
  readonly draws: number;
}

/** What is said of a run: an empty title gives it back its own. */
export interface Remarks {
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly note?: string;
}

/** What of a run is to be had as a file. */
export interface Exported {
  readonly format: string;
  /** The filter; empty for all trials. */
  readonly where: string;
  /** The columns that are left out, by index. */
  readonly hide: readonly number[];
  readonly baseline: string;
}

/** A text to search for, or a regular expression. */
export interface Sought {
  readonly text: string;
  readonly pattern: boolean;
}

/** What is asked of a cell: what can be edited (`offer`), what an edited one would cost, or to run it. */
export interface Asked {
  readonly do: "offer" | "estimate" | "run";
  readonly prompt?: string | null;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly variant?: number | null;
  readonly model?: string;
  readonly max_cost_usd?: number | string | null;
}

export interface DataSource {
  /** Whether labels can be given, and whether runs may still grow. */
  readonly writable: boolean;
  readonly live: boolean;
  /** Who is signed in, and how to sign out: only in a viewer for a team. */
  readonly person?: string | undefined;
  readonly signOut?: (() => Promise<void>) | "" | undefined;

  runs(): Promise<readonly RunSummary[]>;
  head(run: string): Promise<Head>;
  /** Seconds, for a run that has a partial head. Over HTTP: GET /api/runs/{id}/notes. */
  notes?(run: string): Promise<Notes>;
  /** Requirements, tags, labels. Over HTTP: GET /api/runs/{id}/summary. */
  summary(run: string): Promise<Summary>;
  /** The run's cells, block by block, in the plan's order. */
  blocks(run: string): AsyncIterable<Block>;
  /** What this person has to label. Over HTTP: GET /api/runs/{id}/draw. */
  drawn?(run: string, author: string): Promise<Draw>;
  /** Draws more; keeps a rule; keeps a verdict, null takes it back. */
  drawMore?(run: string, wish: DrawWish): Promise<void>;
  keepRule?(run: string, metric: string, rule: string): Promise<void>;
  keepVerdict?(run: string, said: { index: number; metric: string; verdict: "pass" | "fail" | null; author: string; rule: string | null }): Promise<void>;
  /** What this person has to review. Over HTTP: GET /api/runs/{id}/reviews. Draws more; keeps a review, null takes it back. */
  reviewDraw?(run: string, author: string): Promise<ReviewDraw>;
  drawReviews?(run: string, size: number, draws: number): Promise<void>;
  keepReview?(run: string, said: { index: number; verdict: "pass" | "fail" | null; note: string; author: string }): Promise<void>;
  /** What this person has to compare, ranking by ranking. Over HTTP: GET /api/runs/{id}/pairs. */
  pairs?(run: string, author: string): Promise<readonly PairDraw[]>;
  /** Draws more pairs; keeps a rule; keeps a preference, null takes it back. */
  drawMorePairs?(run: string, wish: { ranking: string; size: number; draws: number }): Promise<void>;
  keepPairRule?(run: string, ranking: string, rule: string): Promise<void>;
  keepPreference?(run: string, said: { ranking: string; first: number; second: number; answer: PairAnswer | null; author: string; rule: string | null }): Promise<void>;
  /** `signal` calls it off when the cells are no longer in sight. */
  previews(run: string, cells: readonly number[], signal?: AbortSignal): Promise<readonly Preview[]>;
  cell(run: string, index: number): Promise<Cell>;
  /** The places in the plan of the trials in which this text stands, whatever its case: output, variables, reasons. */
  search(run: string, sought: Sought, blind: boolean): Promise<readonly number[]>;
  labels(run: string): Promise<SentLabels>;
  /** Searches the texts of all runs on from a place, for half a second at most. Over HTTP: POST /api/search. */
  searchAll?(text: string, blind: boolean, from: string): Promise<SearchPiece>;
  /** The cases whose ids contain a text, and the prompts, over the runs of what this one is of. Only where `live`. */
  cases?(run: string, text: string): Promise<CasePage>;
  prompts?(run: string): Promise<PromptPage>;
  /** What people saved for runs of what this one is of; saves one, or deletes it where there is no state. Over HTTP: /api/runs/{id}/views. */
  savedViews?(run: string): Promise<readonly SavedView[]>;
  saveView?(run: string, view: { readonly name: string; readonly state: string | null; readonly was: string | null }): Promise<void>;
  label(run: string, label: NewLabel): Promise<Label>;
  /** What a run came to, column by column. Only where `live`. */
  measures?(run: string): Promise<readonly MeasuredColumn[]>;
  /** What is otherwise in a run than in an earlier one. Only where `live`. */
  changes?(run: string, since: string): Promise<readonly RunChange[]>;
  /** What the judges of all runs of this run's config said of canaries. Only where `live`. */
  canaries?(run: string): Promise<readonly CanaryPoint[]>;
  /** Where a run is had as a file; undefined in a page that is one. */
  exported?(run: string, what: Exported): string;
  /** Says something of a run, of which `was` had been read; an empty value takes it back. Only where `writable`. */
  remark?(run: string, said: Remarks & { readonly was: Remarks }): Promise<void>;
  /** Deletes a run for good. Only where `writable`. */
  delete?(run: string): Promise<void>;
  /** Asks a cell again: an `AskOffer`, an `AskEstimate`, or the id of the run. Only where the head says `may_ask`. */
  ask?(run: string, cell: number, what: Asked): Promise<unknown>;
  /** Stops a run that was asked for so. */
  stop?(run: string): Promise<void>;
  /** Throws where the two cannot be compared; the message says why. */
  compare(run: string, baseline: string): Promise<Comparison>;
  /** Calls back with the newest seq when the run file has grown. The function that comes back ends it. */
  watch(run: string, changed: (seq: number) => void): () => void;
}
