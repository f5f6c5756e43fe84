module.exports = () => { throw new Error('thrown'); };
