/**
 * Regular expressions of the filter: what `RegExp` here and Python's `re` read alike. The rules are those of
 * `analysis/filters/pattern.py`, tested on the same vectors.
 */
const LARGEST = 2_000; // characters that an expression can ask for, each as often as it is repeated
const DEEPEST = 50; // brackets in brackets
const PART = /(?<repeat>[*+?]|\{(?<least>\d{1,4})(?:(?<comma>,)(?<most>\d{1,4})?)?\})\??|\[(?<negated>\^?)(?<members>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\]|(?<open>\((?:\?:?)?)|\\(?<escaped>.?)|(?<single>.)/gsu;
const MEMBER = /\\(?<set>[dws])|(?<low>\\?.)(?:-(?<high>\\?.))?/gsu;
const SETS: Readonly<Record<string, string>> = { d: "0-9", w: "0-9a-z_", s: "\\t-\\r \\xa0" };
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
const PLACES: Readonly<Record<string, string>> = { "^": "(?<![^\\n])", $: "(?![^\\n])", "\\b": "\\b", "\\B": "\\B" };

/** What is wrong with an expression, and what to do. */
export class PatternError extends Error {
  constructor(readonly what: string, readonly hint: string) {
    super(what);
  }
}

/** An expression that stands between two slashes, for texts in lower case. */
export class Pattern {
  readonly expression: RegExp;
  /** Texts of which one stands in whatever is found; empty where nothing can be said. */
  readonly needed: readonly string[];

  /** @throws PatternError It is not of this language, or too large. */
  constructor(source: string) {
    [this.expression, this.needed] = read(source);
  }

  /** Whether it occurs in a text: what can take long, and not be ended. */
  search(text: string): boolean {
    return (this.needed.length === 0 || this.needed.some((part) => text.includes(part))) && this.expression.test(text);
  }
}

/** The same as one of the browser's, and what is needed. */
function read(source: string): [RegExp, readonly string[]] {
  const longest = [""]; // of each alternative
  let run = ""; // letters that follow each other
  const ended = (): void => {
    if (run.length >= longest.at(-1)!.length) longest[longest.length - 1] = run;
    run = "";
  };
  const sizes = [0]; // of the brackets that are open
  let last: number | undefined; // the size of what can be repeated here
  let repeated = false;
  const put = (spelt: string, size: number | undefined): string => {
    last = size;
    sizes[sizes.length - 1]! += size ?? 0;
    return spelt;
  };
  const repeat = (all: string, { repeat: sign, least: from, comma, most: to }: Record<string, string>): string => {
    if (repeated) throw new PatternError("a repetition is repeated", "Put what is repeated in brackets.");
    if (last === undefined) throw new PatternError(`nothing stands before '${sign}'`, `Write \\${sign} for the character.`);
    const least = Number(from ?? (sign === "+" ? 1 : 0));
    const most = Number(to ?? (comma === undefined ? from : undefined) ?? 1);
    if (to !== undefined && most < least) throw new PatternError(`'${sign}' counts down`, "The smaller number is first.");
    run = [...run].slice(0, -1).join("");
    ended();
    sizes[sizes.length - 1]! += last * (Math.max(most, least) - 1);
    if (Math.max(sizes.at(-1)!, least, most) > LARGEST) tooLarge("Repeat less in it.");
    return all;
  };
  const part = (all: string, groups: Record<string, string>): string => {
    const { open, negated, members, escaped, single } = groups;
    if (groups.repeat !== undefined) return repeat(all, groups);
    if (escaped === "") throw new PatternError("nothing stands after '\\'", "Write \\\\ for the character.");
    if (Object.hasOwn(PLACES, all)) return put(PLACES[all]!, undefined);
    const set = escaped?.toLowerCase() ?? "";
    const special = all === "." || all === "|" || all === ")" || all === "[";
    if ((escaped !== undefined && !Object.hasOwn(SETS, set)) || (single !== undefined && !special)) {
      const letter = small(single ?? meant(escaped!));
      if (sizes.length === 1) run += letter;
      return put(spelt(letter), 1);
    }
    ended();
    if (open !== undefined) {
      if (open === "(?") throw new PatternError("lookaheads, lookbehinds and flags are not supported", "Use plain brackets.");
      if (sizes.push(0) > DEEPEST + 1) tooLarge("Use fewer brackets.");
      last = undefined;
      return "(?:";
    }
    if (members !== undefined) return put(`[${negated}${membersOf(members)}]`, 1);
    if (all === "[") throw new PatternError("a '[' is not closed", "Write \\[ for the character.");
    if (all === ".") return put("[^\\n]", 1);
    if (all === "|") {
      if (sizes.length === 1) longest.push("");
      return put(all, undefined);
    }
    if (all !== ")") return put(`[${set === escaped ? "" : "^"}${SETS[set]}]`, 1);
    const size = sizes.pop()!;
    if (sizes.length === 0) throw new PatternError("a ')' has no '('", "Write \\) for the character.");
    return put(all, size);
  };
  const whole = [...source.matchAll(PART)].map(({ 0: all, groups }) => {
    const written = part(all, groups!);
    repeated = groups!.repeat !== undefined;
    return written;
  });
  if (sizes.length > 1) throw new PatternError("a '(' is not closed", "Write \\( for the character.");
  ended();
  return [new RegExp(whole.join(""), "u"), longest.includes("") ? [] : longest];
}

function membersOf(text: string): string {
  return [...text.matchAll(MEMBER)].map(({ groups }) => {
    const { set, low: from, high: to } = groups!;
    if (set !== undefined) return SETS[set];
    const low = member(from!);
    if (to === undefined) return spelt(small(low));
    const high = /^\\[dws]$/i.test(to) ? "" : member(to);
    if (high === "" || high.codePointAt(0)! < low.codePointAt(0)!) throw new PatternError("a range of characters runs backwards", "E.g. [a-z]");
    const [first, final] = [low > "A" ? low : "A", high < "Z" ? high : "Z"];
    return `${spelt(low)}-${spelt(high)}${first <= final ? `${first}-${final}`.toLowerCase() : ""}`;
  }).join("");
}

/** The character that a part of a class stands for. */
function member(text: string): string {
  if ([...text].length === 1) return text;
  if (Object.hasOwn(PLACES, text)) throw new PatternError(`${text} is a place and no character`, "Write it outside of [].");
  const c = text.slice(1);
  if (Object.hasOwn(SETS, c.toLowerCase())) throw new PatternError("capitals such as \\D don't work in []", "E.g. [^\\d]");
  return meant(c);
}

/** The character that stands behind a backslash. */
function meant(c: string): string {
  if (Object.hasOwn(CONTROLS, c)) return CONTROLS[c]!;
  if (/[a-z\d]/i.test(c)) throw new PatternError(`'\\${c}' is not supported`, "There are \\d \\w \\s \\b \\n \\t \\r.");
  return c;
}

function small(c: string): string {
  const lower = c.toLowerCase();
  return [...lower].length === 1 ? lower : c;
}

/** A character as it is written in an expression. */
function spelt(c: string): string {
  return /[a-z\d]/i.test(c) ? c : `\\u{${c.codePointAt(0)!.toString(16)}}`;
}

function tooLarge(hint: string): never {
  throw new PatternError("the regular expression is too large", hint);
}
