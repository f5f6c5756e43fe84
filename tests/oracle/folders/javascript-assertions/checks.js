module.exports = (output, context) => output.includes(String(context.vars.a));
module.exports.within = async (output, { config }) => ({
  pass: output.length <= config.most, score: config.most / output.length, reason: `${output.length}`,
});
