/** How numbers are written: the same forms as on the command line (`report/words.py`), in one place. */
import type { Interval } from "../data/source";

/** US dollars, in as many digits as say something. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined || Number.isNaN(usd)) return "unknown";
  if (usd === 0) return "$0";
  const size = Math.abs(usd);
  if (size >= 1) return `$${grouped(usd, 2)}`;
  return `$${usd.toFixed(size >= 0.0001 ? 4 : 1 - Math.floor(Math.log10(size)))}`;
}

/** A share as a whole percentage, never rounded to all or nothing when it is not. */
export function percent(share: number): string {
  let whole = even(share * 100);
  if (whole === 100 && share < 1) whole = 99;
  if (whole === 0 && share > 0) whole = 1;
  return `${whole} %`;
}

/** The ends of an interval of shares as percentages, a digit more where it is narrow; never rounded to certainty. */
export function interval(low: number, high: number): string {
  const digits = high - low >= 0.02 ? 0 : 1;
  let start = (low * 100).toFixed(digits);
  let end = (high * 100).toFixed(digits);
  if (Number(start) >= 100 && low < 1) start = "99.9";
  if (Number(end) <= 0 && high > 0) end = "0.1";
  if (high >= 1) end = "100";
  return `${low <= 0 ? "0" : start}–${end}`;
}

/** A duration; `–` for one that is not known. */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
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
  if (power >= -4 && power < 4) return String(Number(value.toPrecision(4)));
  const sign = power < 0 ? "-" : "+";
  return `${Number(digits)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** A difference of shares in percentage points, with its sign. */
export function points(share: number): string {
  if (!share) return "0";
  const text = signed((share * 100).toFixed(0));
  return text === "+0" || text === "-0" ? signed((share * 100).toFixed(1)) : text;
}

/** A number with its sign. */
export function signed(text: string): string {
  return text.startsWith("-") ? text : `+${text}`;
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
export function rate(of: Interval | null): string {
  if (of === null || of.n === 0) return "no verdicts";
  return `${percent(of.value)} [${interval(of.low ?? 0, of.high ?? 1)}], ${count(of.n, "case")}`;
}

/** A rate that is told of its trials: `88 % [53–98] passed · 8 cases`. */
export function passed(of: Interval | null): string {
  if (of === null || of.n === 0) return "no verdicts";
  return `${percent(of.value)} [${interval(of.low ?? 0, of.high ?? 1)}] passed · ${count(of.n, "case")}`;
}

/** A mean, its interval and of how many: `0.81 [0.7, 0.92], 8 cases`. */
export function mean(of: Interval | null, form: (value: number) => string = number): string {
  if (of === null || of.n === 0) return "no scores";
  const ends = known(of.low) && known(of.high) ? ` [${form(of.low)}, ${form(of.high)}]` : "";
  return `${form(of.value)}${ends}, ${count(of.n, "case")}`;
}

/** A moment, given in seconds since 1970, as the clock here shows it: `2026-11-21 13:38`. */
export function when(at: number): string {
  const date = new Date(at * 1000);
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
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
