/** How numbers are written: the same forms as on the command line (`core/wording/words.py`), in one place. */
import type { Mean } from "./mean";
import type { Rate, Span } from "./rate";

/** US dollars, in as many digits as say something. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined || Number.isNaN(usd)) return "unknown";
  if (usd === 0) return "$0";
  if (usd < 0) return `−${money(-usd)}`;
  if (usd >= 1) return `$${grouped(usd, 2)}`;
  return `$${usd.toFixed(usd >= 0.0001 ? 4 : 1 - Math.floor(Math.log10(usd)))}`;
}

interface Replies {
  readonly scripted: boolean;
  readonly calls: number;
}

/** What was paid: replies of a script (`--offline`) have no price, and what was asked outside of recorded calls is not known. */
export function paid(usd: number | null, { scripted, calls }: Replies): string {
  if (usd === null) return scripted ? "scripted" : "unknown";
  return usd === 0 && calls === 0 ? "–" : money(usd);
}

/** What was paid, in a list of facts; empty where there is nothing to say. */
export function spent(usd: number | null, replies: Replies): string {
  const said = paid(usd, replies);
  return { scripted: "replies scripted", unknown: "cost unknown", "–": "" }[said] ?? `${said} spent`;
}

/** A share as a percentage, whole as a rule, never rounded to all or nothing when it is not. */
export function percent(share: number, digits = 0): string {
  for (const whole of [0, 1]) if (Math.abs(share - whole) < 1e-12) return `${whole * 100} %`;
  for (let after = digits; after < (digits ? 17 : 1); after++) {
    const text = rounded(share * 100, after);
    if (Number(text) !== 0 && Number(text) !== 100) return `${text} %`;
  }
  return share > 0.5 ? "99 %" : "1 %";
}

/** A share as it was written: as a percentage in all of its digits. */
export function percentWritten(share: number): string {
  return `${Number((share * 100).toPrecision(10))} %`;
}

/** A share that errors may leave open: as a percentage, or as the two between which it lies; in as many digits as its interval, if there is one. */
export function percents({ least, most, low: start, high: end }: Span & Partial<Ends>): string {
  const digits = typeof start === "number" && typeof end === "number" ? digitsWithin(start, end) : 0;
  const [low, high] = [percent(least, digits), percent(most, digits)];
  return low === high ? high : `${low.slice(0, -2)}–${high}`;
}

/** The ends of an interval of shares as percentages, a digit more where it is narrow; never rounded to certainty. */
export function interval(low: number, high: number): string {
  const digits = digitsWithin(low, high);
  let start = rounded(low * 100, digits);
  let end = rounded(high * 100, digits);
  if (Number(start) >= 100 && low < 1) start = "99.9";
  if (Number(end) <= 0 && high > 0) end = "0.1";
  if (high >= 1) end = "100";
  return `${low <= 0 ? "0" : start}–${end}`;
}

interface Ends {
  readonly low: number | null;
  readonly high: number | null;
}

/** How many digits after the point of a percentage an interval can tell apart. */
function digitsWithin(low: number, high: number): number {
  return high - low >= 0.02 ? 0 : 1;
}

/** A duration; `–` for one that is not known. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value < 0) return `−${seconds(-value)}`;
  if (value < 0.9995) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const whole = even(value);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (part: number): string => String(part).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A score, in at most four digits that count; `–` for none. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const [digits, exponent] = value.toExponential(3).split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 4) return minus(String(Number(value.toPrecision(4))));
  const sign = power < 0 ? "−" : "+";
  return `${minus(String(Number(digits)))}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** A number that somebody wrote, such as a bound, in all of its digits. */
export function asWritten(value: number): string {
  return minus(String(Number(value.toPrecision(12))));
}

/** A score that is read beside its bounds: in as many digits as tell on which side of each it is; as `beside` of the command line. */
export function beside(value: number, ...bounds: readonly (number | null)[]): string {
  const ends = bounds.filter((end) => end !== null);
  const same = ends.find((end) => Math.abs(value - end) <= 1e-12 * Math.max(Math.abs(value), Math.abs(end)));
  if (same !== undefined) return asWritten(same);
  for (let digits = 4; digits < 18; digits++) {
    const text = Number(value.toPrecision(digits));
    if (ends.every((end) => (text - end) * (value - end) > 0)) return digits === 4 ? number(value) : minus(String(text));
  }
  return number(value);
}

/** The same for a narrow place, in two digits after the point; as a whole number only if it is one. */
export function short(value: number | null | undefined): string {
  return shortBeside(value, NO_ENDS);
}

