/** What a run came to as a whole; read anew when it has grown. */
import { useEffect, useRef, useState } from "preact/hooks";
import { about, type Problem } from "../data/problem";
import type { DataSource, Head, Summary } from "../data/source";

const REST = 4; // a live run is read again after so many times as long as the last reading took

interface Found {
  readonly summary?: Summary;
  readonly problem?: Problem;
}

/** One reading at a time: it takes a look at every trial. What was read before stays until then. */
export function useSummary(source: DataSource, { id, seq }: Head): Found {
  const [found, set] = useState<Found>({});
  const now = useRef(seq);
  now.current = seq;
  const grown = useRef(() => {});
  useEffect(() => {
    let [on, resting] = [true, true];
    let timer: number | undefined;
    const read = async (): Promise<void> => {
      resting = false;
      const [of, started] = [now.current, performance.now()];
      try {
        const summary = await source.summary(id);
        if (on) set({ summary });
      } catch (thrown) {
        if (on) set((before) => ({ ...before, problem: about("the results could not be read", thrown) }));
      }
      if (!on) return;
      if (now.current === of) resting = true;
      else timer = setTimeout(() => void read(), Math.max(500, REST * (performance.now() - started)));
    };
    grown.current = () => {
      if (resting) void read();
    };
    void read();
    return () => {
      on = false;
      clearTimeout(timer);
    };
  }, [source, id]);
  useEffect(() => grown.current(), [seq]);
  return found;
}
