// Records which values fit which format of JSON Schema by ajv-formats 3.0.1, as json_formats.json beside this file. The
// tests read that file and need no Node. To record anew, in a folder with `npm install ajv@8 ajv-formats@3.0.1`:
//     node …/tests/oracle/json_formats.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const found = createRequire(`${process.cwd()}/package.json`);
const Ajv = found("ajv").default, addFormats = found("ajv-formats").default;
const ajv = new Ajv({ allErrors: true, strict: false });
addFormats(ajv);
const file = new URL("json_formats.json", import.meta.url);
const { values, fits } = JSON.parse(readFileSync(file));
for (const format of Object.keys(fits)) {
  const check = ajv.compile({ format });
  fits[format] = values.map((value) => (check(value) ? "1" : "0")).join("");
}
writeFileSync(file, JSON.stringify({ values, fits }, null, 0) + "\n");
