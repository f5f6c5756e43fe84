/** Variables and metadata of the cases that have a column of their own. */
import type { Preview, Row } from "../data/source";

export interface Extra {
  /** As the address names it: `var.question`, `metadata.topic`. */
  readonly key: string;
  readonly kind: "var" | "metadata";
  readonly name: string;
}

/** What an address's key means; undefined for what is neither. */
export function extraOf(key: string): Extra | undefined {
  const [, kind, name] = /^(var|metadata)\.(.+)$/s.exec(key) ?? [];
  return name === undefined ? undefined : { key, kind: kind as Extra["kind"], name };
}

/** A case's value; empty where it has none, or where it is not known yet. */
export function valueOf({ kind, name }: Extra, row: Row, preview: Preview | undefined): string {
  const values = kind === "var" ? preview?.vars : row.metadata;
  return values !== undefined && Object.hasOwn(values, name) ? values[name]! : "";
}

/** What could be columns: the variables that some previews have, and every key of the cases' metadata. */
export function extrasOf(previews: readonly Preview[], rows: readonly Row[]): Extra[] {
  const vars = new Set(previews.flatMap((preview) => Object.keys(preview.vars)));
  const keys = new Set(rows.flatMap((row) => Object.keys(row.metadata)));
  return [...[...vars].map((name) => `var.${name}`), ...[...keys].map((name) => `metadata.${name}`)].map((key) => extraOf(key)!);
}
