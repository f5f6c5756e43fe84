module.exports = { shout: (output, context) => output.toUpperCase() + context.vars.x };
