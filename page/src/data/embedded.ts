/**
 * The data of a page that is a report in one file. It lies in the page itself, as gzip in base64, and is unpacked when it
 * is needed: the head at once, the cells in chunks.
 */
import { Problem } from "./problem";
import type { Block, Cell, Comparison, DataSource, Head, Label, Preview, RunSummary, SentLabels, Sought, Summary } from "./source";
import { Pattern } from "../model/pattern";
import { fieldsOf, trialsWith } from "../model/texts";
import { Matcher } from "./matcher";

/** How much of an output, a reason, a variable is shown in the matrix; the server clips alike. */
const OUTPUT = 1200;
const REASON = 400;
const VARIABLE = 300;

interface Packed {
  readonly runs: readonly RunSummary[];
  readonly head: Head;
  readonly labels: SentLabels;
  readonly summary: Summary;
  /** Of a report with a baseline: the run that it is held against, and what is said of the two. */
  readonly baseline_head?: Head;
  readonly baseline_summary?: Summary;
  readonly comparison?: Comparison;
  /** How many cells are in a chunk. */
  readonly chunk_size: number;
}

/** Whether this page carries its data. */
export function isEmbedded(): boolean {
  return document.getElementById("data-head") !== null;
}

export class Embedded implements DataSource {
  readonly writable = false;
  readonly live = false;
  private readonly packed = unpack("data-head").then((text) => JSON.parse(text) as Packed);
  private readonly packs = new Map<string, Promise<Pack>>();

  async runs(): Promise<readonly RunSummary[]> {
    return (await this.packed).runs;
  }

  async head(run: string): Promise<Head> {
    return (await this.pack(run)).head;
  }

  async summary(run: string): Promise<Summary> {
    const { head, summary, baseline_head, baseline_summary } = await this.packed;
    if (run === head.id) return summary;
    if (run === baseline_head?.id && baseline_summary !== undefined) return baseline_summary;
    throw new Problem("this report holds another run", "`evenhand view` shows all of them.");
  }

  async *blocks(run: string): AsyncIterable<Block> {
    yield* (await this.pack(run)).blocks();
  }

  async previews(run: string, cells: readonly number[]): Promise<readonly Preview[]> {
    const pack = await this.pack(run);
    return (await Promise.all(cells.map((index) => pack.find(index)))).filter((cell) => cell !== undefined).map(preview);
  }

  async cell(run: string, index: number): Promise<Cell> {
    const cell = await (await this.pack(run)).find(index);
    if (cell === undefined) throw new Problem("this cell is not in the report");
    return cell;
  }

  async search(run: string, sought: Sought, blind: boolean): Promise<readonly number[]> {
    return (await this.pack(run)).search(sought, blind);
  }

  async labels(run: string): Promise<SentLabels> {
    const { head, labels } = await this.packed;
    return run === head.id ? labels : { labels: [], judged: [] };
  }

  label(): Promise<Label> {
    return Promise.reject(new Problem("a report cannot be labelled", "`evenhand view` can label its run."));
  }

  async compare(_run: string, baseline: string): Promise<Comparison> {
    const { comparison } = await this.packed;
    if (comparison?.baseline.id === baseline) return comparison;
    throw new Problem("this comparison is not in the report", "`evenhand view` compares any two runs.");
  }

  watch(): () => void {
    return () => undefined;
  }

  private pack(run: string): Promise<Pack> {
    const pack = this.packs.get(run) ?? this.packOf(run);
    this.packs.set(run, pack);
    return pack;
  }

  private async packOf(run: string): Promise<Pack> {
    const { head, baseline_head, chunk_size } = await this.packed;
    if (run === head.id) return new Pack("data", head, chunk_size);
    if (run === baseline_head?.id) return new Pack("data-baseline", baseline_head, chunk_size);
    throw new Problem("this report holds another run", "`evenhand view` shows all of them.");
  }
}

/** One run of the report: its elements are called alike. */
class Pack {
  private readonly chunks = new Map<number, Promise<readonly Cell[]>>();
  /** Where the trials are in the chunks: their places in the plan, in the order of the blocks. */
  private order: Promise<ReadonlyMap<number, number>> | undefined;
  private texts: Promise<readonly string[]> | undefined;
  private parsed: Promise<readonly Block[]> | undefined;

  constructor(
    private readonly name: string,
    readonly head: Head,
    private readonly chunkSize: number,
  ) {}

  async *blocks(): AsyncIterable<Block> {
    this.parsed ??= unpack(`${this.name}-blocks`).then((text) => text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Block])));
    yield* await this.parsed;
  }

  /** The places in the plan of the trials that have it. The texts lie in as many parts as the blocks, and alike. */
  async search(sought: Sought, blind: boolean): Promise<readonly number[]> {
    this.texts ??= this.allTexts();
    const texts = await this.texts;
    const found: number[] = [];
    let number = 0;
    const matcher = sought.pattern ? new Matcher(new Pattern(sought.text)) : undefined;
    try {
      for await (const block of this.blocks()) {
        const text = texts[number++] ?? "";
        const places = matcher === undefined ? trialsWith(text, sought.text, blind) : await matcher.among(fieldsOf(text, blind));
        for (const at of places) found.push(block.index[at]!);
      }
    } finally {
      matcher?.stop();
    }
    return found;
  }

  private allTexts(): Promise<readonly string[]> {
    const names: string[] = [];
    while (document.getElementById(this.textName(names.length)) !== null) names.push(this.textName(names.length));
    return Promise.all(names.map(unpack));
  }

  private textName(number: number): string {
    return `${this.name}-texts-${number}`;
  }

  async find(index: number): Promise<Cell | undefined> {
    this.order ??= this.places();
    const at = (await this.order).get(index);
    return at === undefined ? undefined : (await this.chunk(Math.floor(at / this.chunkSize)))[at % this.chunkSize];
  }

  private async places(): Promise<ReadonlyMap<number, number>> {
    const places = new Map<number, number>();
    for await (const block of this.blocks()) for (const index of block.index) places.set(index, places.size);
    return places;
  }

  private chunk(number: number): Promise<readonly Cell[]> {
    let chunk = this.chunks.get(number);
    if (chunk === undefined) {
      chunk = unpack(this.chunkName(number)).then((text) => JSON.parse(text) as readonly Cell[]);
      this.chunks.set(number, chunk);
    }
    return chunk;
  }

  private chunkName(number: number): string {
    return `${this.name}-cells-${number}`;
  }
}

/** The text of an element of this id, unpacked. */
async function unpack(id: string): Promise<string> {
  const packed = document.getElementById(id)?.textContent;
  if (packed === null || packed === undefined) throw new Problem("a part of this report is missing", "Export it again.");
  const letters = atob(packed.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function preview(cell: Cell): Preview {
  const whole = written(cell.output);
  const vars = Object.entries(cell.vars).map(([name, value]) => [name, written(value).slice(0, VARIABLE)] as const);
  return {
    index: cell.index,
    output: whole.slice(0, OUTPUT),
    json: typeof cell.output !== "string" && cell.output !== null,
    clipped: whole.length > OUTPUT,
    reason: (cell.error?.message ?? cell.reason).slice(0, REASON),
    vars: Object.fromEntries(vars),
    expected: written(cell.expected).slice(0, VARIABLE),
  };
}

/** Text as it is, everything else as JSON; nothing for null. */
function written(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
