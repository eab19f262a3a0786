// The list of conversations.
import type { Client } from '../api/client.ts';
import { list, object, sessionInfo } from '../api/read.ts';
import { type Origins, root } from './branches.ts';
import type { SessionInfo } from './model.ts';

/** The time in which a deletion can be taken back. */
const UNDO = 6000;

export class SessionList {
  all: readonly SessionInfo[] = [];
  query = '';
  /** The one that is about to be deleted. */
  leaving: SessionInfo | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking = 0;

  constructor(
    private readonly client: Client,
    private readonly origins: () => Origins,
    private readonly changed: () => void,
    private readonly gone: (id: string) => void,
  ) {}

  /** The sessions to show: of several versions of a conversation the one that was used last. */
  get shown(): SessionInfo[] {
    const origins = this.origins();
    const seen = new Set<string>();
    return this.all.filter((session) => {
      const first = root(origins, session.id);
      const isShown = session.id !== this.leaving?.id && !seen.has(first) && session.runs > 0;
      seen.add(first);
      return isShown;
    });
  }

  async load(): Promise<void> {
    const asked = (this.asking += 1);
    const query = this.query.trim();
    const told = await this.client.ask('GET', `/v1/sessions?limit=200${query ? `&q=${encodeURIComponent(query)}` : ''}`);
    if (asked === this.asking) {
      this.all = list(object(told).sessions).map(sessionInfo);
      this.changed();
    }
  }

  search(query: string): void {
    this.query = query;
    this.changed();
    clearTimeout(this.searching);
    this.searching = setTimeout(() => void this.load().catch(() => undefined), 200);
  }
  private searching: ReturnType<typeof setTimeout> | undefined;

  async rename(id: string, title: string): Promise<void> {
    this.all = this.all.map((session) => (session.id === id ? { ...session, title } : session));
    this.changed();
    await this.client.ask('PATCH', `/v1/sessions/${encodeURIComponent(id)}`, { title });
  }

  /** Deletes a session, unless it is taken back in time. */
  delete(session: SessionInfo): void {
    this.settle();
    this.leaving = session;
    this.timer = setTimeout(() => this.settle(), UNDO);
    this.changed();
  }

  undo(): void {
    clearTimeout(this.timer);
    this.leaving = undefined;
    this.changed();
  }

  /** Deletes at once what is about to be deleted. */
  settle(): void {
    clearTimeout(this.timer);
    const session = this.leaving;
    if (!session) {
      return;
    }
    this.leaving = undefined;
    this.all = this.all.filter((each) => each.id !== session.id);
    this.client.ask('DELETE', `/v1/sessions/${encodeURIComponent(session.id)}`).then(
      () => this.gone(session.id),
      () => void this.load().catch(() => undefined),
    );
    this.changed();
  }
}
