// Calls of the model that the page around the chat answers.
import type { Call } from './model.ts';
import type { PageTools } from './tools.ts';

export interface Host {
  changed(): void;
  /** A call goes to this page. */
  begun(call: Call): void;
  deliver(callId: string, result: unknown, isError: boolean, session: string): Promise<void>;
}

export class PageCalls {
  private readonly answering = new Set<string>();
  private readonly asking = new Map<string, (may: boolean) => void>();
  private readonly endings = new Map<string, AbortController>();

  constructor(
    private readonly tools: Pick<PageTools, 'get' | 'call'>,
    private readonly host: Host,
  ) {}

  /** The calls that wait for the user's leave. */
  get asked(): string[] {
    return [...this.asking.keys()];
  }

  /** The user allows a call that waits for leave. */
  allow(id: string): void {
    this.asking.get(id)?.(true);
  }

  refuse(id: string): void {
    this.asking.get(id)?.(false);
  }

  /** A call has come to its end: nobody waits for its answer any more. */
  ended(id: string): void {
    this.endings.get(id)?.abort();
    this.endings.delete(id);
  }

  /**
   * Answers a call, if the page offers the tool: once, however often the call is heard of. Who looks elsewhere is asked for
   * no leave, and waits for no other tab; a handler that has begun goes on, since the model waits for what it did.
   */
  async answer(call: Call, watching: AbortSignal, session: string): Promise<void> {
    const { id, name } = call;
    const tool = this.tools.get(name);
    if (this.answering.has(id) || !tool) {
      return;
    }
    this.answering.add(id);
    const ending = new AbortController();
    const { signal } = ending;
    const waiting = new AbortController();
    for (const over of [signal, watching]) {
      over.aborted && waiting.abort();
      over.addEventListener('abort', () => waiting.abort(), { once: true });
    }
    this.endings.set(id, ending);
    if (tool.approval) {
      const may = await new Promise<boolean | undefined>((resolve) => {
        this.asking.set(id, resolve);
        waiting.signal.addEventListener('abort', () => resolve(undefined));
        this.host.changed();
      });
      this.asking.delete(id);
      if (may === undefined) {
        // Nobody has said no: whoever looks at the run again asks again.
        this.answering.delete(id);
      }
      if (!may) {
        // The model is told by the one who refused it.
        this.endings.delete(id);
        return;
      }
    }
    // The page knows no numbers but those of JavaScript.
    const given: unknown = JSON.parse(JSON.stringify(call.arguments ?? {}));
    let hasBegun = false;
    const made = await this.tools.call(id, name, given, signal, waiting.signal, () => {
      hasBegun = true;
      this.host.begun({ ...call, arguments: given });
    });
    if (!made && !hasBegun && watching.aborted) {
      // Whoever looks at the run again waits again.
      this.answering.delete(id);
    }
    if (this.endings.delete(id) && made) {
      await this.host.deliver(id, made.result, made.isError, session);
    }
  }
}
