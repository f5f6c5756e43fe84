module.exports = () => { throw new Error('v'); };
