/** On a low screen what stands above a view is folded into one line, until somebody unfolds it. */
import { useState } from "preact/hooks";
import { useMedia } from "./media";

const LOW = "(max-height: 540px)";

export interface Tools {
  /** The screen has no room for them beside the view. */
  readonly low: boolean;
  readonly folded: boolean;
  readonly fold: (folded: boolean) => void;
}

export function useTools(): Tools {
  const low = useMedia(LOW);
  const [folded, fold] = useState(true);
  return { low, folded: low && folded, fold };
}
