/**
 * Regular expressions of the filter: a small language whose search takes time in proportion to the text. How it works and
 * what it understands is written in `report/pattern.py`, which has the same, tested on the same vectors.
 */
const LARGEST = 2_000; // steps of a program
const REMEMBERED = 50_000; // ways from one set to the next
const DEEPEST = 50; // brackets in brackets
const END = -1;
const NEWLINE = 10;

type Ranges = readonly (readonly [low: number, high: number])[];
const WORD: Ranges = [[48, 57], [65, 90], [95, 95], [97, 122]];
const CLASSES: Readonly<Record<string, Ranges>> = { d: [[48, 57]], w: WORD, s: [[9, 13], [32, 32], [160, 160]] };
const CONTROLS: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13 };

/** What is wrong with an expression, and what to do. */
export class PatternError extends Error {
  constructor(readonly what: string, readonly hint: string) {
    super(what);
  }
}

interface Some {
  readonly kind: "set";
  readonly ranges: Ranges;
  readonly negated: boolean;
}
interface At {
  readonly kind: "at";
  readonly place: "^" | "$" | "b" | "B";
}
type Node = Some | At | { readonly kind: "sequence"; readonly parts: readonly Node[] } | { readonly kind: "either"; readonly parts: readonly Node[] } | { readonly kind: "repeated"; readonly part: Node; readonly least: number; readonly most: number | undefined };
/** null is the end: found. */
type Step = Some | At | { readonly kind: "split"; readonly first: number; readonly second: number } | { readonly kind: "jump"; readonly to: number } | null;

/** The steps that may come next, and the character before; `next` is where each character leads, null is found. */
interface State {
  readonly steps: readonly number[];
  readonly before: number;
  readonly next: Map<number, State | null>;
}

export class Pattern {
  private readonly steps: Step[] = [];
  private readonly needed: readonly string[] | undefined;
  private states = new Map<string, State>();
  private remembered = 0;
  private start: State;

  /** @throws PatternError It is not of this language, or too large. */
  constructor(source: string) {
    const node = new Reader(source).whole();
    this.write(node);
    this.steps.push(null);
    this.needed = neededOf(node);
    this.start = this.state([0], END);
  }

  /** Whether it occurs in a text, which is in lower case. */
  search(text: string): boolean {
    if (this.needed !== undefined && !this.needed.some((part) => text.includes(part))) return false;
    let state = this.start;
    for (let i = 0; i < text.length; i++) {
      const code = text.codePointAt(i)!;
      if (code > 0xffff) i++;
      const after = state.next.get(code) ?? this.after(state, code);
      if (after === null) return true;
      state = after;
    }
    return (state.next.get(END) ?? this.after(state, END)) === null;
  }

  /** Where a character leads from a state; it is remembered. */
  private after(state: State, code: number): State | null {
    const known = state.next.get(code);
    if (known !== undefined) return known;
    const reached = this.reached(state.steps, state.before, code);
    let found: State | null = null;
    if (reached !== undefined) {
      const steps = new Set([0]);
      for (const at of reached) {
        const step = this.steps[at];
        if (code !== END && step?.kind === "set" && holds(step, code)) steps.add(at + 1);
      }
      found = this.state([...steps].sort((a, b) => a - b), kindOf(code));
    }
    if (this.remembered > REMEMBERED) {
      [this.states, this.remembered] = [new Map(), 0];
      this.start = this.state([0], END);
    }
    state.next.set(code, found);
    this.remembered++;
    return found;
  }

  private state(steps: readonly number[], before: number): State {
    const key = `${before} ${steps.join()}`;
    const known = this.states.get(key);
    if (known !== undefined) return known;
    const made = { steps, before, next: new Map<number, State | null>() };
    this.states.set(key, made);
    return made;
  }

