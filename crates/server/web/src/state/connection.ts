// The connection of the chat to its server: what the server says of itself, the key, failures, and whoever listens.
import { type Client, Failure, isOf } from '../api/client.ts';
import { Speech } from '../words/words.ts';
import { sentenceOf } from './failures.ts';
import { type Config, UNKNOWN, readConfig } from './config.ts';
import { Kept } from './kept.ts';
import type { Message } from './model.ts';

/** News for the page around the chat. */
export type Told =
  | { type: 'message'; message: Message }
  | { type: 'tool-call'; name: string; callId: string; arguments: unknown }
  | { type: 'error'; message: string; code: string };

export class Connection {
  readonly speech = new Speech();
  readonly kept = new Kept();
  /** Things of this server and its agent: others on the page have their own. */
  readonly mine = new Kept('local', () => `${this.client.base} ${this.client.agent} `);
  config: Config = UNKNOWN;
  isOffline = !navigator.onLine;
  /** True if the server asks for a key, and `wrong` if it does not take the one it has. */
  needsKey: false | 'none' | 'wrong' = false;
  /** True once the server has said what it is, or has not. */
  isIntroduced = false;
  /** A failure that belongs to no answer. */
  problem: string | undefined;

  /** Told what the page around is told. */
  tell: (told: Told) => void = () => undefined;

  private readonly listeners = new Set<() => void>();
  /** The same for this tab alone, and the key of this server. */
  protected readonly own = new Kept('session', () => `${this.client.base} ${this.client.agent} `);
  private readonly keys = new Kept('session', () => `${this.client.base} `);
  private frame = 0;
  private hasKeyOfPage = false;

  /** There while the chat is on a page. */
  protected life: AbortController | undefined;

  constructor(readonly client: Client) {}

  /** Begins to listen, until the chat is closed. False if it listens already. */
  wake(): boolean {
    if (this.life) {
      return false;
    }
    this.life = new AbortController();
    this.listen(this.life.signal);
    return true;
  }

  /** Looks at no run any more, and listens to nothing. */
  close(): void {
    this.life?.abort();
    this.life = undefined;
  }

  /** Listens to the browser and to others until the signal. */
  protected listen(signal: AbortSignal): void {
    const isOnline = () => {
      this.isOffline = !navigator.onLine;
      this.changed();
    };
    addEventListener('online', isOnline, { signal });
    addEventListener('offline', isOnline, { signal });
  }

  get address(): string {
    return this.client.base;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells the elements, once for all that happens before the next picture. */
  changed(): void {
    if (this.frame) {
      return;
    }
    const tell = () => {
      this.frame = 0;
      this.listeners.forEach((listener) => listener());
    };
    // A page in the background has no pictures.
    this.frame = document.hidden ? Number(setTimeout(tell, 100)) : requestAnimationFrame(tell);
  }

  /** Headers of the page, or a key of the user. */
  set headers(headers: Client['headers'] | undefined) {
    this.hasKeyOfPage = headers !== undefined;
    if (headers !== undefined) {
      this.client.headers = headers;
    }
  }

  /** Asks the server what it is. False if it does not say so. */
  async start(): Promise<boolean> {
    const key = this.keys.get<string>('key');
    if (!this.hasKeyOfPage && key) {
      this.client.headers = { Authorization: `Bearer ${key}` };
    }
    let isTold = true;
    try {
      await this.introduce();
      this.problem = undefined;
    } catch (error) {
      // An older server has no such facts.
      isTold = isOf(error, 404);
      isTold || this.fail(error);
    }
    this.isIntroduced = true;
    this.changed();
    return isTold;
  }

  /** Takes a key of the user. */
  async useKey(key: string): Promise<void> {
    this.client.headers = { Authorization: `Bearer ${key}` };
    try {
      await this.introduce();
      this.keys.set('key', key);
    } catch (error) {
      this.fail(error);
    }
    this.changed();
  }

  private async introduce(): Promise<void> {
    this.config = readConfig(await this.client.ask('GET', '/v1/chat/config'));
    this.needsKey = false;
  }

  protected refused(error: unknown): boolean {
    if (!isOf(error, 401) || this.hasKeyOfPage) {
      return false;
    }
    this.needsKey = 'Authorization' in this.client.headers ? 'wrong' : 'none';
    this.changed();
    return true;
  }

  /** Tells a failure that belongs to no answer. */
  fail(error: unknown): void {
    if (error instanceof DOMException && error.name === 'AbortError') {
      return;
    }
    if (this.refused(error)) {
      return;
    }
    const code = error instanceof Failure ? error.code : 'error';
    const message = (error instanceof Error ? error.message : String(error)) || this.speech.say('cannotReach');
    this.problem = sentenceOf(code, message, this.speech) || this.speech.say('cannotReach');
    this.tell({ type: 'error', message, code });
    this.changed();
  }
}
