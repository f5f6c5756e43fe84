// Builds what the Python package has from npm: the viewer's page, the libraries that are copied, and their licences.
//
//   node build.mjs           writes them
//   node build.mjs --check   says whether what lies there was built from this source, and exits with 1 if not
//   node build.mjs --test    builds test/*.test.ts and runs them
import { build } from "esbuild";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
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
  outdir: PAGE,
  minify: true,
  target: ["chrome110", "firefox113", "safari16.4"],
  write: false,
  metafile: true,
};
const APP = { ...OPTIONS, entryPoints: { app: "src/main.tsx" }, format: "iife" };

// What only a served page has is in live.js. It takes the modules that the page has from the page: both need the same
// Preact, and nothing is there twice. `modules` are the page's; `taken` is told which of them were asked for.
function fromPage(modules, taken) {
  return {
    name: "from-page",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /./ }, async ({ path, importer, resolveDir, kind, pluginData, namespace }) => {
        if (pluginData === "resolved" || kind === "entry-point" || namespace === "page") return undefined;
        const found = await resolve(path, { importer, resolveDir, kind, pluginData: "resolved" });
        if (!modules.has(found.path)) return found;
        taken.add(found.path);
        return { path: `${keyOf(found.path)}.cjs`, namespace: "page" };
      });
      onLoad({ filter: /./, namespace: "page" }, ({ path }) => ({ contents: `module.exports = evenhand[${JSON.stringify(path.slice(0, -4))}]` }));
    },
  };
}

// What a module of the page is called.
const keyOf = (path) => relative(HERE, path).replace(/^(src|node_modules)\//, "");

// The page's own script, which hands on those of its modules that live.js takes.
function handing(taken) {
  const paths = [...taken].sort();
  const contents = [
    `import ${JSON.stringify(join(HERE, "src/main.tsx"))};`,
    ...paths.map((path, i) => `import * as m${i} from ${JSON.stringify(path)};`),
    `globalThis.evenhand = { ${paths.map((path, i) => `${JSON.stringify(keyOf(path))}: m${i}`).join(", ")} };`,
  ].join("\n");
  return { ...APP, entryPoints: undefined, stdin: { contents, resolveDir: HERE, sourcefile: "app.js" }, outdir: undefined, outfile: join(PAGE, "app.js") };
}

// The files of the page, and the packages whose code is in them.
async function built() {
  const alone = await build(APP);
  const modules = new Set(Object.keys(alone.metafile.inputs).map((path) => join(HERE, path)));
  const taken = new Set();
  const live = await build({ ...OPTIONS, plugins: [fromPage(modules, taken), LEXER], entryPoints: { live: "src/live.ts" }, format: "esm" });
  const app = await build(handing(taken));
  const inputs = [app, live].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const names = inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return { outputs: [...app.outputFiles, ...live.outputFiles], packages: [...new Set(names.filter((name) => name !== undefined))].sort() };
}

// What esbuild wrote, minified further: 4 % less when gzipped. The banner stays.
async function smaller(path, contents, banner) {
  if (!path.endsWith(".js")) return contents;
  const { code } = await minify(Buffer.from(contents).toString(), {
    ecma: 2020,
    module: basename(path) === "live.js",
    compress: { passes: 3, unsafe_arrows: true, pure_getters: true, keep_fargs: false },
  });
  return Buffer.from(`${basename(path) === "app.js" ? banner : ""}${code}`);
}

async function files() {
  const { outputs, packages } = await built();
  const inPage = await Promise.all(packages.map((name) => licence(MODULES, name)));
  const copied = await Promise.all(COPIED.map((name) => licence(MODULES, name)));
  const named = inPage.map(({ name, version, license, text }) => {
    const whose = text.match(/^Copyright \(c\) .+$/m)?.[0] ?? "";
    return ` * ${name} ${version}, ${license}. ${whose}`;
  });
  const banner = `/* This page contains, with their licences in Evenhand's package:\n${named.join("\n")}\n */\n`;
  const written = await Promise.all(outputs.map(async ({ path, contents }) => [path, await smaller(path, contents, banner)]));
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
  let [size, later] = [0, 0];
  for (const [path, contents] of await files()) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
    if (basename(path) === "live.js") later += gzipSync(contents).length;
    else if (dirname(path) === PAGE) size += gzipSync(contents).length;
  }
  console.log(`the page: ${size.toLocaleString("en")} bytes gzipped, and ${later.toLocaleString("en")} of what only a served page has`);
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
    // All in one process: most of its time goes into its start.
    const contents = names.map((name) => `import ${JSON.stringify(join(HERE, "test", name))};`).join("\n");
    const outfile = join(folder, "all.mjs");
    await build({ ...SHARED, stdin: { contents, resolveDir: HERE }, outfile, format: "esm", platform: "node" });
    return spawnSync(process.execPath, ["--test", outfile], { stdio: "inherit", cwd: HERE }).status === 0;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const task = { "--check": check, "--test": test }[process.argv[2]] ?? write;
process.exit((await task()) ? 0 : 1);
