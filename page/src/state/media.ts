/** Whether the window is as a media query says, now and whenever it changes. */
import { useEffect, useState } from "preact/hooks";

export function useMedia(query: string): boolean {
  const [fits, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const follow = (): void => set(media.matches);
    follow();
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, [query]);
  return fits;
}
