// Builds the page into the Python package: one script and one style sheet.
//
//   node build.mjs           writes them
//   node build.mjs --check   says whether what lies there was built from this source, and exits with 1 if not
//   node build.mjs --test    builds test/*.test.ts and runs them
import { build } from "esbuild";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const OUT = join(HERE, "../src/evenhand/viewer/static");
const MOST = 115_000; // bytes of both files, gzipped

const SHARED = {
  absWorkingDir: HERE,
  bundle: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};

async function page() {
  const made = await build({
    ...SHARED,
    entryPoints: { app: "src/main.tsx" },
    outdir: OUT,
    format: "iife",
    minify: true,
    target: ["chrome110", "firefox113", "safari16.4"],
    write: false,
  });
  return made.outputFiles.map((file) => [file.path, file.contents]);
}

async function write() {
  const files = await page();
  await mkdir(OUT, { recursive: true });
  let size = 0;
  for (const [path, contents] of files) {
    await writeFile(path, contents);
    size += gzipSync(contents).length;
  }
  console.log(`${files.length} files, ${size.toLocaleString("en")} bytes gzipped`);
  return size <= MOST;
}

async function check() {
  let good = true;
  for (const [path, contents] of await page()) {
    const there = await readFile(path).catch(() => undefined);
    if (there === undefined || !there.equals(contents)) {
      console.error(`${path} was not built from this source: run \`just page\` and commit it`);
      good = false;
    }
  }
  return good;
}

async function test() {
  const folder = await mkdtemp(join(tmpdir(), "evenhand-page-"));
  try {
    const names = (await readdir(join(HERE, "test"))).filter((name) => name.endsWith(".test.ts"));
    const entryPoints = names.map((name) => join(HERE, "test", name));
    await build({ ...SHARED, entryPoints, outdir: folder, format: "esm", platform: "node", outExtension: { ".js": ".mjs" } });
    const files = names.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
    return spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit", cwd: HERE }).status === 0;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const task = { "--check": check, "--test": test }[process.argv[2]] ?? write;
process.exit((await task()) ? 0 : 1);
