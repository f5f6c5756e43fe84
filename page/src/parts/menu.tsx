/** A button with a panel under it, that closes when something else is clicked or Escape is pressed. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Menu(p: { name: ComponentChildren; title?: string; right?: boolean; children: ComponentChildren }) {
  const at = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const away = (event: Event): void => {
      if (at.current?.open && event.target instanceof Node && !at.current.contains(event.target)) at.current.open = false;
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !at.current?.open) return;
    event.stopPropagation();
    event.preventDefault();
    at.current.open = false;
    at.current.querySelector("summary")?.focus();
  };
  return (
    <details class="menu" ref={at} onKeyDown={press}>
      <summary class="button" title={p.title}>
        {p.name}
      </summary>
      <div class={p.right ? "menu-panel menu-right" : "menu-panel"}>{p.children}</div>
    </details>
  );
}