  /** All steps that are reached without a character, between these two; undefined where the end is one of them. */
  private reached(steps: readonly number[], before: number, code: number): Set<number> | undefined {
    const seen = new Set<number>();
    const left = [...steps];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const step = this.steps[at]!;
      if (step === null) return undefined;
      if (step.kind === "split") left.push(step.first, step.second);
      else if (step.kind === "jump") left.push(step.to);
      else if (step.kind === "at" && stands(step.place, before, kindOf(code))) left.push(at + 1);
    }
    return seen;
  }

  private write(node: Node): void {
    const { steps } = this;
    if (steps.length > LARGEST) throw new PatternError("the regular expression is too large", "Repeat less in it.");
    if (node.kind === "set" || node.kind === "at") steps.push(node);
    else if (node.kind === "sequence") node.parts.forEach((part) => this.write(part));
    else if (node.kind === "either") {
      const ends = node.parts.slice(0, -1).map((part) => {
        const split = steps.push(null) - 1;
        this.write(part);
        const end = steps.push(null) - 1;
        steps[split] = { kind: "split", first: split + 1, second: steps.length };
        return end;
      });
      this.write(node.parts.at(-1)!);
      for (const end of ends) steps[end] = { kind: "jump", to: steps.length };
    } else {
      const { part, least, most } = node;
      for (let i = 0; i < least; i++) this.write(part);
      const splits: number[] = [];
      for (let i = 0; i < (most === undefined ? 1 : most - least); i++) {
        splits.push(steps.push(null) - 1);
        this.write(part);
      }
      if (most === undefined) steps.push({ kind: "jump", to: splits[0]! });
      for (const split of splits) steps[split] = { kind: "split", first: split + 1, second: steps.length };
    }
  }
}

function holds({ ranges, negated }: Some, code: number): boolean {
  return ranges.some(([low, high]) => low <= code && code <= high) !== negated;
}

/** As much of a character as places depend on: the end, a line feed, part of a word (1) or none (0). */
function kindOf(code: number): number {
  if (code === END || code === NEWLINE) return code;
  return WORD.some(([low, high]) => low <= code && code <= high) ? 1 : 0;
}

function stands(place: At["place"], before: number, after: number): boolean {
  if (place === "^") return before === END || before === NEWLINE;
  if (place === "$") return after === END || after === NEWLINE;
  return ((before === 1) !== (after === 1)) === (place === "b");
}

/** Texts of which one stands in whatever is found; undefined where nothing can be said. */
function neededOf(node: Node): readonly string[] | undefined {
  if (node.kind === "either") {
    const parts = node.parts.map(neededOf);
    return parts.includes(undefined) ? undefined : parts.flatMap((part) => part!);
  }
  if (node.kind === "repeated") return node.least > 0 ? neededOf(node.part) : undefined;
  if (node.kind !== "sequence") return letterOf(node) === "" ? undefined : [letterOf(node)];
  let best: readonly string[] | undefined;
  let run = "";
  for (const part of [...node.parts, undefined]) {
    const letter = part === undefined ? "" : letterOf(part);
    run += letter;
    if (letter !== "") continue;
    for (const option of [run === "" ? undefined : [run], part === undefined ? undefined : neededOf(part)]) {
      if (option !== undefined && (best === undefined || shortest(option) > shortest(best))) best = option;
    }
    run = "";
  }
  return best;
}

function shortest(texts: readonly string[]): number {
  return Math.min(...texts.map((text) => text.length));
}

/** The one character that it is; empty for anything else. */
function letterOf(node: Node): string {
  if (node.kind !== "set" || node.negated || node.ranges.length !== 1) return "";
  const [low, high] = node.ranges[0]!;
  return low === high ? String.fromCodePoint(low) : "";
}

/** Reads an expression, from left to right. */
class Reader {
  private readonly letters: readonly string[];
  private at = 0;
  private depth = 0;

  constructor(source: string) {
    this.letters = [...source];
  }

  whole(): Node {
    const node = this.either();
    if (this.at < this.letters.length) throw new PatternError("a ')' has no '('", "Write \\) for the character.");
    return node;
  }

  private either(): Node {
    const parts = [this.sequence()];
    while (this.take("|")) parts.push(this.sequence());
    return parts.length === 1 ? parts[0]! : { kind: "either", parts };
  }

  private sequence(): Node {
    const parts: Node[] = [];
    while (this.at < this.letters.length && !"|)".includes(this.letters[this.at]!)) parts.push(this.counted(this.atom()));
    return { kind: "sequence", parts };
  }

  private counted(node: Node): Node {
    const [all, low, comma, high] = /^\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/.exec(this.letters.slice(this.at, this.at + 12).join("")) ?? [];
    let [least, most] = [0, undefined as number | undefined];
    if (all !== undefined) {
      least = Number(low);
      most = comma === undefined ? least : high === undefined ? undefined : Number(high);
      if (most !== undefined && most < least) throw new PatternError(`'${all}' counts down`, "The smaller number is first.");
      this.at += all.length;
    } else if (this.take("+")) least = 1;
    else if (this.take("?")) most = 1;
    else if (!this.take("*")) return node;
    this.take("?"); // as little as possible: of whether it is found the same
    if (this.at < this.letters.length && "*+?".includes(this.letters[this.at]!)) throw new PatternError("a repetition is repeated", "Put what is repeated in brackets.");
    return { kind: "repeated", part: node, least, most };
  }

