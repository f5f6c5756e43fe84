module.exports = async () => [{ vars: { a: 'js' } }];
