const path = require('path');
interface X { a: string }
export = { base: (p: string): string => path.basename(p) };
