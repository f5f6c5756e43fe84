/** Titles, accessible names and options hold what somebody wrote, too: nothing in them that cannot be seen. */
import { options, type VNode } from "preact";
import { clipped, visible } from "../model/visible";

const NAMES = ["title", "aria-label", "label"] as const;
const LONGEST = 2_000; // characters of a title that a browser shows beside the pointer

type Properties = Record<string, unknown>;

/** Has every element that is drawn from now on name what would not be seen in the texts that are not its children. */
export function nameWhatIsNotSeen(): void {
  const before = options.vnode;
  options.vnode = (node: VNode): void => {
    if (typeof node.type === "string") clean(node.type, node.props as Properties);
    before?.(node);
  };
}

function clean(type: string, properties: Properties): void {
  for (const name of NAMES) {
    const text = properties[name];
    if (typeof text === "string") properties[name] = ofTitle(text);
  }
  if (type === "option" && typeof properties.children === "string") properties.children = ofTitle(properties.children);
}

/** A text as a title may hold it: short, and with signs for what would not be seen. */
export function ofTitle(text: string): string {
  const part = clipped(text, LONGEST);
  return visible(part.text) + (part.more ? "…" : "");
}
