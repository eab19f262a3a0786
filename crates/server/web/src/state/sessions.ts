// The list of conversations.
import type { Client } from '../api/client.ts';
import { list, object, sessionInfo, text } from '../api/read.ts';
import { type Origins, root } from './branches.ts';
import type { SessionInfo } from './model.ts';

/** The time in which a deletion can be taken back. */
const UNDO = 6000;
/** The sessions that are asked for at a time. */
const PAGE = 200;

export class SessionList {
  all: readonly SessionInfo[] = [];
  /** The sessions that are versions of other ones. */
  origins: Origins = {};
  query = '';
  /** The place from which the list goes on; empty if all of it is there. */
  next = '';
  /** The one that is about to be deleted. */
  leaving: SessionInfo | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking = 0;
  /** The length of the list that is asked for. */
  private size = PAGE;

  constructor(
    private readonly client: Client,
    private readonly changed: () => void,
    private readonly gone: (id: string) => void,
  ) {}

  /** The sessions to show: of several versions of a conversation the one that was used last. */
  get shown(): SessionInfo[] {
    const { origins } = this;
    const seen = new Set<string>();
    return this.all.filter((session) => {
      const first = root(origins, session.id);
      const isShown = session.id !== this.leaving?.id && !seen.has(first) && session.runs > 0;
      seen.add(first);
      return isShown;
    });
  }

  /** Asks for the list anew, as long as it is; or for those behind it. */
  async load(after = ''): Promise<void> {
    const asked = (this.asking += 1);
    const known = after ? this.all : [];
    const facts = Object.entries({ q: this.query.trim(), after }).filter(([, fact]) => fact);
    const path = facts.reduce((path, [name, fact]) => `${path}&${name}=${encodeURIComponent(fact)}`, `/v1/sessions?limit=${after ? PAGE : this.size}`);
    const told = object(await this.client.ask('GET', path));
    if (asked === this.asking) {
      this.size += after ? PAGE : 0;
      this.all = [...known, ...list(told.sessions).map(sessionInfo)];
      this.next = text(told.next);
      // A list of some tells nothing of the others.
      const before = this.query || this.next ? this.origins : {};
      const made = [...this.all].sort((one, other) => one.created - other.created);
      this.origins = { ...before, ...Object.fromEntries(made.flatMap(({ id, origin }) => (origin ? [[id, origin]] : []))) };
      this.changed();
    }
  }

  search(query: string): void {
    this.query = query;
    this.size = PAGE;
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
    const again = () => void this.load().catch(() => undefined);
    this.leaving = undefined;
    this.all = this.all.filter((each) => each.id !== session.id);
    this.client.ask('DELETE', `/v1/sessions/${encodeURIComponent(session.id)}`).then(
      () => {
        const { [session.id]: _, ...origins } = this.origins;
        this.origins = origins;
        this.gone(session.id);
        again();
      },
      again,
    );
    this.changed();
  }
}
