// The embedded engine's side of a call. Given the kit and the environment, evaluates to a function that Python keeps:
// nothing that is needed here lives where a script could reach it, but for console, timers and process.
(function (kit, environment) {
  const { parse, stringify } = JSON;
  const most = 200;
  let printed = [];
  let timers = [];
  let lastTimer = 0;
  let now = 0;

  const print = (...args) => {
    if (printed.length < most) printed.push(args.map(kit.shown).join(" "));
  };
  const silent = () => {};
  globalThis.console = {
    log: print, info: print, warn: print, error: print, debug: print, trace: print, dir: print, table: print,
    group: print, groupEnd: silent, time: silent, timeEnd: silent, assert: silent,
  };
  globalThis.setTimeout = (action, delay = 0, ...args) => {
    timers.push({ id: ++lastTimer, at: now + Math.max(0, Number(delay) || 0), action: () => action(...args) });
    return lastTimer;
  };
  globalThis.clearTimeout = (id) => {
    timers = timers.filter((timer) => timer.id !== id);
  };
  let process;
  Object.defineProperty(globalThis, "process", {
    configurable: true,
    get: () =>
      (process ??= {
        ...parse(environment),
        nextTick: (action, ...args) => queueMicrotask(() => action(...args)),
        cwd() { return this.folder; },
      }),
    set: (value) => (process = value),
  });

  function answer(said) {
    const text = stringify(printed.length ? { ...said, printed } : said);
    printed = [];
    return text;
  }
  function answered(value) {
    try {
      return answer(kit.returned(value));
    } catch (error) {
      return answer(kit.raised(error));
    }
  }
  const failed = (error) => answer(kit.raised(error));

  // A function that takes its arguments as JSON. It answers with JSON, or with null where it has to be waited for.
  let waiting = null;
  const answering = (action) => (args) => {
    try {
      const value = action(...parse(args));
      if (value === null || typeof value !== "object" || typeof value.then !== "function") return answered(value);
      waiting = { text: null };
      const mine = waiting;
      value.then((v) => (mine.text = answered(v)), (e) => (mine.text = failed(e)));
      return null;
    } catch (error) {
      return failed(error);
    }
  };

  // After all that could happen at once has happened: the answer, the milliseconds until something may happen, or -1.
  function settled() {
    if (waiting.text !== null) return waiting.text;
    if (!timers.length) return -1;
    return Math.max(0, Math.min(...timers.map((timer) => timer.at)) - now);
  }
  function later(milliseconds) {
    now += milliseconds;
    const due = timers.filter((timer) => timer.at <= now).sort((a, b) => a.at - b.at || a.id - b.id);
    if (!due.length) return;
    timers = timers.filter((timer) => timer !== due[0]);
    due[0].action();
  }
  function fresh() {
    timers = [];
    printed = [];
    waiting = null;
  }

  // A file's code is a function of its module; it is run once, whichever of its functions are asked for.
  const parts = {
    inline: answering,
    loaded: (code) => {
      const module = { exports: {} };
      code(module, module.exports);
      return () => module.exports;
    },
    exported: (load, name) => answering(kit.functionOf(load(), name)),
    provider: (load, name, options) => answering(kit.providerOf(load(), name, parse(options))),
    settled, later, fresh,
  };
  return (part, ...args) => parts[part](...args);
})
