module.exports = (output, context) => ({pass: true, score: 0.7, reason: context.prompt || 'p'});
module.exports.named = (output) => output === 'no';
