/** Links and pictures in what a model wrote. None of them is followed or loaded before somebody asks for it. */

export interface Linked {
  /** Addresses of the web and of mail, each once, in the order of appearance. */
  readonly links: readonly string[];
  /** Pictures that are in the text itself, as `data:` addresses. */
  readonly pictures: readonly string[];
}

const MOST = 50;
const LONGEST = 2_000; // characters of an address
const LINK = /\b(?:https?:\/\/|mailto:)[^\s<>"'`\\^{}|]{1,2000}/gi;
const PICTURE = /data:image\/(?:png|jpe?g|gif|webp|avif);base64,[A-Za-z0-9+/]+={0,2}/gi;

export function linkedIn(text: string): Linked {
  const pictures = [...new Set(text.match(PICTURE) ?? [])].slice(0, MOST);
  const links = (text.match(LINK) ?? []).map(ended).filter((link) => linkOf(link) !== undefined);
  return { links: [...new Set(links)].slice(0, MOST), pictures };
}

/**
 * An address that may be followed, as it is written; undefined for any other: scripts, files, data, and the host of this very
 * page, which would be sent this page's cookie whatever its port.
 */
export function linkOf(address: string, own = globalThis.location?.hostname ?? ""): string | undefined {
  if (address.length > LONGEST || !/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined;
  try {
    const { protocol, username, password, hostname } = new URL(address);
    if (hostname !== "" && hostname === own) return undefined;
    return ["http:", "https:", "mailto:"].includes(protocol) && username === "" && password === "" ? address : undefined;
  } catch {
    return undefined;
  }
}

/** The address of a picture that is in the text itself and of a kind that can only be a picture; undefined for any other. */
export function pictureOf(address: string): string | undefined {
  PICTURE.lastIndex = 0;
  const [whole] = PICTURE.exec(address) ?? [];
  return whole === address ? address : undefined;
}

/** Without the signs of the sentence around it: a bracket that is not opened in it is the sentence's. */
function ended(link: string): string {
  let end = link.length;
  let open = 0;
  for (let i = 0; i < link.length; i++) {
    if (link[i] === "(") open++;
    else if (link[i] === ")" && --open < 0) {
      end = i;
      break;
    }
  }
  return link.slice(0, end).replace(/[.,;:!?*_~\]]+$/, "");
}
