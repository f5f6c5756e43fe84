import path = require('path');
module.exports = (output: string): number => path.basename('a/b') === 'b' ? 1 : 0;
