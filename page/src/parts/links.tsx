/** The links and pictures of an output, shown when somebody asks for them. A link opens another tab, which learns nothing of this one. */
import type { ComponentChildren } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { linkedIn, linkOf, pictureOf } from "../model/links";
import { OpenedContext } from "../state/opened";
import { count } from "./marks";
import { shown } from "./text";

/** A link that can be followed once that was asked for; before, and where it leads anywhere else, its words alone. */
export function Follow({ address, children }: { address: string; children: ComponentChildren }) {
  const { on } = useContext(OpenedContext);
  const link = on ? linkOf(address) : undefined;
  if (link === undefined) return <>{children}</>;
  return <a href={link} target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer">{children}</a>;
}

/** A picture that is in the text itself, once that was asked for; `children` stand for it otherwise. */
export function Picture({ address, words, children }: { address: string; words: string; children: ComponentChildren }) {
  const { on } = useContext(OpenedContext);
  const picture = on ? pictureOf(address) : undefined;
  return picture === undefined ? <Follow address={address}>{children}</Follow> : <img class="picture" src={picture} alt={words} />;
}

/** All of a text, below it. */
export function LinksOf({ text }: { text: string }) {
  const { on, turn } = useContext(OpenedContext);
  const { links, pictures } = useMemo(() => linkedIn(text), [text]);
  if (links.length + pictures.length === 0) return null;
  const said = [links.length > 0 ? count(links.length, "link") : "", pictures.length > 0 ? count(pictures.length, "picture") : ""].filter((part) => part !== "").join(", ");
  return (
    <section class="links" aria-label="Links and pictures">
      <button
        type="button" class="button quiet small" aria-pressed={on} onClick={() => turn(!on)}
        title="For all outputs of this run, until the tab is closed. Pictures from elsewhere are links: nothing is loaded here."
      >
        {on ? "Hide links and pictures" : `Show ${said}`}
      </button>
      {on && pictures.map((picture, i) => <img key={i} class="picture" src={picture} alt={`Picture ${i + 1} in the output`} />)}
      {on && links.length > 0 && <ul>{links.map((link) => <li key={link}><Follow address={link}>{shown(link)}</Follow></li>)}</ul>}
    </section>
  );
}
