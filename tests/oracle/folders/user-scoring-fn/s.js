module.exports = (scores, context) => ({ pass: scores.A === 1, score: (scores.A || 0) * 0.8, reason: 'own' });
