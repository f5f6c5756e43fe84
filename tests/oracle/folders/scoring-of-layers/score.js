module.exports = (namedScores, context) => ({ pass: Object.keys(namedScores).length > 1, score: 0.25, reason: "js" });
module.exports.named = (ns, ctx) => ({ pass: true, score: ns.n / 10, reason: "n" });