/** The same beside an interval: where that is narrow, in as many digits as `score_digits` has. Its own ends may be rounded to whole numbers. */
export function shortBeside(value: number | null | undefined, of: Ends): string {
  if (value === null || value === undefined || Number.isNaN(value) || Math.abs(value) >= 100) return number(value);
  const digits = scoreDigits(of);
  const text = rounded(value, digits);
  if (Math.abs(Number(text) - value) < 1e-9) return minus(String(Number(text)));
  if (value !== of.low && value !== of.high) {
    if (Number(text) === 0) return number(Number(value.toPrecision(1)));
    if (Number.isInteger(Number(text))) return number(value);
  }
  return minus(digits === 2 ? text : String(Number(text)));
}

const NO_ENDS: Ends = { low: null, high: null };

function scoreDigits({ low, high }: Ends): number {
  const width = known(low) && known(high) ? high - low : 0;
  return width > 1e-12 && width < 0.02 ? Math.max(3, Math.ceil(1 - Math.log10(width))) : 2;
}

/** A number in so many digits after the point, halves rounded up; what floats leave of a half counts as a half, as on the command line. */
export function rounded(value: number, digits = 0): string {
  const tens = 10 ** digits;
  const whole = Math.floor(Number((Math.abs(value) * tens).toPrecision(12)) + 0.5);
  return (value < 0 ? "-" : "") + (whole / tens).toFixed(digits);
}

/** A number as it is computed with, with a minus sign for its hyphen. A filter understands both. */
export function minus(text: string): string {
  return text.replaceAll("-", "−");
}

/** A number with its sign; what is nothing in the digits shown may be more or less. */
export function signed(text: string): string {
  const [sign, size] = /^[-−]/.test(text) ? ["−", text.slice(1)] : ["+", text];
  return `${/[1-9∞]/.test(size) ? sign : "±"}${size}`;
}

/** A number with its noun: `1 trial`, `1,204 trials`. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${grouped(n)} ${n === 1 ? noun : plural}`;
}

/** How many tokens went in and came out. */
export function tokens(tokensIn: number, tokensOut: number): string {
  return `${grouped(tokensIn)} → ${grouped(tokensOut)} tokens`;
}

const groups = [0, 2].map((digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));

/** `1,204`. */
export function grouped(n: number, digits: 0 | 2 = 0): string {
  return groups[digits === 0 ? 0 : 1]!.format(n);
}

/** A rate, its interval and of how many: `88 % [53–98], 8 cases`. */
export function rate(of: Rate | null): string {
  return of === null ? "no verdicts" : `${percents(of)} [${interval(of.low, of.high)}], ${count(of.n, "case")}`;
}

/** A rate that is told of its trials: `88 % [53–98] passed · 8 cases`. */
export function passed(of: Rate | null): string {
  return of === null ? "no verdicts" : `${percents(of)} [${interval(of.low, of.high)}] passed · ${count(of.n, "case")}`;
}

/** The ends of a mean's interval: ` [0.7, 0.92]`, or ` [0.7–0.92]` on a known scale, on which it need not lie evenly; empty for none. */
export function ends(of: Mean, form: (value: number) => string = number): string {
  return known(of.low) && known(of.high) ? ` [${form(of.low)}${of.scaled === true ? "–" : ", "}${form(of.high)}]` : "";
}

/** A mean, or the two between which errors leave it: `0.81`, `0.5–1`; `1 ±?` where an error may have had any value. */
export function middle(of: Mean, form: (value: number) => string = number): string {
  if (of.open === undefined) return form(of.value);
  if (Number.isNaN(of.open[0])) return `${form(of.value)} ±?`;
  const [least, most] = of.open.map((end) => form(end));
  return least === most ? least! : `${least}–${most}`;
}

/** A mean, its interval and of how many: `0.81 [0.7, 0.92], 8 cases`; `n 8 of 9` where it is not of all of the cases that are told. */
export function mean(of: Mean | null, form: (value: number) => string = number, cases = of?.n ?? 0): string {
  if (of === null || of.n === 0) return "no numbers";
  return `${middle(of, form)}${ends(of, form)}, ${of.n < cases ? `n ${grouped(of.n)} of ${grouped(cases)}` : count(of.n, "case")}`;
}

/** A moment, given in seconds since 1970, as the clock here shows it: `2026-11-21 13:38`, with its seconds if need be. */
export function when(at: number, exact = false): string {
  const date = new Date(at * 1000);
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}${exact ? `:${two(date.getSeconds())}` : ""}`;
}

/** Lines as sentences one after the other: a message and its hint. */
export function sentences(...texts: readonly string[]): string {
  const lines = texts.flatMap((text) => text.split("\n")).map((line) => line.trim()).filter((line) => line !== "");
  return lines.map((line) => (/[.!?:]$/.test(line) ? line : `${line}.`)).join(" ");
}

function known(end: number | null): end is number {
  return end !== null && Number.isFinite(end);
}

/** Rounded to the nearest whole number, and to the even one from between. */
function even(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  return rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
}
