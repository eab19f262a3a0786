// The conversation as it is looked at: a session with its messages, and the run that is under way.
import { type Client, Failure, isOf, pathTo } from '../api/client.ts';
import * as read from '../api/read.ts';
import { type Json, list, object, text } from '../api/read.ts';
import { type Origins, current, versions } from './branches.ts';
import { Connection } from './connection.ts';
import { follow, pause } from './follow.ts';
import { type Answer, type AnswerState, type Call, type Message, type Question, asks, isEnd } from './model.ts';
import { PageCalls } from './page-calls.ts';
import { reopened } from './reopened.ts';
import { SessionList } from './sessions.ts';
import { PageTools } from './tools.ts';
import { apply, unseen } from './transcript.ts';

/** The time after which somebody looks again whether a call was decided elsewhere. */
const LOOK = 4000;
/** The time after which something is asked again that the network did not bring. */
export const AGAIN = 2000;
/** The answers that are seen first where a conversation is opened, and the longest that it waits for their ends. */
const SEEN = 3;
const PATIENCE = 1000;

let count = 0;

/** A number that no other message or wish of this page has. */
export const next = (): number => (count += 1);
export const fresh = (): string => `local-${next()}`;

/** A new id of a session, which nobody guesses. */
export function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export abstract class Conversation extends Connection {
  readonly tools = new PageTools();
  /** Calls that the page answers. */
  readonly calls = new PageCalls(this.tools, {
    changed: () => this.changed(),
    begun: ({ id, name, arguments: given }) => this.tell({ type: 'tool-call', name, callId: id, arguments: given }),
    deliver: (...given) => this.deliver(...given),
  });
  readonly sessions: SessionList;

  session = '';
  /** The ids that were made here, of sessions that the server does not have yet. */
  protected readonly begun = new Set<string>();
  messages: readonly Message[] = [];
  isLoading = false;
  isReconnecting = false;
  /** The text for a reader who does not see the page. */
  announced = '';

  protected following: AbortController | undefined;
  protected tabs: BroadcastChannel | undefined;
  /** The newest look at the session: one that comes back later than a newer one, or than a new turn, is old. */
  protected look = 0;

  constructor(client: Client) {
    super(client);
    this.sessions = new SessionList(
      client,
      () => this.changed(),
      (id) => {
        if (id === this.session) {
          void this.open('');
        }
        this.tabs?.postMessage({ session: id });
      },
      (error) => this.fail(error),
    );
    this.wake();
  }

  protected override listen(signal: AbortSignal): void {
    super.listen(signal);
    const tabs = (this.tabs = 'BroadcastChannel' in window ? new BroadcastChannel('attache') : undefined);
    tabs?.addEventListener('message', ({ data: { session } }: MessageEvent<{ session?: string }>) => {
      if (session === this.session && !this.isRunning) {
        void this.reload().then(
          () => this.rest(),
          (error: unknown) => isOf(error, 404) && session === this.session && this.open(session),
        );
      }
      void this.sessions.load().catch(() => undefined);
    });
    addEventListener('pagehide', () => this.sessions.settle(), { signal });
    signal.addEventListener('abort', () => {
      tabs?.close();
      this.tabs = undefined;
      this.sessions.settle();
      this.leave();
    });
  }

  /** Answers a call for the page, or a question of a tool. */
  abstract deliver(callId: string, result: unknown, isError?: boolean, session?: string): Promise<void>;

  /** Told the words that a run did not come to read. */
  protected abstract unread(run: string, texts: readonly string[]): void;

  /** Told the messages of the session that come in the place of those that are here. */
  protected abstract replaced(messages: readonly Message[]): void;

  /** Told when nothing is under way: an answer is there as a whole, or the server has taken a key. */
  protected abstract whole(): void;

  /** Goes on with what waits if the newest answer is there as a whole. */
  protected rest(): void {
    if (!this.following && this.last?.state === 'done') {
      this.whole();
    }
  }

  /** True if the session or its run could not be read with the headers of then. */
  private isCut = false;

  override async start(): Promise<boolean> {
    const wasShut = this.isCut || this.needsKey;
    const isTold = await super.start();
    await (isTold && wasShut && this.admitted());
    return isTold;
  }

  override async useKey(key: string): Promise<void> {
    await super.useKey(key);
    await (this.needsKey || this.admitted());
  }

  /** Looks anew at what could not be read, and says what waits. */
  private async admitted(): Promise<void> {
    this.isCut = false;
    void this.sessions.load().catch(() => undefined);
    await (this.homeOf(this.session) ? this.open(this.session) : this.whole());
  }

  // Sessions

  get origins(): Origins {
    return this.sessions.origins;
  }

  /** The session in which words wait that were said in one: the new one, whose id is empty, until the server has it. */
  protected homeOf(session: string): string {
    return this.begun.has(session) ? '' : session;
  }

  /** Shows a session, once the network brings it; an empty id is a new one. False if another one was opened meanwhile. */
  async open(id: string): Promise<boolean> {
    this.leave();
    let opening = (this.opening += 1);
    const isHere = () => opening === this.opening;
    [this.session, this.messages, this.problem, this.announced] = [id, [], undefined, ''];
    [this.isLoading, this.isReconnecting] = [id !== '', false];
    this.changed();
    if (id) {
      let failure: unknown;
      while (isHere()) {
        failure = await this.reload().catch((error: unknown) => error);
        if (!(failure instanceof Failure && failure.passes && isHere() && this.life)) {
          break;
        }
        this.isReconnecting = true;
        this.changed();
        await pause(AGAIN, this.life.signal).catch(() => (opening = 0));
      }
      if (!isHere()) {
        return false;
      }
      this.isReconnecting = false;
      if (isOf(failure, 404)) {
        this.session = '';
        this.problem = this.speech.say('gone');
      } else if (failure) {
        this.isCut = isOf(failure, 401);
        this.fail(failure);
      }
      this.isLoading = false;
      this.changed();
    }
    return true;
  }
  private opening = 0;

  protected isGone(session: string): Promise<boolean> {
    return this.client.ask('HEAD', pathTo('sessions', session)).then(() => false, (error: unknown) => isOf(error, 404));
  }

  protected async reload(): Promise<void> {
    const id = this.session;
    const look = (this.look += 1);
    const told = await this.client.ask('GET', pathTo('sessions', id));
    this.begun.delete(id);
    if (id !== this.session || look !== this.look) {
      return;
    }
    const { messages: all, runs, open, tail } = reopened(told, fresh());
    // A message that stands where it stood keeps its element, with what is open or being written in it.
    const ids = new Set(all.map((message) => message.id));
    const messages = all.map((message, at) => {
      const old = this.messages[at];
      const isSame = old?.role === message.role && (old as Question).text === (message as Question).text && !ids.has(old.id);
      return isSame ? { ...message, id: old.id } : message;
    });
    if (this.isLoading) {
      // Lines about the answers that are seen first come with them: later ones would move what is read.
      const ended = runs.slice(-SEEN).filter((run) => run !== open && !this.ends.has(run));
      await Promise.race([Promise.all(ended.map((run) => this.end(run).catch(() => undefined))), new Promise((end) => setTimeout(end, PATIENCE))]);
      if (id !== this.session || look !== this.look) {
        return;
      }
    }
    this.leave();
    this.replaced(messages);
    this.messages = this.withEnds(messages, runs, open);
    this.changed();
    if (open) {
      void this.watch(open, tail);
    }
  }

  /** The runs of answers that were read from messages, which do not tell figures, tokens and cost. */
  private untold = new Map<string, string>();
  /** The ends of runs, as far as they were asked for. */
  private readonly ends = new Map<string, Json>();

  /** The messages with the ends of their runs that are known. `open` is the run that tells its end itself. */
  private withEnds(messages: Message[], runs: string[], open: string): Message[] {
    const answers = messages.filter((message) => message.role === 'assistant');
    const isPaired = answers.length === runs.length;
    const runOf = (answer: Answer, at: number) => answer.runId ?? (isPaired ? runs[at] : undefined);
    // What was said while a run was under way parts its answer: the end is that of the last part.
    const lasts = new Map(answers.map((answer, at) => [runOf(answer, at), answer]));
    this.untold.clear();
    return messages.map((message) => {
      const run = message.role === 'assistant' ? runOf(message, answers.indexOf(message)) : undefined;
      if (!run || run === open || lasts.get(run) !== message) {
        return message;
      }
      const answer = { ...(message as Answer), runId: run };
      const end = this.ends.get(run);
      end || this.untold.set(answer.id, run);
      return end ? withEnd(answer, end) : answer;
    });
  }

  /** Asks for the end of a run. */
  private async end(run: string): Promise<Json> {
    const end = object(await this.client.ask('GET', pathTo('runs', run)));
    this.ends.set(run, end);
    return end;
  }

  /** Asks for figures, tokens and cost of an answer, unless they are known. */
  async complete(id: string): Promise<void> {
    const run = this.untold.get(id);
    if (run && this.untold.delete(id)) {
      try {
        const end = await this.end(run);
        this.change(id, (answer) => withEnd(answer, end));
      } catch {
        this.untold.set(id, run);
      }
    }
  }

  // Messages

  get isRunning(): boolean {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' && this.following !== undefined && (last.state === 'running' || isForPage(last));
  }

  /** True while an answer is under way, or waits for somebody. */
  get isOpen(): boolean {
    return this.last?.state === 'running' || this.last?.state === 'waiting';
  }

  get last(): Answer | undefined {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' ? last : undefined;
  }

  protected change(id: string, to: (answer: Answer) => Answer): void {
    this.messages = this.messages.map((message) => (message.id === id && message.role === 'assistant' ? to(message) : message));
    this.changed();
  }

  /** Looks at no run any more. */
  protected leave(): void {
    this.following?.abort();
    this.following = undefined;
  }

  /** Looks at a run until it ends. Nobody else looks meanwhile: an event that is heard twice would be shown twice. */
  protected async watch(run: string, tail: Answer['parts'] = []): Promise<void> {
    this.leave();
    this.look += 1;
    const id = this.last?.id;
    if (!id || !this.life) {
      return;
    }
    const wasWaiting = this.last?.state === 'waiting';
    const following = (this.following = new AbortController());
    const { signal } = following;
    let hasHeard = false;
    try {
      const end = await follow(this.client, run, {
        signal,
        event: (value) => {
          hasHeard = true;
          this.heard(id, run, value, signal);
        },
        lost: (isLost) => {
          if (isLost !== this.isReconnecting) {
            this.isReconnecting = isLost;
            this.changed();
          }
        },
      });
      if (end !== 'ended') {
        // Words that the run has told are not shown twice.
        if (!hasHeard) {
          this.change(id, (answer) => ({ ...answer, parts: [...answer.parts, ...tail] }));
        }
        const told = object(await this.client.ask('GET', pathTo('runs', run), undefined, signal));
        if (told.outcome) {
          this.change(id, (answer) => read.ended({ ...answer, runId: run }, told.outcome));
        }
        const { reason, unread } = object(told.outcome);
        this.unread(run, list(unread).map(text));
        if (!reason) {
          this.change(id, (answer) => ({ ...answer, state: 'interrupted' }));
        }
      }
      this.over(id, run, following, wasWaiting);
      if (end !== 'ended' && hasHeard && !this.isRunning) {
        // Its last words were lost on the way: the session has them.
        await this.reload();
      }
    } catch (error) {
      if (!signal.aborted) {
        this.following = undefined;
        this.isCut = isOf(error, 401);
        this.change(id, (answer) => ({ ...answer, state: 'interrupted' }));
        this.fail(error);
      }
    }
  }

  private heard(id: string, run: string, value: unknown, signal: AbortSignal): void {
    if (signal.aborted) {
      return;
    }
    const before = this.last;
    const { type, end, blocks } = object(value);
    this.unread(run, list(object(type === 'snapshot' ? end : value).unread).map(text));
    const earlier = this.messages.flatMap((message) => (message.role === 'assistant' && message.id !== id && message.runId === run ? message.parts : []));
    const told = type === 'snapshot' ? { ...object(value), blocks: unseen(blocks, earlier) } : value;
    this.change(id, (answer) => apply(answer, told, performance.now()));
    this.answerCalls();
    for (const part of this.last?.parts ?? []) {
      if (part.kind === 'call' && isEnd(part.state)) {
        this.calls.ended(part.id);
      } else if (asks(part) && !this.isKnown(before, part)) {
        const { name, question } = part;
        this.hear(question ? `${this.speech.say('stateQuestion')}: ${question.prompt ?? name}` : this.speech.say('approvalNeeded', { name }));
      }
    }
  }

  /** Answers the calls for which the page has tools by now. */
  answerCalls(): void {
    const { following, last } = this;
    for (const part of last?.parts ?? []) {
      if (part.kind === 'call' && part.state === 'frontend' && following) {
        void this.calls.answer(part, following.signal, this.session);
      }
    }
  }

  /** Says how an answer has ended to a reader who does not see it. */
  protected announce(state: AnswerState): void {
    this.hear(this.speech.say(state === 'failed' || state === 'stopped' || state === 'interrupted' ? state : 'answerReady'));
  }

  /** The same words once more are no news for a reader of the screen: a space that is not heard makes them others. */
  private hear(words: string): void {
    this.announced = words === this.announced ? `${words}\u00a0` : words;
  }

  private isKnown(before: Answer | undefined, call: Call): boolean {
    return before?.parts.some((part) => part.kind === 'call' && part.id === call.id && part.state === call.state) ?? false;
  }

  /** The run has ended, or waits for somebody. */
  private over(id: string, run: string, following: AbortController, wasWaiting: boolean): void {
    if (this.following !== following) {
      return;
    }
    this.following = undefined;
    const answer = this.last;
    answer?.state === 'waiting' || this.sessions.over(run);
    if (!answer || answer.id !== id) {
      return;
    }
    // A run that waits as before is no news: two tabs would tell each other of it for ever.
    if (!(wasWaiting && answer.state === 'waiting')) {
      this.tell({ type: 'message', message: answer });
      this.tabs?.postMessage({ session: this.session });
      void this.sessions.load().catch(() => undefined);
    }
    if (answer.state === 'waiting') {
      this.following = following;
      void this.waitForDecision(run, following);
      this.changed();
      return;
    }
    this.announce(answer.state);
    this.changed();
    if (answer.state === 'done') {
      this.whole();
    }
  }

  /** Looks now and then whether somebody has decided elsewhere. */
  private async waitForDecision(run: string, following: AbortController): Promise<void> {
    const { signal } = following;
    try {
      for (;;) {
        await pause(LOOK, signal);
        if (document.hidden) {
          continue;
        }
        const told = object(await this.client.ask('GET', pathTo('runs', run), undefined, signal).catch(() => ({})));
        const { end } = object(told.snapshot);
        const reason = text(object(told.outcome ?? end).reason);
        const isRunning = told.snapshot !== undefined && !end;
        if (isRunning || (reason && !/^(pending_|input_required)/.test(reason))) {
          if (await this.reload().then(() => true, () => false)) {
            return this.rest();
          }
        }
      }
    } catch {
      // Somebody else looks at the run now.
    }
  }

  /** The messages of the user. */
  get questions(): Question[] {
    return this.messages.filter((message): message is Question => message.role === 'user');
  }

  /** The number of the user's messages before one that the server has: it has none of those that failed. */
  protected placeOf(question: Question): number {
    // Each picture asks for the places of all: they are counted once for as long as the messages are the same.
    if (this.counted !== this.messages) {
      this.counted = this.messages;
      let count = 0;
      this.places = new Map(this.questions.map(({ id, isSending }) => [id, isSending ? count : count++]));
    }
    return this.places.get(question.id) ?? 0;
  }
  private counted: readonly Message[] = [];
  private places = new Map<string, number>();

  /** The versions of a message: their number, and the one that is shown. */
  versionsOf(question: Question): { all: string[]; at: number } {
    const at = this.placeOf(question);
    const all = this.session ? versions(this.origins, this.session, at) : [];
    return { all, at: current(this.origins, this.session, at, all) };
  }
}

/** An answer with the end of its run, and the ways in which its documents reached the model. */
function withEnd(answer: Answer, { outcome, snapshot, routing }: Json): Answer {
  const end = snapshot ? apply(answer, { ...object(snapshot), blocks: [] }, 0) : read.ended(answer, outcome);
  const told = list(routing);
  // A snapshot tells the last way alone, and not of which step.
  const before = told.length > 0 ? { ...end, sights: [] } : end;
  const after = told.reduce((now: Answer, each) => apply(now, { ...object(each), type: 'routing' }, 0), before);
  return { ...after, parts: answer.parts, began: undefined, ended: undefined };
}

const isForPage = (answer: Answer): boolean =>
  answer.state === 'waiting' && answer.parts.some((part) => part.kind === 'call' && part.state === 'frontend');
