module.exports = class { id() { return 'x'; } async callApi() { return {}; } };
