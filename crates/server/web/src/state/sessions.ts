// The list of conversations.
import { type Client, isOf, pathTo } from '../api/client.ts';
import { list, object, sessionInfo, text } from '../api/read.ts';
import { type Origins, root } from './branches.ts';
import type { SessionInfo } from './model.ts';

/** The time in which a deletion can be taken back. */
const UNDO = 6000;
/** The sessions by which the list grows. */
const PAGE = 200;
/** The most that the server tells at a time. */
const MOST = 1000;

/** The most runs of which it is asked at a time whether they have failed. */
const LOOKS = 20;

export class SessionList {
  all: readonly SessionInfo[] = [];
  /** The sessions that are versions of other ones. */
  origins: Origins = {};
  query = '';
  /** The place behind the last one of those, where there are more. */
  private next = '';
  /** The one that is about to be deleted. */
  leaving: SessionInfo | undefined;
  /** The session that was shown when its conversation was deleted; empty if it was another one. */
  private left = '';
  /** The titles of all sessions that were told: a list of some has not those of the others. */
  private readonly titles = new Map<string, string>();
  /** The runs that nobody works at any more, as far as they were looked at: the server keeps one open that failed. */
  private readonly ended = new Set<string>();
  /** The runs of which that was asked: true while it is. */
  private readonly looked = new Map<string, boolean>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** What is asked for at this moment. */
  private asking: Promise<void> | undefined;
  /** The length of the list that is asked for. */
  private size = PAGE;

  constructor(
    private readonly client: Client,
    private readonly changed: () => void,
    private readonly gone: (id: string) => void,
    private readonly fail: (error: unknown) => void,
  ) {}

  /** True if there are more than those. */
  get hasMore(): boolean {
    return this.next !== '';
  }

  /** The sessions to show: of several versions of a conversation the latest. */
  get shown(): SessionInfo[] {
    const { origins } = this;
    const seen = new Set(this.leaving && [root(origins, this.leaving.id)]);
    return this.all.filter((session) => {
      const first = root(origins, session.id);
      const isShown = !seen.has(first) && session.runs > 0;
      isShown && seen.add(first);
      return isShown;
    });
  }

  titleOf(id: string): string {
    return this.titles.get(id) ?? '';
  }

  /** True if a run of it is under way, or waits for somebody, as far as it is known. */
  isAtWork({ run }: SessionInfo): boolean {
    return run !== '' && !this.ended.has(run);
  }

  /** Asks whether runs that are open have failed: first of those of which that was never asked, as a run may fail later. */
  private look(): void {
    const { looked } = this;
    const open = this.all.filter((session) => this.isAtWork(session) && !looked.get(session.run)).map(({ run }) => run);
    for (const run of open.sort((one, other) => Number(looked.has(one)) - Number(looked.has(other))).slice(0, LOOKS)) {
      looked.set(run, true);
      void this.client.ask('GET', pathTo('runs', run)).catch(() => undefined).then((told) => {
        const { outcome, snapshot } = object(told);
        // A run that went on meanwhile was asked of too early.
        if (looked.get(run) && object(outcome ?? object(snapshot).end).error !== undefined) {
          this.over(run);
          this.changed();
        }
        looked.set(run, false);
      });
    }
  }

  /** Told that a run of a session has begun, or goes on. */
  begun(id: string, run: string): void {
    this.ended.delete(run);
    this.looked.set(run, false);
    this.all = this.all.map((session) => (session.id === id ? { ...session, run } : session));
  }

  /** Told that nobody works at a run any more. */
  over(run: string): void {
    this.ended.add(run);
    // The list is drawn anew where it is another one.
    this.all = [...this.all];
  }

  /** Asks for the list anew, as long as it is, or goes on behind `all`. The answer to the last request counts: others wait for it. */
  load(all: SessionInfo[] = [], after = ''): Promise<void> {
    const asked: Promise<void> = this.ask(() => this.asking === asked, all, after)
      .then((isLast) => (isLast ? undefined : this.asking))
      .finally(() => {
        if (this.asking === asked) {
          this.asking = undefined;
        }
      });
    this.asking = asked;
    return asked;
  }

  /** Asks for further ones behind the last, or for all of them where the list is asked for at this moment. */
  more(): Promise<void> {
    this.size = Math.max(this.all.length, PAGE) + PAGE;
    return this.asking ? this.load() : this.load([...this.all], this.next);
  }

  /** False if something else was asked for meanwhile. */
  private async ask(isLast: () => boolean, all: SessionInfo[], after: string): Promise<boolean> {
    const { size, query } = this;
    do {
      const limit = Math.min(size - all.length, MOST);
      const facts = Object.entries({ q: query.trim(), after }).filter(([, fact]) => fact);
      const path = facts.reduce((path, [name, fact]) => `${path}&${name}=${encodeURIComponent(fact)}`, `/v1/sessions?limit=${limit}`);
      const told = object(await this.client.ask('GET', path));
      if (!isLast()) {
        return false;
      }
      all.push(...list(told.sessions).map(sessionInfo));
      after = text(told.next);
    } while (after && all.length < size);
    this.all = all;
    all.forEach(({ id, title }) => this.titles.set(id, title));
    this.next = after;
    // A list of some tells nothing of the others.
    const before = query || after ? this.origins : {};
    const made = [...all].sort((one, other) => one.created - other.created);
    this.origins = { ...before, ...Object.fromEntries(made.flatMap(({ id, origin }) => (origin ? [[id, origin]] : []))) };
    this.look();
    this.changed();
    return true;
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
    this.titles.set(id, title);
    this.changed();
    await this.client.ask('PATCH', pathTo('sessions', id), { title });
  }

  /** Deletes a session with its other versions, unless it is taken back in time. `shown` is the one that is shown, if that is among them. */
  delete(session: SessionInfo, shown = ''): void {
    this.settle();
    [this.leaving, this.left] = [session, shown];
    this.timer = setTimeout(() => this.settle(), UNDO);
    this.changed();
  }

  /** Takes the deletion back. Yields the session that was shown before. */
  undo(): string {
    clearTimeout(this.timer);
    this.leaving = undefined;
    this.changed();
    return this.left;
  }

  /** Deletes at once what is about to be deleted. */
  settle(): void {
    clearTimeout(this.timer);
    const session = this.leaving;
    if (!session) {
      return;
    }
    this.leaving = undefined;
    const { origins } = this;
    const first = root(origins, session.id);
    const ids = [...new Set([session.id, first, ...Object.keys(origins)])].filter((id) => root(origins, id) === first);
    this.all = this.all.filter(({ id }) => !ids.includes(id));
    const deleted = ids.map(async (id) => {
      try {
        await this.client.ask('DELETE', pathTo('sessions', id));
      } catch (error) {
        if (!isOf(error, 404)) {
          return this.fail(error);
        }
      }
      this.gone(id);
    });
    void Promise.all(deleted).then(() => this.load().catch(() => undefined));
    this.changed();
  }
}