  private atom(): Node {
    const c = this.next();
    switch (c) {
      case "(": {
        if (this.take("?") && !this.take(":")) throw new PatternError("lookaheads, lookbehinds and flags are not supported", "Use plain brackets.");
        if (++this.depth > DEEPEST) throw new PatternError("the regular expression is too large", "Use fewer brackets.");
        const node = this.either();
        this.depth--;
        if (!this.take(")")) throw new PatternError("a '(' is not closed", "Write \\( for the character.");
        return node;
      }
      case "[": return this.among();
      case ".": return { kind: "set", ranges: [[NEWLINE, NEWLINE]], negated: true };
      case "^": case "$": return { kind: "at", place: c };
      case "*": case "+": case "?": throw new PatternError(`nothing stands before '${c}'`, `Write \\${c} for the character.`);
      case "\\": return this.escaped();
      default: return only(c);
    }
  }

  private among(): Some {
    const negated = this.take("^");
    const ranges: (readonly [number, number])[] = [];
    for (let first = true; first || !this.take("]"); first = false) {
      if (this.at >= this.letters.length) throw new PatternError("a '[' is not closed", "Write \\[ for the character.");
      const low = this.member();
      if (typeof low !== "number") {
        ranges.push(...low);
        continue;
      }
      let high = low;
      if (this.letters[this.at] === "-" && this.letters[this.at + 1] !== "]" && this.at + 1 < this.letters.length) {
        this.at++;
        const end = this.member();
        if (typeof end !== "number" || end < low) throw new PatternError("a range of characters runs backwards", "E.g. [a-z]");
        high = end;
      }
      ranges.push([low, high]);
    }
    return { kind: "set", ranges: lowered(ranges), negated };
  }

  /** A character of a class, or several that an escape stands for. */
  private member(): number | Ranges {
    const c = this.next();
    if (c !== "\\") return c.codePointAt(0)!;
    const escaped = this.escaped();
    if (escaped.kind === "at") throw new PatternError(`\\${escaped.place} is a place and no character`, "Write it outside of [].");
    if (escaped.negated) throw new PatternError("capitals such as \\D do not stand in []", "E.g. [^\\d]");
    const [low, high] = escaped.ranges[0]!;
    return escaped.ranges.length === 1 && low === high ? low : escaped.ranges;
  }

  private escaped(): Some | At {
    if (this.at >= this.letters.length) throw new PatternError("nothing stands after '\\'", "Write \\\\ for the character.");
    const c = this.next();
    if (c === "b" || c === "B") return { kind: "at", place: c };
    const small = c.toLowerCase();
    if (Object.hasOwn(CLASSES, small)) return { kind: "set", ranges: lowered(CLASSES[small]!), negated: c !== small };
    if (Object.hasOwn(CONTROLS, c)) return { kind: "set", ranges: [[CONTROLS[c]!, CONTROLS[c]!]], negated: false };
    if (/[a-z\d]/i.test(c)) throw new PatternError(`'\\${c}' is not supported`, "There are \\d \\w \\s \\b \\n \\t \\r.");
    return only(c);
  }

  private next(): string {
    return this.letters[this.at++]!;
  }

  private take(letter: string): boolean {
    if (this.letters[this.at] !== letter) return false;
    this.at++;
    return true;
  }
}

function only(character: string): Some {
  const code = character.codePointAt(0)!;
  return { kind: "set", ranges: lowered([[code, code]]), negated: false };
}

/** The same characters in lower case, as the text is: of single characters any, of ranges the letters A to Z. */
function lowered(ranges: Ranges): Ranges {
  return ranges.flatMap(([low, high]): Ranges => {
    if (low === high) {
      const small = [...String.fromCodePoint(low).toLowerCase()];
      const code = small.length === 1 ? small[0]!.codePointAt(0)! : low;
      return [[code, code]];
    }
    const [first, last] = [Math.max(low, 65), Math.min(high, 90)];
    return first <= last ? [[low, high], [first + 32, last + 32]] : [[low, high]];
  });
}
