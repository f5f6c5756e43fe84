module.exports = (namedScores, context) => ({
  pass: namedScores.first > namedScores.second,
  score: context.threshold,
  reason: `${context.componentResults.length} parts`,
});
module.exports.named = (namedScores, { componentResults }) => ({
  pass: true, score: componentResults[0].score + 0.25, reason: componentResults[0].assertion.value,
});
