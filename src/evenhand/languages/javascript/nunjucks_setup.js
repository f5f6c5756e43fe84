// Sets Nunjucks up for text that is filled with data: nothing is escaped, nothing is included, and a value's insides
// (its constructor, its prototype) are as if they were not there. Given the library, evaluates to what Python calls.
(function (library, kit, environment) {
  const { parse, stringify } = JSON;
  const hidden = new Set(["constructor", "__proto__", "prototype", "__defineGetter__", "__defineSetter__",
    "__lookupGetter__", "__lookupSetter__"]);
  const look = library.runtime.memberLookup;
  library.runtime.memberLookup = (value, name) => (hidden.has(name) ? undefined : look(value, name));
  const nowhere = { getSource: () => null };
  const env = new library.Environment([nowhere], { autoescape: false });
  env.addFilter("load", (text) => parse(text));
  env.addGlobal("env", parse(environment));

  // A filter that nobody knows is found when a template is read, not when it is first filled in.
  function known(filter) {
    try {
      env.getFilter(filter.name.value);
    } catch (error) {
      throw new Error(`[Line ${filter.lineno + 1}, Column ${filter.colno + 1}]\n  ${error}`);
    }
  }

  return (part, text, code) => {
    if (part === "filter") {
      const module = { exports: {} };
      code(module, module.exports);
      return void env.addFilter(text, kit.functionOf(module.exports, ""));
    }
    const source = parse(text);
    const template = new library.Template(source, env, null, true);
    for (const filter of library.parser.parse(source, []).findAll(library.nodes.Filter)) known(filter);
    return (variables) => stringify(template.render(parse(variables)));
  };
})
