/** What the page is sent. `just formats` makes this file from records in src/evenhand: do not edit it. */

export type State = "pass" | "fail" | "error" | "not_applicable";
export type Verdict = "passed" | "failed" | "undecided";
export type RunStatus = "running" | "finished" | "decided" | "interrupted" | "stopped" | "out_of_budget" | "waiting";
export type PairAnswer = "first" | "second" | "tie";

/** A number with the ends of its 95 % interval; null where an end is not known. */
export interface Interval {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Of how many cases. */
  readonly n: number;
}

/** A mean over `n` cases with the ends of its 95 % interval; null where an end is not known. Trials in error leave it between `least` and `most`: null where they may have had any value. */
export interface MeanShape {
  readonly least: number | null;
  readonly most: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

/** A pass rate over `n` cases, each of which counts once, with its 95 % interval. Trials in error may have passed or failed: they leave it between `least` and `most`, and `value` is null where the two differ. */
export interface RateInterval {
  readonly value: number | null;
  readonly least: number;
  readonly most: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

/** Counts over a run's settled trials and its calls. `cost_usd` is null when no price was known for some call. */
export interface Totals {
  /** settled; trials */
  readonly trials: number;
  /** trials */
  readonly passed: number;
  /** trials */
  readonly failed: number;
  /** without a verdict; trials */
  readonly errors: number;
  /** to which no expectation applied; trials */
  readonly not_applicable: number;
  /** of all trials, judges' and replayed ones included; calls */
  readonly calls: number;
  /** answered by the cache or the journal; calls */
  readonly cached: number;
  /** of all trials; US dollars; null: the price of a call is not known */
  readonly cost_usd: number | null;
  /** counted by the vendors; nothing is added where one did not say; tokens */
  readonly tokens_in: number;
  /** the same; tokens */
  readonly tokens_out: number;
}

/** A run in the list. */
export interface RunSummary {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  /** The only one that its evals are of; empty for configs and several sets. */
  readonly eval_set: string;
  readonly status: RunStatus;
  /** A process is writing it now. */
  readonly alive: boolean;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly finished_at: number | null;
  /** Seconds at work, without those before it was resumed. */
  readonly took_s: number | null;
  readonly planned: number;
  readonly cases: number;
  readonly variants: number;
  readonly repeats: number;
  readonly verdict: Verdict;
  readonly totals: Totals;
  readonly rate: RateInterval | null;
  /** Same plan, same fingerprint. */
  readonly fingerprint: string;
  /** Those of its config, and those that people gave it. */
  readonly tags: readonly string[];
  readonly note: string;
  /** Who was signed in and said the last of it; empty for nobody. */
  readonly said_by: string;
  /** It asked about judges (a probe, a check of canaries), and not about a system. */
  readonly of_judges: boolean;
  /** A gate ran it, and says itself what it comes to. */
  readonly of_gate: boolean;
  /** What the gate came to; null of other runs, and before its end. */
  readonly gate_verdict: "worse" | "nothing" | "undecided" | "not worse" | "better" | null;
  /** It is one cell of another run, edited and asked again. */
  readonly edited: boolean;
  /** A script answered in place of models: `--offline`. */
  readonly scripted: boolean;
  /** It ended after cases that were drawn beforehand. */
  readonly sample: boolean;
  /** Why the file cannot be read; empty for one that can, and then the rest counts. */
  readonly problem: string;
}

/** Something that is otherwise. */
export interface RunChange {
  readonly kind: "judge" | "data" | "expectation" | "eval" | "prompt" | "model" | "code";
  readonly text: string;
}

/** One column of the matrix. */
export interface Variant {
  readonly index: number;
  /** The shortest name that tells it from the others. */
  readonly name: string;
  readonly prompt: string;
  readonly prompt_raw: string;
  readonly model: string;
  readonly provider_id: string;
  readonly axes: Readonly<Record<string, unknown>>;
  readonly eval: string;
  readonly where: string;
  readonly totals: Totals;
  readonly rate: RateInterval | null;
  readonly score: Interval | null;
  /** Seconds. */
  readonly latency: Interval | null;
  /** By metric the lowest and the highest value there can be, as far as scorers say; of the score, under "", what is known. */
  readonly scales: Readonly<Record<string, readonly [number, number]>>;
}

/** What one model was asked in one role, over all sessions and all takes. A call counts where it was answered. What was asked in vain is counted apart. */
export interface Usage {
  /** `subject`, `judge`, `setup` or `simulator` */
  readonly role: "subject" | "judge" | "setup" | "simulator";
  /** as asked for */
  readonly model: string;
  /** as the answers named it */
  readonly answered: readonly string[];
  /** that were answered, over all sessions; calls */
  readonly calls: number;
  /** answered by the cache; calls */
  readonly cached: number;
  /** as far as the answers report them; tokens */
  readonly tokens_in: number;
  /** the same; tokens */
  readonly tokens_out: number;
  /** refused, or failed at every attempt, and not answered later; calls */
  readonly unanswered: number;
  /** charged by the provider; US dollars; null: the price is not known */
  readonly cost_usd: number | null;
}

/** The pass rate of a judged metric in one column. */
export interface JudgedRate {
  readonly metric: string;
  readonly column: number;
  /** As the judge has it; `n` counts its verdicts. */
  readonly raw: Interval;
  /** As people would have found it; `n` counts labels. */
  readonly corrected: Interval | null;
  readonly status: "fresh" | "stale" | "missing";
  /** It is corrected, and the calibration says that the judge may be used. */
  readonly trusted: boolean;
  /** Where it stands, in two or three words: `not checked`. */
  readonly state: string;
  /** Where it stands, in words: corrected beside raw, or not checked against people. */
  readonly words: string;
}

/** One variant's place in a ranking: its chance to beat the average variant, ties aside. */
export interface Place {
  readonly column: number;
  /** By the judge. */
  readonly chance: RateInterval;
  /** As people would have found it; null where that is not known. */
  readonly corrected: RateInterval | null;
}

/** A ranking, best first; nothing is ranked where `why` says why it cannot be. */
export interface Standings {
  readonly name: string;
  readonly ranked: readonly Place[];
  readonly why: string;
  /** How sure it is, and what it rests on. */
  readonly notes: readonly string[];
}

/** A dataset that was drawn from the run, and is reviewed. */
export interface Review {
  /** The name of its file. */
  readonly file: string;
  /** The drawn trials' places in the plan. */
  readonly places: readonly number[];
}

/** A run as a whole: enough for the first paint. */
export interface Head extends RunSummary {
  /** Grows whenever the run file does. */
  readonly seq: number;
  readonly message: string;
  readonly pass_rate: number;
  readonly version: string;
  readonly columns: readonly Variant[];
  readonly usage: readonly Usage[];
  /** What the run's data can say, in sentences. */
  readonly findings: readonly string[];
  readonly warnings: readonly string[];
  /** The pass rates that judges gave; none while the run goes on. */
  readonly judged: readonly JudgedRate[];
  /** Rankings whose pairs can be labelled. */
  readonly rankings: readonly string[];
  readonly standings: readonly Standings[];
  /** The configuration as read, and how the run was started; secrets removed. */
  readonly config: unknown;
  readonly settings: unknown;
  /** The run is so large that intervals, usage, findings and warnings are not in here, but asked for afterwards: `Notes`. */
  readonly partial: boolean;
  /** Trials were left out of it: a report of some of a run's. */
  readonly narrowed: boolean;
  readonly review: Review | null;
  /** Whether its cells can be asked again from this page. */
  readonly may_ask: boolean;
}

/** What takes a look at every trial of a run. It is put into a partial head, key by key, once that is painted. */
export interface Notes {
  readonly rate: RateInterval | null;
  readonly columns: readonly Variant[];
  readonly usage: readonly Usage[];
  readonly findings: readonly string[];
  readonly warnings: readonly string[];
  readonly judged: readonly JudgedRate[];
  readonly rankings: readonly string[];
  readonly standings: readonly Standings[];
}

/** A case. */
export interface Row {
  readonly id: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Simple values only, as text, clipped: what a filter can ask for. */
  readonly metadata: Readonly<Record<string, string>>;
  /** From 1, in the plan: also where cases before it were left out. */
  readonly number: number;
}

/** Cells as parallel arrays, one entry for each settled trial, in the plan's order. Rows are cases; a block brings the rows that its cells are the first to name. `row` counts over all blocks, from 0. */
export interface Block {
  readonly rows: readonly Row[];
  /** The trial's place in the plan. */
  readonly index: readonly number[];
  readonly row: readonly number[];
  readonly variant: readonly number[];
  readonly repeat: readonly number[];
  /** One letter each: p, f, e, n. */
  readonly outcome: string;
  readonly score: readonly (number | null)[];
  /** Seconds. */
  readonly latency: readonly (number | null)[];
  readonly cost: readonly (number | null)[];
  readonly tokens_in: readonly (number | null)[];
  readonly tokens_out: readonly (number | null)[];
  readonly calls: readonly number[];
  readonly cached: readonly number[];
  /** Expectations that passed, and those with a verdict; a place in a ranking is none. */
  readonly met: readonly number[];
  readonly asked: readonly number[];
  /** The error's slug; empty for none. */
  readonly error: readonly string[];
  /** What did not pass: labels of expectations, for each cell. */
  readonly failing: readonly (readonly string[])[];
  /** What the case belongs to in this column, from 1; 0 where it stands alone. Empty where every case of the run does. */
  readonly cluster: readonly number[];
  /** A number that is the same for the same output of the same row: outputs differ where these do. */
  readonly output: readonly number[];
  /** Scores by metric, and null where a cell has none. */
  readonly metrics: Readonly<Record<string, readonly (number | null)[]>>;
  /** By metric the cells of the block that lack it because of an error, although they have a verdict. */
  readonly open: Readonly<Record<string, readonly number[]>>;
}

/** What a matrix cell shows of a trial. */
export interface Preview {
  readonly index: number;
  /** The first part of the output: text as it is, everything else as JSON. */
  readonly output: string;
  readonly json: boolean;
  /** There is more of it than this. */
  readonly clipped: boolean;
  readonly reason: string;
  /** The case's variables as text, clipped. */
  readonly vars: Readonly<Record<string, string>>;
  readonly expected: string;
}

/** What one expectation came to. */
export interface Outcome {
  readonly name: string;
  readonly outcome: State;
  readonly score: number | null;
  readonly reason: string;
  readonly weight: number;
  readonly metric: string;
  readonly named: Readonly<Record<string, number>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly error: string;
  readonly at_least: number | null;
  readonly at_most: number | null;
  readonly hint: string;
  readonly scale: readonly [number, number] | null;
  /** The model calls that were made for it: their places among the cell's. */
  readonly calls: readonly number[];
}

/** One model call of a trial, from the journal. */
export interface SentCall {
  readonly role: "subject" | "judge" | "setup" | "simulator";
  /** As asked for, and as the answer named it. */
  readonly provider: string;
  readonly model: string;
  /** The request as sent, secrets removed: JSON. */
  readonly request: unknown;
  /** The answer as it came: text. */
  readonly response: string;
  /** Who gave the answer; null: in flight, or in doubt after a kill. */
  readonly origin: "provider" | "cache" | "journal" | "replay" | "script" | null;
  readonly latency_s: number | null;
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  readonly cost_usd: number | null;
  readonly attempts: number;
  /** Failed attempts that may have been charged for. */
  readonly wasted: number;
  readonly error: string;
  readonly message: string;
  /** Bytes of request and reply where they are so long that only the first part of each is here, as text. */
  readonly sizes: readonly [number, number] | null;
}

/** One thing that an agent did. Arguments and result are text, cut where `cut` says so. */
export interface Step {
  /** Among the trial's steps, from 0, and how deep it is nested. */
  readonly place: number;
  readonly depth: number;
  readonly kind: "model" | "tool" | "agent" | "message";
  readonly name: string;
  readonly agent: string;
  readonly status: "ok" | "error" | "unknown";
  readonly error: string;
  readonly arguments: string;
  readonly result: string;
  readonly cut: boolean;
  readonly started_s: number | null;
  readonly duration_s: number | null;
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  readonly cost_usd: number | null;
}

/** What `evenhand.run/1` says of a step. */
export interface WholeStep {
  /** `model`, `tool`, `agent` or `message` */
  readonly kind: string;
  /** of the tool, the agent or the model; of a message, who spoke */
  readonly name: string;
  /** of a tool, by name; of a model, `messages`: those that the same conversation did not have before, of which `earlier` is the number; null: not known */
  readonly arguments: unknown;
  /** what the tool returned, or the model said; null: there is none, or it isn't known */
  readonly result: unknown;
  /** `ok`, `error` or `unknown` */
  readonly status: string;
  /** why it failed; empty for nothing */
  readonly error: string;
  /** since the trial's first step began; s; null: not known */
  readonly started_s: number | null;
  /** s; null: not known */
  readonly duration_s: number | null;
  /** the place of the step that it was part of, in the list, from 0; null: it is part of no other */
  readonly parent: number | null;
  /** the agent that did it; empty where nobody says */
  readonly agent: string;
  /** tokens; null: not known */
  readonly tokens_in: number | null;
  /** tokens; null: not known */
  readonly tokens_out: number | null;
  /** US dollars; null: not known */
  readonly cost_usd: number | null;
  /** the vendor's id of a tool's call; empty for none */
  readonly call: string;
  /** its arguments or its result are cut */
  readonly cut?: boolean;
}

/** What all steps of a kind and a name took, as far as it is known. */
export interface StepSum {
  readonly kind: "model" | "tool" | "agent" | "message";
  readonly name: string;
  readonly count: number;
  readonly failed: number;
  readonly duration_s: number;
  readonly cost_usd: number;
}

/** Some of a trial's steps, and what is to be said of all of them. */
export interface SentSteps {
  /** The place of the first of these, from 0. */
  readonly first: number;
  readonly total: number;
  /** How many come at once. */
  readonly size: number;
  /** Seconds from the beginning of the first step to the end of the last, as far as they are known. */
  readonly took_s: number;
  readonly steps: readonly Step[];
  /** By kind and name, what took longest first. */
  readonly sums: readonly StepSum[];
  /** The places of steps that are named by expectations which did not pass, with the names of these. */
  readonly blamed: readonly (readonly [number, readonly string[]])[];
}

/** Why a trial has no verdict. */
export interface TrialError {
  readonly slug: string;
  readonly message: string;
  readonly where: string;
}

/** What a trial's judges took. */
export interface JudgedCalls {
  readonly calls: number;
  readonly cost_usd: number | null;
}

/** One trial, whole. */
export interface SentCell {
  readonly index: number;
  readonly case: string;
  readonly variant: number;
  readonly repeat: number;
  readonly outcome: State;
  readonly score: number | null;
  readonly threshold: number | null;
  readonly output: unknown;
  readonly expected: unknown;
  readonly reason: string;
  readonly error: TrialError | null;
  readonly outcomes: readonly Outcome[];
  readonly named_scores: Readonly<Record<string, number>>;
  readonly latency_s: number | null;
  readonly cost_usd: number | null;
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  readonly judged: JudgedCalls | null;
  readonly prompt: string;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly description: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly test: Readonly<Record<string, unknown>>;
  readonly log: string;
  readonly calls: readonly SentCall[];
  /** What its agent did; null for a trial that only asked a model once. */
  readonly steps: SentSteps | null;
}

/** What somebody said of a trial. The last one of an author, a trial and a field counts. */
export interface Label {
  /** Counts a run's labels, from 1. */
  readonly seq: number;
  /** Seconds since 1970. */
  readonly at: number;
  /** Who said it; empty where nobody gave a name. */
  readonly author: string;
  /** The trial's place in the plan. */
  readonly index: number;
  /** What it is about. */
  readonly field: "verdict" | "score" | "note" | "star" | "code" | "dataset" | "preference";
  /** verdict: pass or fail; score: 1 to 5; note: text; star: true; code: a failure code; dataset: keep or leave out; preference: how a drawn pair came out. Null takes back what was said. */
  readonly value: string | number | boolean | null;
  /** Whether the variant and the verdicts were hidden while it was given. */
  readonly blind: boolean;
  /** The judged metric, or the ranking, that it is about; empty for the trial as a whole. */
  readonly metric: string;
}

/** What the judges of a metric said of one trial. */
export interface JudgedVerdict {
  /** The trial's place in the plan. */
  readonly index: number;
  readonly metric: string;
  /** Whether they pass it; both values where several judges differ. */
  readonly passed: readonly boolean[];
  /** Theirs, a line for each; empty where none was given. */
  readonly reason: string;
}

/** What people said of a run's trials, and what judges said of those that people judged. */
export interface SentLabels {
  /** Every event, in the order in which it was given. */
  readonly labels: readonly Label[];
  /** Of trials with a person's verdict on a judged metric. */
  readonly judged: readonly JudgedVerdict[];
}

/** The numbers of a comparison as `evenhand compare` writes them. They have as many digits as say something; differences are in points for rates. */
export interface ComparedWords {
  readonly first: string;
  readonly second: string;
  readonly difference: string;
  /** The ends of its interval; empty where nothing can be said of it. */
  readonly low: string;
  readonly high: string;
  /** `p = 0.016`; empty where nothing can be concluded, and for fewer than five cases or clusters. */
  readonly p: string;
}

/** One metric of one pair of columns, compared over the cases that both have. */
export interface Compared {
  readonly metric: string;
  /** The numbers are shares, and differences are told in percentage points. */
  readonly rates: boolean;
  /** Less of it is better. */
  readonly lower: boolean;
  readonly before: string;
  readonly after: string;
  readonly verdict: string;
  /** What the verdict rests on where no difference was shown: how few cases, or the smallest difference that could have been. */
  readonly because: string;
  readonly n: number;
  /** Means, and their difference. Each is null where trials in error leave it open, between its `least` and its `most`. */
  readonly first: number | null;
  readonly first_least: number | null;
  readonly first_most: number | null;
  readonly second: number | null;
  readonly second_least: number | null;
  readonly second_most: number | null;
  readonly difference: number | null;
  readonly difference_least: number | null;
  readonly difference_most: number | null;
  readonly trials_in_error: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Corrected for as many comparisons as the question has. */
  readonly p: number | null;
  /** Null where there was no case to compare. */
  readonly words: ComparedWords | null;
}

/** What can be asked of two runs: one metric in all columns, or everything at once. Its comparisons are corrected together. */
export interface Question {
  /** Empty for all metrics. */
  readonly metric: string;
  /** What asks the same on the command line. */
  readonly command: string;
  readonly results: readonly Compared[];
  /** All that is to be said, a line each: verdicts, dropped cases, hints. */
  readonly lines: readonly string[];
}

/** A prompt that two runs have, and that says something else in each. */
export interface EditedPrompt {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** Two runs compared. */
export interface Comparison {
  readonly baseline: RunSummary;
  /** What differs between them: judge, data, expectations, prompts, models. */
  readonly changes: readonly RunChange[];
  /** The prompts that say something else in each, with both texts. */
  readonly edited: readonly EditedPrompt[];
  /** Which column of the baseline stands against which of the run; by index, [baseline, run]. */
  readonly pairs: readonly (readonly [number, number])[];
  /** By id of the run's cases what the baseline calls them, where their input tells that they are the same. */
  readonly renamed: Readonly<Record<string, string>>;
  /** By column of the run its cases that the baseline asked or judged otherwise. */
  readonly unlike: Readonly<Record<number, readonly string[]>>;
  /** Each metric, `passed` first, and in the end all of them together. */
  readonly questions: readonly Question[];
}

/** The numbers of a requirement as the command line writes them; `why` is empty for a sure verdict. */
export interface RequirementWords {
  readonly value: string;
  readonly interval: string;
  readonly wanted: string;
  readonly why: string;
}

/** What is required of one column, held against what it came to. */
export interface Requirement {
  /** Empty for the share of trials that pass. */
  readonly metric: string;
  /** Null where no column measured it. */
  readonly column: string | null;
  readonly state: "kept" | "missed" | "open";
  readonly shares: boolean;
  /** The mean, between the ends where errors leave it; null where nothing is known. */
  readonly least: number | null;
  readonly most: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly at_least: number | null;
  readonly at_most: number | null;
  readonly words: RequirementWords;
}

/** What the cases of a tag came to in one column. */
export interface ColumnRate {
  readonly column: string;
  readonly passed: number;
  readonly trials: number;
  readonly rate: RateInterval | null;
  /** The rate drawn towards those of all tags of the column; null for fewer than 4 tags. */
  readonly pooled: RateInterval | null;
}

/** A tag, column by column. */
export interface TagRates {
  readonly tag: string;
  readonly columns: readonly ColumnRate[];
}

/** A label that was expected. */
export interface LabelRow {
  readonly label: string;
  /** How many of its trials were answered with each of the answers. */
  readonly answered: readonly number[];
  /** And with one that is not listed. */
  readonly elsewhere: number;
  readonly precision: RateInterval | null;
  readonly recall: RateInterval | null;
}

/** What one column made of the labels; `answers` has null for what is no label. */
export interface Confusion {
  readonly column: string;
  readonly errors: number;
  readonly answers: readonly (string | null)[];
  readonly labels: readonly LabelRow[];
  /** Labels that are left out. */
  readonly more: number;
}

/** What a run had to reach, and what its tags and labels came to: of the whole run. */
export interface Summary {
  readonly requirements: readonly Requirement[];
  /** Something is required, and not a share of trials that pass. */
  readonly failures_allowed: boolean;
  /** The share of trials that has to pass where nothing is required of columns; null otherwise. */
  readonly pass_rate: number | null;
  readonly tags: readonly TagRates[];
  readonly more_tags: number;
  readonly labels: readonly Confusion[];
  /** Why something is left out; empty where nothing is. */
  readonly without: string;
}

/** One column of a run in a chart over several runs: its rate, the mean over cases of each number, and its cost. Metrics begin with `~`. The cost, and the cost per passed trial, are sums of the column, and have no interval. */
export interface MeasuredColumn {
  readonly name: string;
  /** Between these errors leave the pass rate; null where nothing has a verdict. */
  readonly least: number | null;
  readonly most: number | null;
  /** The ends of its interval. */
  readonly low: number | null;
  readonly high: number | null;
  readonly means: Readonly<Record<string, MeanShape>>;
  /** The run is so large that its metrics were not read. */
  readonly partial: boolean;
}

/** What one judge of a run said of canaries: outputs with a verdict of people's that stay the same. */
export interface CanaryPoint {
  readonly run: string;
  readonly metric: string;
  readonly judge: string;
  /** The share that it was right on; null where it gave no verdict. */
  readonly right: Interval | null;
  /** Its own pass rate in the run; null where that is not known. */
  readonly passed: Interval | null;
  /** Whether the judge drifted, or the system. */
  readonly words: string;
}

/** One drawn output under one metric, and what this person said of it; nothing of what the judge said. */
export interface DrawnItem {
  readonly index: number;
  readonly metric: string;
  /** What the judge was asked; empty where the metric's name says it. */
  readonly criterion: string;
  /** What it is an answer to. */
  readonly material: string;
  readonly output: string;
  readonly verdict: "pass" | "fail" | null;
  /** From 1 to 5. */
  readonly score: number | null;
  readonly code: string;
  readonly note: string;
}

/** What a person has to label, in the order of the draw; no items before something is drawn. */
export interface Draw {
  /** Outputs that a judge judged. */
  readonly judged: number;
  readonly metrics: readonly string[];
  /** What makes an output pass, by metric. */
  readonly rules: Readonly<Record<string, string>>;
  readonly items: readonly DrawnItem[];
  /** Failure codes that were given, the most frequent first. */
  readonly codes: readonly string[];
  /** The same with their shares of all outputs, a line for each. */
  readonly counted: readonly string[];
  /** What the labels are worth so far, a line for each judge. */
  readonly worth: readonly string[];
  /** Columns of the cases that can be drawn from value by value. */
  readonly columns: readonly string[];
  /** Judged outputs that are not drawn yet. */
  readonly left: number;
  /** How often was drawn: a draw that is asked for sends it back. */
  readonly draws: number;
}

/** One drawn output, and what this person said of it. */
export interface ReviewedItem {
  readonly index: number;
  /** What it is an answer to. */
  readonly material: string;
  readonly output: string;
  readonly verdict: "pass" | "fail" | null;
  readonly note: string;
}

/** What a person has to review, in the order of the draw; no items before something is drawn. */
export interface ReviewDraw {
  readonly items: readonly ReviewedItem[];
  /** How often was drawn: a draw that is asked for sends it back. */
  readonly draws: number;
  /** What people disagree about, a line each; empty before this person has said all. */
  readonly disputed: readonly string[];
}

/** Two outputs of a case in the order of the draw, and which of them this person prefers. There is nothing of what the judge said. */
export interface DrawnPair {
  /** Places in the plan. */
  readonly first: number;
  readonly second: number;
  /** What they are answers to. */
  readonly material: string;
  readonly outputs: readonly [string, string];
  readonly answer: PairAnswer | null;
}

/** What a person has to compare of a ranking; no items before something is drawn. */
export interface PairDraw {
  readonly ranking: string;
  /** Pairs that the judge compared. */
  readonly judged: number;
  /** What makes an output better; null before somebody wrote it down. */
  readonly rule: string | null;
  readonly items: readonly DrawnPair[];
  /** How many labels there are, and how many it takes. */
  readonly worth: string;
  /** Pairs that are not drawn yet. */
  readonly left: number;
  /** How often was drawn: a draw that is asked for sends it back. */
  readonly draws: number;
}

/** A trial that was found. */
export interface Hit {
  readonly run: string;
  /** Its place in the plan. */
  readonly index: number;
  readonly case: string;
  /** The name of its column; empty in a blind search. */
  readonly variant: string;
  /** Null in a blind search. */
  readonly outcome: State | null;
  /** What stands in front of the text. */
  readonly before: string;
  /** The text that was sought; empty for an expression or a case. */
  readonly text: string;
  /** What stands behind it; else how the output begins. */
  readonly after: string;
}

/** What a part of a search over all runs came to. */
export interface SearchPiece {
  /** Of the newest runs first. */
  readonly hits: readonly Hit[];
  /** The runs in which there may be more than these. */
  readonly more: readonly string[];
  /** How many runs were searched to their end. */
  readonly runs: number;
  /** How many trials were looked at. */
  readonly trials: number;
  /** The runs that cannot be read. */
  readonly unread: readonly string[];
  /** Where the search goes on; empty at its end. */
  readonly next: string;
}

/** A view that somebody saved. */
export interface SavedView {
  readonly name: string;
  /** What the address says behind `#`, without the run and the cell. */
  readonly state: string;
  /** Seconds since 1970. */
  readonly created_at: number;
}

/** What became of one case in one column over the runs. */
export interface CaseLine {
  readonly case: string;
  readonly variant: string;
  /** A letter for each run: p, f, e, n, m where repeats passed and failed, - where it is not there. */
  readonly came: string;
  /** Where its first trial is in each run's plan; -1 for none. */
  readonly cells: readonly number[];
  /** How often pass and fail changed: between runs, or among repeats. */
  readonly flips: number;
  /** In how many runs it ended in an error. */
  readonly errors: number;
}

/** The cases of the runs of one config or set; those that flip most come first. */
export interface CasePage {
  /** Their ids, oldest first. */
  readonly runs: readonly string[];
  /** How many runs were not read: older ones, where there is much. */
  readonly unread: number;
  readonly lines: readonly CaseLine[];
  /** How many lines there are. */
  readonly total: number;
}

/** What a prompt said in some runs. */
export interface PromptVersion {
  /** Of the text: the same text, the same digest. */
  readonly digest: string;
  readonly text: string;
  /** The runs that had it, oldest first. */
  readonly runs: readonly string[];
  /** When the first of them began, in seconds since 1970. */
  readonly created_at: number;
  /** Over all of its trials; each case, or cluster of cases, counts once. */
  readonly rate: RateInterval | null;
}

/** A prompt, by what people call it, and its versions, the one that appeared first first. */
export interface PromptHistory {
  readonly name: string;
  readonly versions: readonly PromptVersion[];
}

/** The prompts of the runs of one config or set. */
export interface PromptPage {
  readonly prompts: readonly PromptHistory[];
  /** How many runs were not read: older ones, where there is much. */
  readonly unread: number;
}

/** A model that a cell can be asked again with: the first variant that has it, its label and its id. */
export interface AskModel {
  readonly variant: number;
  readonly label: string;
  readonly id: string;
}

/** What of a cell can be edited, to ask it again. */
export interface AskOffer {
  /** A template; null where it can't be edited. */
  readonly prompt: string | null;
  /** The variables, as the cell had them. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly models: readonly AskModel[];
  /** The variant among these whose model answered; null: none can be chosen. */
  readonly model: number | null;
  /** What can't be edited and why, and what is left out. */
  readonly notes: readonly string[];
  /** What its run could spend. */
  readonly max_cost_usd: number | null;
}

/** Calls of one model in one role; `role` is empty where they are of all. */
export interface EstimatedCalls {
  readonly provider: string;
  readonly role: string;
  readonly calls: number;
  readonly tokens_in: number | null;
  /** At most; null where that is not known. */
  readonly tokens_out: number | null;
  /** At most; null where a price is not known. */
  readonly cost_usd: number | null;
}

/** What asking again would take. */
export interface AskEstimate {
  readonly calls: readonly EstimatedCalls[];
  /** Of the plan, and bounds; else what the cell took before. */
  readonly bounded: boolean;
}
