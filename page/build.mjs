// Builds what the Python package has from npm: the viewer's page, the libraries that are copied, and their licences.
//
//   node build.mjs           writes them
//   node build.mjs --check   says whether what lies there was built from this source, and exits with 1 if not
//   node build.mjs --test    builds test/*.test.ts and runs them
import { build } from "esbuild";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { minify } from "terser";
import { COPIED, PARSERS, copies, licence } from "./libraries.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const MODULES = join(HERE, "node_modules");
const PACKAGE = join(HERE, "../src/evenhand");
const PAGE = join(PACKAGE, "wings/viewer/static");
const LIBRARIES = join(PACKAGE, "languages/javascript/libraries");
const LICENCES = join(HERE, "../licenses");
const MOST = 130_000; // bytes of the page's files, gzipped

const SHARED = {
  absWorkingDir: HERE,
  bundle: true,
  // JSX as calls of `h`, by a name that nothing else has: 1 % less when gzipped than the automatic form, which tsconfig.json has for the types.
  tsconfigRaw: { compilerOptions: { target: "ES2022", jsx: "react", jsxFactory: "__element", jsxFragmentFactory: "__fragment", verbatimModuleSyntax: true } },
  inject: [join(HERE, "src/element.ts")],
  charset: "utf8",
  legalComments: "none", // the banner names the packages, and their licences ship beside the page
  logLevel: "warning",
};

// Of marked the page uses the lexer alone. What else the library sets up when it is loaded would keep all of it in the page.
const LEXER = {
  name: "lexer",
  setup({ onLoad }) {
    onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const [lexer] = /\w+ as Lexer/.exec(text);
      const contents = text.replace(/var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(.*export\{.*\}/s, `export{${lexer}}`);
      if (contents === text) throw new Error("marked is written otherwise than before: see LEXER in build.mjs");
      return { contents };
    });
  },
};

const OPTIONS = {
  ...SHARED,
  plugins: [LEXER],
  entryPoints: { app: "src/main.tsx" },
  outdir: PAGE,
  format: "iife",
  minify: true,
  target: ["chrome110", "firefox113", "safari16.4"],
  write: false,
};

// The packages whose code is in the page.
async function bundled() {
  const { metafile } = await build({ ...OPTIONS, metafile: true });
  const names = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

// What esbuild wrote, minified further: 4 % less when gzipped. The banner stays.
async function smaller(path, contents) {
  if (!path.endsWith(".js")) return contents;
  const { code } = await minify(Buffer.from(contents).toString(), {
    ecma: 2020,
    compress: { passes: 3, unsafe_arrows: true, pure_getters: true, keep_fargs: false },
    format: { comments: /This page contains/ },
  });
  return Buffer.from(code);
}

async function files() {
  const inPage = await Promise.all((await bundled()).map((name) => licence(MODULES, name)));
  const copied = await Promise.all(COPIED.map((name) => licence(MODULES, name)));
  const named = inPage.map(({ name, version, license, text }) => {
    const whose = text.match(/^Copyright \(c\) .+$/m)?.[0] ?? "";
    return ` * ${name} ${version}, ${license}. ${whose}`;
  });
  const banner = { js: `/* This page contains, with their licences in Evenhand's package:\n${named.join("\n")}\n */` };
  const { outputFiles } = await build({ ...OPTIONS, banner });
  const written = await Promise.all(outputFiles.map(async ({ path, contents }) => [path, await smaller(path, contents)]));
  return [
    ...written,
    ...(await copies(MODULES)).map(([path, text]) => [join(LIBRARIES, path), Buffer.from(text)]),
    ...[...inPage, ...copied].map(({ name, version, license, text }) => [
      join(LICENCES, `${name.replaceAll("/", "-")}.txt`),
      Buffer.from(`${name} ${version} (${license})\n\n${text.trimEnd()}\n`),
    ]),
  ];
}

async function write() {
  for (const folder of [PAGE, LIBRARIES, LICENCES]) await rm(folder, { recursive: true, force: true });
  let size = 0;
  for (const [path, contents] of await files()) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
    if (dirname(path) === PAGE) size += gzipSync(contents).length;
  }
  console.log(`the page: ${size.toLocaleString("en")} bytes gzipped`);
  return size <= MOST;
}

async function check() {
  let good = true;
  for (const [path, contents] of await files()) {
    if (basename(path) === PARSERS) continue; // compressed since: a test of the package looks at it
    const there = await readFile(path).catch(() => undefined);
    if (there === undefined || !there.equals(contents)) {
      console.error(`${path} was not built from this source: run \`just page\``);
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
