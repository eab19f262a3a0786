// A conversation with the server, as the chat's elements see it.
import { Client, Failure } from '../api/client.ts';
import * as read from '../api/read.ts';
import { list, object, text } from '../api/read.ts';
import { Speech } from '../words/words.ts';
import { type Origins, current, versions, without } from './branches.ts';
import { type Config, UNKNOWN, readConfig } from './config.ts';
import { factsOf } from './facts.ts';
import { follow, pause } from './follow.ts';
import { Kept } from './kept.ts';
import { type Answer, type Approval, type Call, type Doc, type Message, type Question, newAnswer } from './model.ts';
import { PageCalls } from './page-calls.ts';
import { reopened } from './reopened.ts';
import { SessionList } from './sessions.ts';
import { PageTools } from './tools.ts';
import { apply, verdict } from './transcript.ts';
import { Uploads } from './uploads.ts';

export interface Queued {
  id: number;
  text: string;
  documents: Doc[];
}

/** A decision about a call. */
export type Decision =
  | { decision: 'approve' | 'always' }
  | { decision: 'deny'; text: string }
  | { decision: 'edit'; arguments: unknown };

/** What the page around the chat is told. */
export type Told =
  | { type: 'message'; message: Message }
  | { type: 'tool-call'; name: string; callId: string; arguments: unknown }
  | { type: 'error'; message: string; code: string };

/** The time after which somebody looks again whether a call was decided elsewhere. */
const LOOK = 4000;

/** Answers whose figures and costs are asked for when an old conversation is opened. */
const RECENT = 8;

let count = 0;
const fresh = (): string => `local-${(count += 1)}`;

export class Chat {
  readonly speech = new Speech();
  readonly tools = new PageTools();
  /** Calls that the page answers. */
  readonly calls = new PageCalls(this.tools, {
    changed: () => this.changed(),
    begun: ({ id, name, arguments: given }) => this.tell({ type: 'tool-call', name, callId: id, arguments: given }),
    deliver: (...given) => this.deliver(...given),
  });
  readonly uploads: Uploads;
  readonly sessions: SessionList;
  readonly kept = new Kept('attache.');
  /** Facts about the page, which the model reads with each turn. */
  readonly context = new Map<string, unknown>();

  config: Config = UNKNOWN;
  session = '';
  messages: readonly Message[] = [];
  queue: readonly Queued[] = [];
  isLoading = false;
  isOffline = !navigator.onLine;
  isReconnecting = false;
  /** True if the server asks for a key, and `wrong` if it does not take the one it has. */
  needsKey: false | 'none' | 'wrong' = false;
  /** A failure that belongs to no answer. */
  problem: string | undefined;
  /** The text for a reader who does not see the page. */
  announced = '';

  /** Told what the page around is told. */
  tell: (told: Told) => void = () => undefined;

  private following: AbortController | undefined;
  /** The newest look at the session: one that comes back later than a newer one, or than a new turn, is old. */
  private look = 0;
  private readonly listeners = new Set<() => void>();
  private readonly tabs = 'BroadcastChannel' in window ? new BroadcastChannel('attache') : undefined;
  private frame = 0;
  private hasKeyOfPage = false;

