module.exports = async ({ vars }) => [{ role: 'user', content: `Hello ${vars.name}` }];
