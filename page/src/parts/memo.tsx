/** A component that is drawn again only when one of its properties is another one. */
import { Component, type FunctionComponent } from "preact";

export function memo<P extends object>(of: FunctionComponent<P>): new (props: P) => Component<P> {
  const Inner = of;
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Readonly<Record<string, unknown>>;
      const after = next as Readonly<Record<string, unknown>>;
      const names = Object.keys(after);
      return names.length !== Object.keys(before).length || names.some((name) => before[name] !== after[name]);
    }

    override render() {
      return <Inner {...(this.props as P)} />;
    }
  };
}
