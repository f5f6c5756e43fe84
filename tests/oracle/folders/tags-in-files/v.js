module.exports = (varName, prompt, otherVars) => ({ output: varName + '-' + otherVars.name });
