// What is copied from npm into the Python package as its authors built it, and whose licence ships with it.
import { readFile, readdir } from "node:fs/promises";
import { basename, join } from "node:path";

// In the package, under evenhand/javascript/libraries: the file in node_modules that it is a copy of.
const DATABASES =
  "athena bigquery db2 flinksql hive mariadb mysql noql postgresql redshift snowflake sqlite transactsql trino";
const COPIES = {
  "nunjucks.js": "nunjucks/browser/nunjucks.min.js",
  "big-integer.js": "big-integer/BigInteger.min.js",
  ...Object.fromEntries(
    DATABASES.split(" ").map((name) => [`sql/${name}.js`, `node-sql-parser/build/${name}.js`]),
  ),
};

// Those of other packages whose code is inside the copies.
export const COPIED = ["nunjucks", "a-sync-waterfall", "asap", "node-sql-parser", "big-integer"];

/** The copies, by their path below the libraries' folder; without the line that asks for a source map. */
export async function copies(modules) {
  const files = Object.entries(COPIES).map(async ([path, from]) => {
    const text = await readFile(join(modules, from), "utf-8");
    return [path, text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n")];
  });
  return Promise.all(files);
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
