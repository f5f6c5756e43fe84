/** What JSX is built with: smaller in the page than the calls of the automatic runtime. See build.mjs. */
export { h as __element, Fragment as __fragment } from "preact";
