// Tools that the page offers. A call is made once, however many tabs look at the conversation.
import { Kept } from './kept.ts';

export interface PageTool {
  name: string;
  description?: string;
  /** A JSON schema of the arguments. */
  parameters?: unknown;
  /** True if the user is asked before each call. */
  approval?: boolean;
}

export type Handler = (args: never, context: { signal: AbortSignal }) => unknown;

export interface Offered {
  tool: PageTool;
  handler: Handler;
}

export interface Answered {
  result: unknown;
  isError: boolean;
}

/** Calls that were begun, in whatever tab. */
const BEGUN = 200;

/** The time in which a call that two tabs began at once is known to both, where there are no locks. */
const KNOWN = 100;

/**
 * What a tab is known by, also when its page is loaded again. The name is kept only while the page is away: a tab that is
 * made as a copy of this one has all that is kept.
 */
export function nameOfTab(): string {
  const own = new Kept('session');
  const name = own.get<string>('tab') ?? String(Math.random());
  const hold = () => own.set('tab', undefined);
  hold();
  addEventListener('pagehide', () => own.set('tab', name));
  addEventListener('pageshow', hold);
  return name;
}

/** The name for all chats of a page. */
let shared: string | undefined;

export class PageTools {
  /** Tools of the browser, in whose place the page may offer others. */
  browser: ReadonlyMap<string, Offered> = new Map();
  private readonly offered = new Map<string, Offered>();
  private readonly kept = new Kept();

  constructor(private readonly tab = (shared ??= nameOfTab())) {}

  /** Offers a tool, also in the place of one of that name. Yields what takes it back. */
  register(tool: PageTool, handler: Handler): () => void {
    const offered = { tool, handler };
    this.offered.set(tool.name, offered);
    return () => {
      if (this.offered.get(tool.name) === offered) {
        this.offered.delete(tool.name);
      }
    };
  }

  private get all(): Map<string, Offered> {
    return new Map([...this.browser, ...this.offered]);
  }

  get(name: string): PageTool | undefined {
    return this.all.get(name)?.tool;
  }

  /** The tools in the shape of the server. */
  list(): unknown[] {
    return [...this.all.values()].map(({ tool: { name, description, parameters } }) => ({
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
    }));
  }

  /**
   * Calls a tool, unless another tab does or did; `undefined` once the call has come to its end so, or where `waiting` says
   * that this one waits no longer. `begins` is told before.
   */
  async call(
    id: string,
    name: string,
    args: unknown,
    signal: AbortSignal,
    waiting: AbortSignal,
    begins: () => void,
  ): Promise<Answered | undefined> {
    const offered = this.all.get(name);
    if (!offered) {
      return undefined;
    }
    return alone(`attache-call-${id}`, waiting, async (isLocked) => {
      const begun = () => this.kept.get<string[]>('begun') ?? [];
      const maker = () => begun().findLast((each) => each.startsWith(`${id} `));
      const own = `${id} ${this.tab}`;
      if (maker()) {
        // Without a lock nobody knows of another tab whether it still makes the call.
        return isLocked || maker() === own ? { result: 'The page was closed while the tool ran; its effect is not known.', isError: true } : undefined;
      }
      this.kept.set('begun', [...begun().slice(-BEGUN), own]);
      if (!isLocked) {
        await new Promise((end) => setTimeout(end, KNOWN));
        if (signal.aborted || (maker() ?? own) !== own) {
          return undefined;
        }
      }
      begins();
      try {
        const made: unknown = await offered.handler(args as never, { signal });
        return { result: made === undefined ? null : made, isError: false };
      } catch (error) {
        return { result: error instanceof Error ? error.message : String(error), isError: true };
      }
    });
  }
}

/**
 * Runs `task` alone among the tabs. The name is held for a while longer, until the others know: they wait for it until
 * `signal` says so, since a tab that is closed tells nobody.
 */
async function alone<T>(name: string, signal: AbortSignal, task: (isLocked: boolean) => Promise<T>): Promise<T | undefined> {
  if (!('locks' in navigator)) {
    // A page that is no secure context has none.
    return task(false);
  }
  return new Promise<T | undefined>((resolve, reject) => {
    const held = navigator.locks.request(name, { signal }, async () => {
      await task(true).then(resolve, reject);
      await new Promise((end) => setTimeout(end, 30_000));
    });
    held.catch(() => resolve(undefined));
  });
}
