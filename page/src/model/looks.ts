/** Whether a text was written as Markdown: as such it is drawn at once. What may be code, a diff or plain lines is not. */
const LOOKED_AT = 20_000; // characters
const SIGNS = [
  /^#{2,6} \S/m, // one # begins comments of code, too
  /^ {0,3}(?:```|~~~)/m,
  /^ {0,3}\|? {0,9}:?-{3,}:? *\|/m,
  /(?:^|\n\n)(?:[-*]|1[.)]) [^\n]+\n+(?:[-*]|2[.)]) /,
  /(?<![\w*])\*\*[^\s*][^*\n]{0,200}\*\*(?![\w*])/,
  /\[[^[\]\n]{1,200}\]\(https?:/,
];

export function looksLikeMarkdown(text: string): boolean {
  const start = text.slice(0, LOOKED_AT).replaceAll("\r\n", "\n");
  return SIGNS.some((sign) => sign.test(start));
}
