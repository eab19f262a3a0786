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

interface Offered {
  tool: PageTool;
  handler: Handler;
}

export interface Answered {
  result: unknown;
  isError: boolean;
}

/** Calls that were begun, in whatever tab. */
const BEGUN = 200;

export class PageTools {
  private readonly offered = new Map<string, Offered>();
  private readonly kept = new Kept();

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

  get(name: string): PageTool | undefined {
    return this.offered.get(name)?.tool;
  }

  /** The tools in the shape of the server. */
  list(): unknown[] {
    return [...this.offered.values()].map(({ tool: { name, description, parameters } }) => ({
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
    }));
  }

  /** Calls a tool, unless another tab does or did; `undefined` once the call has come to its end so. */
  async call(id: string, name: string, args: unknown, signal: AbortSignal): Promise<Answered | undefined> {
    const offered = this.offered.get(name);
    if (!offered) {
      return undefined;
    }
    return alone(`attache-call-${id}`, signal, async () => {
      const begun = this.kept.get<string[]>('begun') ?? [];
      if (begun.includes(id)) {
        return { result: 'The page was closed while the tool ran; its effect is not known.', isError: true };
      }
      this.kept.set('begun', [...begun.slice(-BEGUN), id]);
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
async function alone<T>(name: string, signal: AbortSignal, task: () => Promise<T>): Promise<T | undefined> {
  if (!('locks' in navigator)) {
    return task();
  }
  return new Promise<T | undefined>((resolve, reject) => {
    const held = navigator.locks.request(name, { signal }, async () => {
      await task().then(resolve, reject);
      await new Promise((end) => setTimeout(end, 30_000));
    });
    held.catch(() => resolve(undefined));
  });
}
