module.exports = (name, prompt, vars) => ({ output: `${name} ${Object.keys(vars)[0]} ${vars.text}` });
