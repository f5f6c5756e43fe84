// TypeScript as tsx runs it, by what Node has itself: types are taken out, and what only TypeScript has is transformed;
// an import may leave out an ending, or say `.js` of a file in TypeScript. Evaluating this file makes it so.
import { existsSync, readFileSync, statSync } from "node:fs";
import module from "node:module";
import { basename, dirname, extname, join, resolve as absolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const TYPESCRIPT = /\.(?:[cm]?tsx?|jsx)$/;
const ENDINGS = [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json"];
const WRITTEN_AS = { ".js": [".ts", ".tsx"], ".jsx": [".tsx"], ".mjs": [".mts"], ".cjs": [".cts"] };

export const able = typeof module.registerHooks === "function" && typeof module.stripTypeScriptTypes === "function";

const isFile = (path) => existsSync(path) && statSync(path).isFile();

// The file that an import means, as TypeScript finds it; none where it is not there.
function fileOf(path) {
  const ending = extname(path);
  const written = (WRITTEN_AS[ending] ?? []).map((other) => path.slice(0, -ending.length) + other);
  const tries = [...written, path, ...ENDINGS.map((other) => path + other)];
  return [...tries, ...ENDINGS.map((other) => join(path, `index${other}`))].find(isFile);
}

const OF_COMPILER =
  "experimentalDecorators emitDecoratorMetadata jsx jsxFactory jsxFragmentFactory jsxImportSource useDefineForClassFields".split(" ");

// `paths`, `baseUrl` and what compilers go by of the tsconfig.json nearest to where we stand, which may extend another.
function readConfig(path) {
  if (!isFile(path)) return {};
  const text = readFileSync(path, "utf8").replace(/"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[^]*?\*\//g, (part) => part[0] === '"' ? part : "");
  let config;
  try {
    config = JSON.parse(text.replace(/,(?=\s*[}\]])/g, ""));
  } catch {
    return {};
  }
  const { baseUrl, paths, ...others } = config.compilerOptions ?? {};
  const above = [].concat(config.extends ?? []).filter((name) => name.startsWith("."));
  const inherited = Object.assign({}, ...above.map((name) => readConfig(fileOf(join(dirname(path), name)) ?? "")));
  const base = baseUrl === undefined ? {} : { base: join(dirname(path), baseUrl) };
  const own = Object.entries(others).filter(([name]) => OF_COMPILER.includes(name));
  const options = { ...inherited.options, ...Object.fromEntries(own) };
  return { ...inherited, ...base, options, ...(paths && { paths, from: base.base ?? inherited.base ?? dirname(path) }) };
}
function nearestConfig(folder) {
  const path = join(folder, "tsconfig.json");
  if (isFile(path)) return readConfig(path);
  return dirname(folder) === folder ? {} : nearestConfig(dirname(folder));
}
const config = nearestConfig(process.cwd());

function* places(specifier, parent) {
  if (/^\.{0,2}\//.test(specifier) || specifier === "." || specifier === "..") yield absolute(dirname(parent), specifier);
  else if (specifier.startsWith("file:")) yield fileURLToPath(specifier);
  else {
    for (const [pattern, targets] of Object.entries(config.paths ?? {})) {
      const [before, after] = pattern.split("*");
      const whole = after === undefined;
      const fits = whole ? specifier === before : specifier.startsWith(before) && specifier.endsWith(after);
      const middle = whole ? "" : specifier.slice(before.length, specifier.length - after.length);
      if (fits) for (const target of targets) yield join(config.from, target.replace("*", middle));
    }
    if (config.base) yield join(config.base, specifier);
  }
}

function resolve(specifier, context, nextResolve) {
  const parent = context.parentURL?.startsWith("file:") ? fileURLToPath(context.parentURL) : "";
  if (parent && !parent.includes("/node_modules/") && !specifier.startsWith("node:"))
    for (const place of places(specifier.replace(/\?.*$/, ""), parent)) {
      const file = fileOf(place);
      if (file && (TYPESCRIPT.test(file) || file.endsWith(".json") || file !== place))
        return { url: pathToFileURL(file).href, shortCircuit: true };
    }
  return nextResolve(specifier, context);
}

const NAME = /^[A-Za-z_$][\w$]*$/;
const IMPORT = /^([ \t]*)import\s+(?!type\b[^,{]*\bfrom\b)(?:([\w$]+)\s*,?\s*)?(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))?\s*from\s*("[^"\n]*"|'[^'\n]*')([^\n;]*);?/gm;
const TEXT = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
const local = (item) => item.split(/\s+as\s+/).at(-1).trim();

// Without the imports of names that are used nowhere: those were types.
function withoutTypes(code) {
  const rest = code.replace(IMPORT, "").replace(TEXT, " ");
  const used = (name) => new RegExp(`(?<![\\w$.])${name.replaceAll("$", "\\$")}(?![\\w$])|\\.\\.\\.${name.replaceAll("$", "\\$")}(?![\\w$])`).test(rest);
  return code.replace(IMPORT, (whole, indent, first, listed, all, from, attributes) => {
    const items = (listed ?? "").split(",").map((item) => item.trim()).filter(Boolean);
    const kept = items.filter((item) => used(local(item)));
    const parts = [first && used(first) && first, all && used(all) && `* as ${all}`, kept.length && `{ ${kept.join(", ")} }`];
    const some = parts.filter(Boolean);
    if (some.length === [first, all, listed !== undefined].filter(Boolean).length && kept.length === items.length) return whole;
    const lines = "\n".repeat(whole.split("\n").length - 1);
    return some.length ? `${indent}import ${some.join(", ")} from ${from}${attributes};${lines}` : lines;
  });
}

const MODULE = /^[ \t]*(?:import\s*(?:[\w${*"']|\.meta\b)|export\s*(?:[{*]|default\b|const\b|let\b|var\b|function\b|async\b|class\b))|\bimport\.meta\b|^[ \t]*(?:const\s[^;\n]*=\s*)?await\s/m;
const OF_COMMONJS = {
  require: "const require = __createRequire(import.meta.url);",
  __filename: "const __filename = __fileURLToPath(import.meta.url);",
  __dirname: "const __dirname = __fileURLToPath(new URL('.', import.meta.url)).replace(/(?<=.)\\/$/, '');",
};

// tsx has what CommonJS has in each file, also beside `import`.
function withCommonJs(code) {
  const seen = code.replace(TEXT, " ");
  const wanted = Object.keys(OF_COMMONJS).filter((name) =>
    new RegExp(`(?<![\\w$.])${name}\\b`).test(seen) && !new RegExp(`\\b(?:const|let|var|function)\\s+${name}\\b`).test(seen));
  if (!wanted.length) return code;
  const helpers = "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __fileURLToPath } from 'node:url';";
  return `${helpers} ${wanted.map((name) => OF_COMMONJS[name]).join(" ")} ${code}`;
}

// A module of CommonJS as one that is imported: what Node makes of it by itself would require without `resolve`.
function ofCommonJs(code) {
  const names = new Set(Array.from(code.replace(TEXT, " ").matchAll(/(?<![\w$.])(?:module\.)?exports\.([A-Za-z_$][\w$]*)\s*=(?!=)/g), (match) => match[1]));
  const named = [...names].filter((name) => name !== "default").map((name, i) => `const _${i} = module.exports.${name}; export { _${i} as ${name} };`);
  const helpers = "import { createRequire as __createRequire } from 'node:module'; import { fileURLToPath as __fileURLToPath } from 'node:url';";
  return `${helpers} ${Object.values(OF_COMMONJS).join(" ")} const module = { exports: {} }; (function (exports) {${code}\n}).call(module.exports, module.exports); export default module.exports; ${named.join(" ")}`;
}

// What Node's own transform of TypeScript leaves as it is are decorators and JSX. A compiler does them that the user has
// installed beside the files: esbuild, which promptfoo's loader is made of, or typescript.
const ALL_TEXT = /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`/g;
const DECORATOR = /(?:^|[;{}]|\b(?:export|default|abstract))[ \t]*@[A-Za-z_$]/m;
const blank = (part) => part.replace(/[^\n]/g, " ");

// The line of the first decorator; 0 for none.
function decorated(source) {
  const match = DECORATOR.exec(source.replace(ALL_TEXT, blank));
  return match ? source.slice(0, match.index).split("\n").length : 0;
}

const compilers = {};
function installed(name, path) {
  for (const place of [path, join(process.cwd(), "_.js")]) {
    try {
      compilers[name] ??= module.createRequire(place)(name);
    } catch {
      // not there
    }
  }
  return compilers[name];
}

// The source as JavaScript, by the settings of tsconfig.json; an error that says what to install where there is none.
function compiled(source, path, options, what) {
  const esbuild = installed("esbuild", path);
  if (esbuild) {
    const loader = { ".tsx": "tsx", ".jsx": "jsx" }[extname(path)] ?? "ts";
    const target = `node${process.versions.node}`;
    const settings = { loader, target, sourcefile: path, sourcemap: "inline", tsconfigRaw: { compilerOptions: options } };
    return esbuild.transformSync(source, { ...settings, logLevel: "silent" }).code;
  }
  const typescript = installed("typescript", path);
  if (typescript) {
    const json = { jsx: "react", ...options, module: "esnext", target: "es2022", inlineSourceMap: true, allowJs: true };
    const { options: compilerOptions } = typescript.convertCompilerOptionsFromJson(json, process.cwd());
    return typescript.transpileModule(source, { compilerOptions, fileName: path }).outputText;
  }
  const message = `${basename(path)} has ${what}, which Node doesn't run by itself: npm install --save-dev esbuild`;
  throw Object.assign(new Error(message), { name: "Export" });
}

function stripped(source, url, path) {
  const line = decorated(source);
  if (line) return compiled(source, path, config.options ?? {}, `decorators (line ${line})`);
  if (path.endsWith(".jsx")) return compiled(source, path, config.options ?? {}, "JSX");
  try {
    return module.stripTypeScriptTypes(source);
  } catch (error) {
    if (path.endsWith(".tsx")) return compiled(source, path, config.options ?? {}, "JSX");
    if (error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    return module.stripTypeScriptTypes(source, { mode: "transform", sourceMap: true, sourceUrl: url });
  }
}

function load(url, context, nextLoad) {
  if (!url.startsWith("file:")) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const required = context.conditions?.includes("require") && !context.conditions.includes("import");
  if (path.endsWith(".json") && !required && context.importAttributes?.type !== "json") {
    const value = JSON.parse(readFileSync(path, "utf8"));
    const names = value && typeof value === "object" && !Array.isArray(value) ? Object.keys(value).filter((key) => NAME.test(key)) : [];
    const named = names.filter((key) => key !== "default").map((key, i) => `const _${i} = _.${key}; export { _${i} as ${key} };`);
    return { format: "module", source: `const _ = ${JSON.stringify(value)}; export default _; ${named.join(" ")}`, shortCircuit: true };
  }
  if (!TYPESCRIPT.test(path) || path.includes("/node_modules/")) return nextLoad(url, context);
  const code = withoutTypes(stripped(readFileSync(path, "utf8"), url, path));
  if (!path.endsWith(".cts") && MODULE.test(code.replace(TEXT, (part) => part[0] === "/" ? " " : part)))
    return { format: "module", source: withCommonJs(code), shortCircuit: true };
  return { format: required ? "commonjs" : "module", source: required ? code : ofCommonJs(code), shortCircuit: true };
}

if (able) {
  process.setSourceMapsEnabled(true);
  module.registerHooks({ resolve, load });
}
