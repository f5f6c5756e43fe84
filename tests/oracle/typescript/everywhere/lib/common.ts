import * as path from 'path';
const fs = require('fs');
export const here: string = path.basename(__dirname) + (fs.existsSync(__filename) ? '!' : '?');
