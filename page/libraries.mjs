// What is copied from npm into the Python package as its authors built it, and whose licence ships with it.
import { readFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";

// In the package, under evenhand/languages/javascript/libraries: the file in node_modules that it is a copy of.
const DATABASES =
  "athena bigquery db2 flinksql hive mariadb mysql noql postgresql redshift snowflake sqlite transactsql trino";
const COPIES = {
  "nunjucks.js": "nunjucks/browser/nunjucks.min.js",
  "big-integer.js": "big-integer/BigInteger.min.js",
};

// The parsers in one file: they have most of their text in common, and the package's builder compresses it at once.
export const PARSERS = "sql.json";

// Those of other packages whose code is inside the copies.
export const COPIED = ["nunjucks", "a-sync-waterfall", "asap", "node-sql-parser", "big-integer"];

/** The copies, by their path below the libraries' folder. */
export async function copies(modules) {
  const files = Object.entries(COPIES).map(async ([path, from]) => [path, await copied(modules, from)]);
  const parsers = DATABASES.split(" ").map(async (name) => [name, await copied(modules, `node-sql-parser/build/${name}.js`)]);
  const together = JSON.stringify(Object.fromEntries(await Promise.all(parsers)));
  return [...(await Promise.all(files)), [PARSERS, together]];
}

// A file's text, without the line that asks for a source map.
async function copied(modules, path) {
  const text = await readFile(join(modules, path), "utf-8");
  return text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n");
}

/** A package's version and licence: `{ name, version, license, text }`. Fails where it has no licence file. */
export async function licence(modules, name) {
  const folder = join(modules, name);
  const about = JSON.parse(await readFile(join(folder, "package.json"), "utf-8"));
  const file = (await readdir(folder)).find((one) => /^licen[cs]e(\.\w+)?$/i.test(basename(one)));
  if (file === undefined) throw new Error(`${name} has no licence file: its licence must ship with it`);
  const text = await readFile(join(folder, file), "utf-8");
  return { name, version: about.version, license: about.license, text };
}
