// What the embedded engine and Node do alike: finding the function that a file exports, and putting what it returns
// into words that Python can read. Evaluates to an object of functions; keeps nothing of its own.
(function () {
  const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

  // A file that does not export what it should; by its name, it is known not to come from the file's own code.
  const wrong = (message) => Object.assign(new Error(message), { name: "Export" });

  // One argument of console.log as text.
  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value.stack || value);
    try {
      const text = JSON.stringify(value);
      return text === undefined ? String(value) : text;
    } catch {
      return String(value);
    }
  }

  // A returned value: {"kind": …, "value": …}. What JSON has no word for is said by its kind alone.
  function returned(value) {
    const its = kind(value);
    if (its === "number" && !Number.isFinite(value)) return { kind: its, value: String(value) };
    if (its === "function" || its === "symbol" || its === "undefined") return { kind: its };
    return { kind: its, value };
  }

  function raised(error) {
    if (!(error instanceof Error) && !(error && typeof error === "object" && "message" in error))
      return { error: `threw ${shown(error)}`, name: "", stack: "" };
    const name = String(error.name || "Error");
    return { error: `${name}: ${error.message}`, name, stack: String(error.stack || "") };
  }

  // The names that a module exports, its default export's included.
  function names(exported) {
    const inner = exported && exported.default && typeof exported.default === "object" ? exported.default : {};
    return [...Object.keys(Object(exported)), ...Object.keys(inner)].filter((n) => n !== "__esModule");
  }

  // What a module exports under a name, or by default.
  function picked(exported, name) {
    if (name) {
      let found;
      for (const from of [exported, exported && exported.default]) {
        found = name.split(".").reduce((value, part) => (value == null ? undefined : value[part]), from);
        if (found !== undefined) return found;
      }
      throw wrong(`it exports no '${name}', only: ${names(exported).join(", ") || "nothing"}`);
    }
    const first = exported && exported.default !== undefined ? exported.default : exported;
    return first && typeof first === "object" && typeof first.default === "function" ? first.default : first;
  }

  // The function of a file that answers a call. A list, or a promise of one, stands for a function that returns it: so
  // files of tests may be written.
  function functionOf(exported, name) {
    const found = picked(exported, name);
    if (Array.isArray(found) || (found && typeof found.then === "function")) return () => found;
    if (typeof found === "function") return found;
    const its = kind(found);
    const article = /^[aou]/.test(its) ? "an" : "a";
    throw wrong(`it exports ${name ? `'${name}'` : "by default"} ${article} ${its}, not a function`);
  }

  const METHODS = ["callApi", "callEmbeddingApi", "callClassificationApi"];
  const answers = (value) => METHODS.some((method) => value && typeof value[method] === "function");

  // Whether instances of it answer: a class, whose methods may be fields that only an instance has, or a function that
  // fills in `this`.
  function isMade(found) {
    if (typeof found !== "function" || !found.prototype) return false;
    return answers(found.prototype) || /^class\b|\bthis\s*\.\s*callApi\s*=[^=]/.test(String(found));
  }

  // A file's provider: an instance of its class, an object with callApi, or a function that is callApi itself. Called
  // with the method that is wanted, and its arguments.
  function providerOf(exported, name, options) {
    const found = picked(exported, name);
    const made = isMade(found) ? new found(options) : found;
    if (!answers(made) && typeof made !== "function")
      throw wrong("it exports neither a class nor an object with callApi, nor a function");
    return (method, ...args) => {
      if (typeof made[method] === "function") return made[method](...args);
      if (method === "callApi" && typeof made === "function") return made(...args);
      throw wrong(`it has no ${method}`);
    };
  }

  return { shown, returned, raised, wrong, functionOf, providerOf, answers };
})()
