const x = require('not-there-at-all');
module.exports = () => true;
