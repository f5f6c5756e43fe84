/** A button with a panel under it, on the screen as a whole; it closes when something else is clicked or Escape is pressed. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Menu(p: { name: ComponentChildren; title?: string; children: ComponentChildren }) {
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
    <details class="menu" ref={at} onKeyDown={press} onToggle={() => place(at.current)}>
      <summary class="button" title={p.title}>
        {p.name}
      </summary>
      <div class="menu-panel">{p.children}</div>
    </details>
  );
}

const MARGIN = 8; // px to the edge of the screen

function place(menu: HTMLDetailsElement | null): void {
  const panel = menu?.querySelector<HTMLElement>(".menu-panel");
  if (!panel || !menu?.open) return;
  panel.style.left = "0";
  const { left, right } = panel.getBoundingClientRect();
  panel.style.left = `${Math.max(MARGIN - left, Math.min(0, document.documentElement.clientWidth - MARGIN - right))}px`;
}
