// A Node process that runs users' files, a line of JSON for each call and each answer. Lines of ours begin with a word
// that only we and whoever started us know, so that what a file prints past the console is never taken for an answer.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const word = process.argv[2];
const kit = (0, eval)(readFileSync(process.argv[3], "utf8"));
const calls = new AsyncLocalStorage();
const made = new Map();

function say(message) {
  let rest = Buffer.from(`\n${word}${JSON.stringify(message)}\n`);
  while (rest.length) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
function print(text) {
  const printed = calls.getStore();
  if (printed && printed.length < 200) printed.push(text);
}
for (const name of ["log", "info", "warn", "error", "debug", "trace", "dir", "table"])
  console[name] = (...args) => print(args.map(kit.shown).join(" "));
process.stdout.write = process.stderr.write = (text, ...rest) => {
  print(String(text).replace(/\n$/, ""));
  const done = rest.find((item) => typeof item === "function");
  if (done) done();
  return true;
};

// Whether what a call names is there: the file is loaded, and nothing in it is called.
async function looked(call) {
  const exported = await loaded(call.file);
  if (!call.provider) kit.functionOf(exported, call.name);
  return () => true;
}
async function actionOf(call) {
  const key = JSON.stringify([call.code, call.file, call.name, call.options]);
  if (!made.has(key)) {
    const making = call.code === undefined ? fromFile(call) : Promise.resolve((0, eval)(call.code));
    made.set(key, making);
    making.catch(() => made.delete(key));
  }
  return made.get(key);
}
// Node says where the mistake in a module is only where it prints it.
function placed(error, file) {
  const { stderr } = spawnSync(process.execPath, ["--check", file], { encoding: "utf8", timeout: 5000 });
  if (String(stderr).includes(error.message)) error.stack = `${stderr}\n${error.stack}`;
  return error;
}
const older = `it is TypeScript, which takes Node 22.18 or newer: this is Node ${process.versions.node}`;
async function loaded(file) {
  if (/\.[cm]?ts$/.test(file) && !(await import(pathToFileURL(process.argv[4]).href)).able) throw kit.wrong(older);
  return import(pathToFileURL(file).href).catch((error) => {
    throw error instanceof SyntaxError ? placed(error, file) : error;
  });
}
async function fromFile(call) {
  const exported = await loaded(call.file);
  const [first, ...path] = call.name.split(".");
  const of = CONFIG.exec(first);
  if (of) {
    const [, name, settings] = of;
    const whole = await configOf(call.file, exported, name, settings);
    if (!path.length) return () => plain(whole, [first], call.file, []);
    const found = path.map(decodeURIComponent).reduce((value, key) => value[key], whole);
    return call.options === undefined ? found : kit.providerOf({ default: found }, "", call.options);
  }
  return call.options === undefined
    ? kit.functionOf(exported, call.name)
    : kit.providerOf(exported, call.name, call.options);
}

// A config, which may be a function or a promise of one: made once, as the functions in it may share what they keep.
// `config()` is that of the default export, `config(name)` what another one comes to, and `config(name,…)` what it comes
// to with these settings.
const CONFIG = /^config\(([^,]*)(?:,(.*))?\)$/;
const configs = new Map();
function configOf(file, exported, name, settings) {
  const key = `${file}:${name}:${settings}`;
  if (!configs.has(key)) {
    let found = exported.default === undefined ? exported : exported.default;
    if (name) found = kit.functionOf(exported, name);
    else if (found && found.__esModule) found = found.default;
    const given = settings === undefined ? [] : [JSON.parse(decodeURIComponent(settings))];
    configs.set(key, typeof found === "function" ? found(...given) : found);
  }
  return configs.get(key);
}

// A part of a config as JSON has it. What can be called becomes a reference to where it stands, which `fromFile` reads.
function plain(value, path, file, above) {
  if (typeof value === "function" || kit.answers(value)) return named(value, path, file);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.toJSON === "function") return value.toJSON();
  if (above.includes(value)) throw new Error(`${path.slice(1).join(".")} stands inside itself`);
  const inside = (key) => plain(value[key], [...path, key], file, [...above, value]);
  if (Array.isArray(value)) return value.map((_, i) => inside(i));
  return Object.fromEntries(Object.keys(value).map((key) => [key, inside(key)]));
}
function named(value, path, file) {
  const part = (key) => encodeURIComponent(key).replaceAll(".", "%2E");
  const [whole, room, number, ...deeper] = path;
  const reference = `file://${basename(file)}:${[whole, ...path.slice(1).map(part)].join(".")}`;
  if (deeper.length || number === undefined) return reference;
  if (room === "prompts") return { raw: reference, label: value.name || `prompt ${number + 1}` };
  if (room !== "providers" && room !== "targets") return reference;
  const its = typeof value === "function" ? value.label : typeof value.id === "function" ? value.id() : value.id;
  const { transform, prompts } = value;
  const beside = plain({ transform, prompts }, path, file, []);
  return { ...beside, id: reference, label: value.label || its || `custom-function-${number}` };
}

// `begun` says whose code runs now, should this process hang or die: once for loading it, once for the call.
async function answer(call) {
  const printed = [];
  await calls.run(printed, async () => {
    let said;
    try {
      say({ id: call.id, begun: true });
      const action = await (call.only === "load" ? looked(call) : actionOf(call));
      say({ id: call.id, begun: true });
      said = kit.returned(await action(...call.args));
      JSON.stringify(said);
    } catch (error) {
      said = kit.raised(error);
    }
    say({ ...said, id: call.id, printed });
  });
}

// A loop without an end reads no input, so that it would not hear when whoever started this process is gone.
const watch = `const ppid = ${process.ppid};
setInterval(() => process.ppid === ppid || process.kill(process.pid, "SIGKILL"), 500);`;
new Worker(watch, { eval: true }).unref();

// A promise that nobody waited for and that failed is not the end of the other calls.
process.on("unhandledRejection", (error) => print(`unhandled: ${kit.raised(error).error}`));
// What nobody caught ends this process: its last words are why.
process.on("uncaughtExceptionMonitor", (error) => say({ uncaught: kit.raised(error) }));
createInterface({ input: process.stdin }).on("line", (line) => {
  const call = JSON.parse(line);
  if (call.ping) say({ pong: call.ping });
  else answer(call);
}).on("close", () => process.exit(0));
say({ ready: process.version });
