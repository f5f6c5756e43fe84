module.exports = (output, context) => `${context.vars.a}+${context.vars.b}`;