  constructor(readonly client: Client) {
    this.uploads = new Uploads(client, () => this.changed());
    this.sessions = new SessionList(
      client,
      () => this.origins,
      () => this.changed(),
      (id) => {
        this.kept.set('branches', without(this.origins, id));
        if (id === this.session) {
          void this.open('');
        }
      },
    );
    this.tabs?.addEventListener('message', (event: MessageEvent<{ session?: string }>) => {
      if (event.data.session === this.session && !this.isRunning) {
        void this.reload().catch(() => undefined);
      }
      void this.sessions.load().catch(() => undefined);
    });
    const isOnline = () => {
      this.isOffline = !navigator.onLine;
      this.changed();
    };
    addEventListener('online', isOnline);
    addEventListener('offline', isOnline);
    addEventListener('pagehide', () => this.sessions.settle());
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

  // The server

  /** Headers of the page, or a key of the user. */
  set headers(headers: Client['headers'] | undefined) {
    this.hasKeyOfPage = headers !== undefined;
    if (headers !== undefined) {
      this.client.headers = headers;
    }
  }

  async start(): Promise<void> {
    const key = new Kept('attache.', 'session').get<string>('key');
    if (!this.hasKeyOfPage && key) {
      this.client.headers = { Authorization: `Bearer ${key}` };
    }
    try {
      this.config = readConfig(await this.client.ask('GET', '/v1/chat/config'));
      this.problem = undefined;
    } catch (error) {
      const isOlder = error instanceof Failure && error.status === 404;
      if (!isOlder && !this.refused(error)) {
        this.fail(error);
      }
    }
    this.changed();
  }

  async useKey(key: string): Promise<void> {
    this.client.headers = { Authorization: `Bearer ${key}` };
    try {
      this.config = readConfig(await this.client.ask('GET', '/v1/chat/config'));
      new Kept('attache.', 'session').set('key', key);
      this.needsKey = false;
      void this.sessions.load().catch(() => undefined);
      if (this.session) {
        await this.open(this.session);
      }
    } catch (error) {
      this.refused(error) || this.fail(error);
    }
    this.changed();
  }

  private refused(error: unknown): boolean {
    if (!(error instanceof Failure) || error.status !== 401 || this.hasKeyOfPage) {
      return false;
    }
    this.needsKey = 'Authorization' in this.client.headers ? 'wrong' : 'none';
    this.changed();
    return true;
  }

  private fail(error: unknown): void {
    if (error instanceof DOMException && error.name === 'AbortError') {
      return;
    }
    if (this.refused(error)) {
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    this.problem = message || this.speech.say('cannotReach');
    this.tell({ type: 'error', message: this.problem, code: error instanceof Failure ? error.code : 'error' });
    this.changed();
  }

  // Sessions

  get origins(): Origins {
    return this.kept.get<Origins>('branches') ?? {};
  }

  /** Shows a session; an empty id is a new one. */
  async open(id: string): Promise<void> {
    this.leave();
    [this.session, this.messages, this.queue, this.problem] = [id, [], [], undefined];
    [this.isLoading, this.isReconnecting] = [id !== '', false];
    this.changed();
    if (id) {
      try {
        await this.reload();
      } catch (error) {
        if (error instanceof Failure && error.status === 404) {
          this.session = '';
          this.problem = this.speech.say('gone');
        } else {
          this.fail(error);
        }
      }
      this.isLoading = false;
      this.changed();
    }
  }

  private async reload(): Promise<void> {
    const id = this.session;
    const look = (this.look += 1);
    const told = await this.client.ask('GET', `/v1/sessions/${encodeURIComponent(id)}`);
    if (id !== this.session || look !== this.look) {
      return;
    }
    this.leave();
    const { messages, runs, open, tail } = reopened(told, fresh());
    this.messages = messages;
    this.changed();
    if (open) {
      void this.watch(open, tail);
    }
    void this.enrich(runs, open !== '');
  }

  /** Figures, tokens and costs of answers, which messages do not tell. */
  private async enrich(runs: string[], isOpen: boolean): Promise<void> {
    const session = this.session;
    const answers = this.messages.flatMap((message) => (message.role === 'assistant' ? message.id : []));
    if (answers.length !== runs.length) {
      return;
    }
    const pairs = runs.map((run, at) => [run, answers[at] as string] as const).slice(-RECENT, isOpen ? -1 : undefined);
    for (const [run, id] of pairs.reverse()) {
      try {
        const told = object(await this.client.ask('GET', `/v1/runs/${encodeURIComponent(run)}`));
        if (session !== this.session) {
          return;
        }
        this.change(id, (answer) => {
          const { outcome, snapshot } = told;
          const before = { ...answer, runId: run };
          const after = snapshot ? apply(before, { ...object(snapshot), blocks: [] }, 0) : read.ended(before, outcome);
          return { ...after, parts: answer.parts, began: undefined, ended: undefined };
        });
      } catch {
        return;
      }
    }
  }

  // Messages

  get isRunning(): boolean {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' && this.following !== undefined && (last.state === 'running' || isForPage(last));
  }

  get last(): Answer | undefined {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' ? last : undefined;
  }

  private change(id: string, to: (answer: Answer) => Answer): void {
    this.messages = this.messages.map((message) => (message.id === id && message.role === 'assistant' ? to(message) : message));
    this.changed();
  }

  /** Says something, or lets it wait until the answer under way is there. */
  async send(words: string, documents: readonly Doc[] = this.uploads.documents): Promise<void> {
    const text = words.trim();
    if (!text && documents.length === 0) {
      return;
    }
    const queued = { id: (count += 1), text, documents: [...documents] };
    this.uploads.clear();
    if (this.isRunning) {
      this.queue = [...this.queue, queued];
      this.changed();
      return;
    }
    await this.turn(queued);
  }

  unqueue(id: number): Queued | undefined {
    const found = this.queue.find((each) => each.id === id);
    this.queue = this.queue.filter((each) => each.id !== id);
    this.changed();
    return found;
  }

  /** Says something that waits while the run goes on. */
  async interject(id: number): Promise<void> {
    const queued = this.queue.find((each) => each.id === id);
    const run = this.last?.runId;
    if (!queued || !run || queued.documents.length > 0) {
      return;
    }
    try {
      await this.client.ask('POST', `/v1/runs/${encodeURIComponent(run)}/messages`, { message: queued.text, when: 'next' });
      this.unqueue(id);
      const aside: Question = { role: 'user', id: fresh(), text: queued.text, documents: [], isAside: true };
      const last = this.messages.at(-1) as Answer;
      this.messages = [...this.messages.slice(0, -1), aside, last];
      this.changed();
    } catch (error) {
      this.fail(error);
    }
  }

  private async turn({ text, documents }: Pick<Queued, 'text' | 'documents'>): Promise<void> {
    this.problem = undefined;
    const question: Question = { role: 'user', id: fresh(), text, documents, isSending: true };
    const answer = newAnswer(fresh());
    this.messages = [...this.messages, question, { ...answer, began: performance.now() }];
    this.leave();
    this.look += 1;
    const following = (this.following = new AbortController());
    this.tell({ type: 'message', message: question });
    this.changed();
    try {
      const isNew = this.session === '';
      this.session ||= text16();
      const told = object(
        await this.client.ask('POST', `/v1/sessions/${encodeURIComponent(this.session)}/runs`, {
          message: text,
          documents: documents.map((document) => document.id),
          frontendTools: this.tools.list(),
          context: factsOf(this.context),
        }),
      );
      const runId = read.text(told.runId);
      this.messages = this.messages.map((message) =>
        message.id === question.id ? { ...question, isSending: false, runId } : message.id === answer.id ? { ...(message as Answer), runId } : message,
      );
      this.changed();
      if (isNew) {
        void this.sessions.load().catch(() => undefined);
      }
      if (this.following === following) {
        await this.watch(runId);
      }
    } catch (error) {
      if (following.signal.aborted) {
        return;
      }
      this.following = undefined;
      const failure = error instanceof Failure ? error : new Failure(String(error), 0, 'error');
      if (this.refused(failure)) {
        this.messages = this.messages.filter((message) => message.id !== question.id && message.id !== answer.id);
        this.queue = [{ id: (count += 1), text, documents }, ...this.queue];
        this.changed();
        return;
      }
      const message = failure.message || this.speech.say('cannotReach');
      this.change(answer.id, (now) => ({
        ...now,
        state: 'failed',
        error: { message, code: failure.code, retryAfter: failure.retryAfter },
      }));
      this.tell({ type: 'error', message, code: failure.code });
    }
  }

  /** Looks at no run any more. */
  private leave(): void {
    this.following?.abort();
    this.following = undefined;
  }

  /** Looks at a run until it ends. Nobody else looks meanwhile: an event that is heard twice would be shown twice. */
  private async watch(run: string, tail: Answer['parts'] = []): Promise<void> {
    this.leave();
    this.look += 1;
    const id = this.last?.id;
    if (!id) {
      return;
    }
    const wasWaiting = this.last?.state === 'waiting';
    const following = (this.following = new AbortController());
    const { signal } = following;
    try {
      const end = await follow(this.client, run, {
        signal,
        event: (value) => this.heard(id, value, signal),
        lost: (isLost) => {
          if (isLost !== this.isReconnecting) {
            this.isReconnecting = isLost;
            this.changed();
          }
        },
      });
      if (end !== 'ended') {
        this.change(id, (answer) => ({ ...answer, parts: [...answer.parts, ...tail] }));
        const told = object(await this.client.ask('GET', `/v1/runs/${encodeURIComponent(run)}`, undefined, signal));
        if (told.outcome) {
          this.change(id, (answer) => read.ended({ ...answer, runId: run }, told.outcome));
        }
        const { reason } = object(told.outcome);
        if (!reason) {
          this.change(id, (answer) => ({ ...answer, state: 'interrupted' }));
        }
      }
      this.over(id, run, following, wasWaiting);
    } catch (error) {
      if (!signal.aborted) {
        this.following = undefined;
        this.change(id, (answer) => ({ ...answer, state: 'interrupted' }));
        this.fail(error);
      }
    }
  }

  private heard(id: string, value: unknown, signal: AbortSignal): void {
    if (signal.aborted) {
      return;
    }
    const before = this.last;
    this.change(id, (answer) => apply(answer, value, performance.now()));
    const answer = this.last;
    for (const part of answer?.parts ?? []) {
      if (part.kind === 'call' && part.state === 'frontend') {
        void this.calls.answer(part, signal, this.session);
      } else if (part.kind === 'call' && part.state === 'approval' && !this.isKnown(before, part)) {
        this.announced = this.speech.say('approvalNeeded', { name: part.name });
      }
    }
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
    this.announced = answer.state === 'failed' ? this.speech.say('failed') : this.speech.say('answerReady');
    this.changed();
    const [next, ...rest] = this.queue;
    if (next && answer.state === 'done') {
      this.queue = rest;
      void this.turn(next);
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
        const told = object(await this.client.ask('GET', `/v1/runs/${encodeURIComponent(run)}`, undefined, signal).catch(() => ({})));
        const { end } = object(told.snapshot);
        const reason = text(object(told.outcome ?? end).reason);
        const isRunning = told.snapshot !== undefined && !end;
        if (isRunning || (reason && !/^(pending_|input_required)/.test(reason))) {
          await this.reload();
          return;
        }
      }
    } catch {
      // Somebody else looks at the run now.
    }
  }

  // Calls

  /** Says that nobody answers a call for the page. */
  skip(call: Call): Promise<void> {
    this.calls.refuse(call.id);
    return this.deliver(call.id, this.speech.say('skipped'), true);
  }

  /** Answers a call for the page, or a question of a tool. */
  async deliver(callId: string, result: unknown, isError = false, session = this.session): Promise<void> {
    const waits = !this.isRunning;
    try {
      await this.client.ask('POST', '/v1/chat/tool-result', { sessionId: session, callId, result, isError });
    } catch (error) {
      // Another tab was faster, or it came too late.
      if (!(error instanceof Failure && error.status === 409)) {
        this.fail(error);
        return;
      }
    }
    if (session === this.session) {
      await this.goOn(waits);
    }
  }

  /** Decides about a call. */
  async decide(approval: Approval, decision: Decision): Promise<void> {
    const waits = !this.isRunning;
    const { session } = this;
    const id = this.last?.id;
    try {
      const told = object(await this.client.ask('POST', `/v1/approvals/${encodeURIComponent(approval.id)}`, decision));
      if (id) {
        this.change(id, (answer) => ({
          ...answer,
          parts: answer.parts.map((part) =>
            part.kind === 'call' && part.approval?.id === approval.id
              ? {
                  ...part,
                  state: 'requested' as const,
                  approval: undefined,
                  decided: verdict(told.decision, told.by),
                  arguments: decision.decision === 'edit' ? decision.arguments : part.arguments,
                }
              : part,
          ),
        }));
      }
    } catch (error) {
      if (!(error instanceof Failure && (error.status === 409 || error.status === 404))) {
        this.fail(error);
        return;
      }
      // Somebody else has decided: the session says who.
      await this.reload().catch((error: unknown) => this.fail(error));
      return;
    }
    this.tabs?.postMessage({ session });
    if (session === this.session) {
      await this.goOn(waits);
    }
  }

  /** Looks at the run again that waited. */
  private async goOn(waited: boolean): Promise<void> {
    const run = this.last?.runId;
    const hasMore = this.last?.parts.some((part) => part.kind === 'call' && (part.state === 'approval' || part.state === 'question'));
    if (waited && run && !hasMore) {
      this.change(this.last?.id ?? '', (answer) => ({ ...answer, state: 'running' }));
      await this.watch(run);
    }
  }

  // Runs

  async stop(): Promise<void> {
    const answer = this.last;
    if (!answer) {
      return;
    }
    if (!answer.runId) {
      this.leave();
      this.change(answer.id, (now) => ({ ...now, state: 'stopped' }));
      return;
    }
    try {
      await this.client.ask('POST', `/v1/runs/${encodeURIComponent(answer.runId)}/cancel`);
    } catch (error) {
      if (!(error instanceof Failure && error.status === 404)) {
        this.fail(error);
      }
    }
  }

  /** Goes on with a run that the server could not end. */
  async resume(): Promise<void> {
    const run = this.last?.runId;
    if (!run) {
      return;
    }
    try {
      await this.client.ask('POST', `/v1/runs/${encodeURIComponent(run)}/resume`);
      this.change(this.last?.id ?? '', (answer) => ({ ...answer, state: 'running', error: undefined }));
      await this.watch(run);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Asks again what was asked before the answer. */
  async again(answer: Answer): Promise<void> {
    const at = this.messages.indexOf(answer);
    const question = this.messages.slice(0, at).findLast((message): message is Question => message.role === 'user' && !message.isAside);
    if (question) {
      await this.edit(question, question.text);
    }
  }

  /** Says something else in the place of a message: in a version of the conversation that shares what came before. */
  async edit(question: Question, words: string): Promise<void> {
    const at = this.questions.indexOf(question);
    if (at < 0) {
      return;
    }
    const before = this.messages.slice(0, this.messages.indexOf(question));
    try {
      const path = `/v1/sessions/${encodeURIComponent(this.session)}`;
      const told = object(await this.client.ask('GET', path));
      const known = list(told.messages).map(object).filter((message) => message.role === 'user');
      const message = known[at];
      if (message) {
        await this.stopQuietly();
        const forked = object(await this.client.ask('POST', `${path}/fork`, { before: text(message.id) }));
        const id = text(forked.id);
        this.kept.set('branches', { ...this.origins, [id]: { session: this.session, at } });
        this.session = id;
      }
      this.messages = before;
      this.queue = [];
      await this.turn({ text: words.trim(), documents: [...question.documents] });
    } catch (error) {
      this.fail(error);
    }
  }

  private async stopQuietly(): Promise<void> {
    if (this.isRunning) {
      await this.stop();
    }
    this.leave();
  }

  /** The messages of the user. */
  get questions(): Question[] {
    return this.messages.filter((message): message is Question => message.role === 'user');
  }

  /** The versions of a message: their number, and the one that is shown. */
  versionsOf(question: Question): { all: string[]; at: number } {
    const at = this.questions.indexOf(question);
    const all = this.session ? versions(this.origins, this.session, at) : [];
    return { all, at: current(this.origins, this.session, at, all) };
  }

  get address(): string {
    return this.client.base;
  }
}

const isForPage = (answer: Answer): boolean =>
  answer.state === 'waiting' && answer.parts.some((part) => part.kind === 'call' && part.state === 'frontend');

/** A new id of a session, which nobody guesses. */
function text16(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
