/**
 * Text as it is, with nothing in it that cannot be seen: control, zero-width and direction characters get a name.
 *
 * Long text is cut into chunks that a browser can leave alone until they are scrolled to.
 */

/** Scripts whose letters are joined, or kept apart, by U+200C and U+200D: between two of their letters these are spelling. */
const JOINED = "Arab Bengali Deva Gujr Guru Khmr Knda Mlym Mong Mymr Nkoo Orya Sinh Syrc Taml Telu Tibt".split(" ").map((script) => `\\p{Script=${script}}`).join("");
const UNSEEN =
  "[\\0-\\x08\\x0B-\\x1F\\x7F-\\x9F\\xAD\\u034F\\u061C\\u115F\\u1160\\u17B4\\u17B5\\u180E\\u200B\\u200E\\u200F\\u2028-\\u202E\\u2060-\\u206F\\u2800\\u3164\\uFEFF\\uFFA0\\uFFF0-\\uFFFB" +
  "\\u{1BCA0}-\\u{1BCA3}\\u{1D173}-\\u{1D17A}\\u{E0000}-\\u{E00FF}\\u{E01F0}-\\u{E0FFF}]";
const JOINER = `(?<![${JOINED}])\\u200C|\\u200C(?![${JOINED}])|(?<![${JOINED}\\p{Extended_Pictographic}\\uFE0F\\u{1F3FB}-\\u{1F3FF}])\\u200D`;
/** One chooses the form of the character before it. Several, or after a letter, a space or nothing, carry a text that nobody sees. */
const SELECTOR = "(?<![^\\s\\p{ASCII}\\uFE00-\\uFE0F]|[0-9#*])[\\uFE00-\\uFE0F]|(?<!\\p{Script=Han})[\\u{E0100}-\\u{E01EF}]";

/** What is not seen, or moves what stands around it. Line feeds and tabs are what they look like. */
const SPECIAL = new RegExp(`${UNSEEN}|${JOINER}|${SELECTOR}|\\p{Surrogate}`, "gu");

/** Whether a closer look is worth its time; surrogates may be something, most of them are not. */
const SUSPECT =
  /[\0-\x08\x0B-\x1F\x7F-\x9F\xAD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uD800-\uDFFF\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB]/;

const CONTROLS =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(" ");

const NAMES: Readonly<Record<number, string>> = {
  0x7f: "DEL", 0xad: "SHY", 0x34f: "CGJ", 0x61c: "ALM", 0x115f: "HCF", 0x1160: "HJF", 0x180e: "MVS", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ",
  0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO",
  0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};

/** The sign that stands for a character: ⟨ESC⟩, ⟨RLO⟩, ⟨U+0085⟩. */
export function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨${CONTROLS[code] ?? NAMES[code] ?? codeName(code)}⟩`;
}

export function codeName(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A stretch of text as it is, or one character that would not be seen. */
export interface Piece {
  readonly text: string;
  readonly special: boolean;
}

const MOST_PIECES = 80;

/**
 * The text in pieces, the characters that would not be seen apart. After some dozens of those the rest comes in one
 * piece, with signs in their place: a page of them says the same.
 */
export function pieces(text: string): readonly Piece[] {
  if (!SUSPECT.test(text)) return text === "" ? [] : [{ text, special: false }];
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(SPECIAL)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), special: false });
    if (found.length >= MOST_PIECES) {
      found.push({ text: visible(text.slice(match.index)), special: false });
      return found;
    }
    found.push({ text: match[0], special: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), special: false });
  return found;
}

/** The text with a sign in the place of each character that would not be seen. */
export function visible(text: string): string {
  return SUSPECT.test(text) ? text.replace(SPECIAL, signOf) : text;
}

/** A part of a long text. */
export interface Chunk {
  readonly text: string;
  readonly lines: number;
  /** The line goes on in the next one. */
  readonly open: boolean;
}

const CHUNK = 16_000;

/** The text in chunks of whole lines where lines are short enough; a line feed between two chunks belongs to neither. */
export function chunks(text: string, size = CHUNK): readonly Chunk[] {
  const found: Chunk[] = [];
  for (let from = 0; from < text.length || from === 0; ) {
    let end = Math.min(text.length, from + size);
    let open = false;
    let next = end;
    if (end < text.length) {
      const line = text.slice(from, end + 1).lastIndexOf("\n"); // from here on alone: a line may have millions
      if (line > 0) {
        end = from + line;
        next = end + 1;
      } else {
        if (splitsPair(text, end)) end -= 1;
        open = true;
        next = end;
      }
    }
    const part = text.slice(from, end);
    found.push({ text: part, lines: linesOf(part), open });
    if (next === from) break;
    from = next;
  }
  return found;
}

function linesOf(text: string): number {
  let n = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n++;
  return n;
}

/** Whether some line is longer than this. */
export function hasLongLine(text: string, most: number): boolean {
  for (let from = 0; from + most < text.length; ) {
    const end = text.slice(from, from + most + 1).lastIndexOf("\n");
    if (end < 0) return true;
    from += end + 1;
  }
  return false;
}

/** The first part of a text, on one piece of screen: so many characters and lines, and whether there was more. */
export function clipped(text: string, characters: number, lines = Infinity): { text: string; more: boolean } {
  let end = Math.min(text.length, characters);
  let at = -1;
  for (let i = 0; i < lines && Number.isFinite(lines); i++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at >= end) break;
    if (i === lines - 1) end = at;
  }
  if (end < text.length && splitsPair(text, end)) end -= 1;
  return { text: text.slice(0, end), more: end < text.length };
}

function splitsPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

/** What a value says as text: text itself, everything else as JSON. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** The value of a text that is a JSON object or list; undefined for any other. */
export function asJson(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `12 kB`, of the characters in a text. */
export function sizeOf(length: number): string {
  if (length < 1000) return `${length} characters`;
  if (length < 999_500) return `${Math.round(length / 1000)} k characters`;
  return `${(length / 1e6).toFixed(1)} M characters`;
}

/** A message in parts: what stands between backticks, such as a command, is code. All other backticks are as they were. */
export function quoted(message: string): { text: string; code: boolean }[] {
  const parts = message.split(/`([^`\n]{1,300})`/).map((text, i) => ({ text, code: i % 2 === 1 }));
  return parts.filter(({ text }) => text !== "");
}
