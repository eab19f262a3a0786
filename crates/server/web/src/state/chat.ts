// The chat: all that its user does in a conversation.
import { Failure, isOf, pathTo } from '../api/client.ts';
import * as read from '../api/read.ts';
import { list, object, text } from '../api/read.ts';
import { AGAIN, Conversation, fresh, newSession, next } from './conversation.ts';
import { factsOf } from './facts.ts';
import { pause } from './follow.ts';
import { type Answer, type Approval, type Call, type Decision, type Doc, type Message, type Part, type Question, asks, closed, newAnswer } from './model.ts';
import { type Queued, failed, hasArrived, keepFirst, mayHaveArrived, take } from './queue.ts';
import { verdict } from './transcript.ts';
import { UnsavedWords } from './unsaved.ts';
import { Uploads } from './uploads.ts';

/** The reason of whoever looks at a run no more, because the user has stopped it. */
const STOPPED = 'stopped';

export class Chat extends Conversation {
  readonly uploads = new Uploads(this.client, () => this.changed(), (error) => this.refused(error));
  /** Facts about the page, which the model reads with each turn. */
  readonly context = new Map<string, unknown>();
  queue: readonly Queued[] = [];

  protected override listen(signal: AbortSignal): void {
    super.listen(signal);
    let backs: (() => void)[] = [];
    addEventListener('pagehide', () => (backs = [() => this.keepQueue(), ...this.unsent].map((keep) => keep())), { signal });
    // A page that comes back as it was has what waits.
    addEventListener('pageshow', () => backs.splice(0).reverse().forEach((back) => back()), { signal });
  }

  /** What keeps a question of which no request knows yet, since its facts are asked for. Each yields the way to undo that. */
  private readonly unsent = new Set<() => () => void>();

  /** Keeps what waits where it is looked for, with the questions that failed. Yields the way to undo that. */
  private keepQueue(): () => void {
    // A question that is on its way tells whether there will be the session.
    return keepFirst(this.own, this.following ? this.session : this.homeOf(this.session), this.waiting());
  }

  /** Lets something wait in a session that somebody may have left, before all that waits there. */
  private wait(session: string, queued: Queued): void {
    const home = this.homeOf(session);
    // What was said behind it waits in a new session, too, where there will not be this one.
    const waiting = home ? [queued] : [{ ...queued, session }, ...take(this.own, session)];
    if (home === this.homeOf(this.session)) {
      this.queue = [...waiting, ...this.queue];
      this.changed();
    } else {
      keepFirst(this.own, home, waiting);
    }
  }

  override async open(id: string): Promise<boolean> {
    if (id === this.session) {
      this.queue = this.waiting();
    } else {
      this.keepQueue();
      this.queue = take(this.own, id);
    }
    const isOfIt = ({ session }: Queued) => session === id;
    if (id && this.queue.some(isOfIt)) {
      this.begun.add(id);
    }
    const before = new Set(this.queue);
    const isNew = (queued: Queued) => !before.has(queued);
    if (!(await super.open(id))) {
      return false;
    }
    if (id && !this.session) {
      // It is gone, and another conversation waits for none of its questions but those that were said while it was loaded, and
      // those of one that the server never had.
      this.queue = [...this.queue.filter((queued) => isOfIt(queued) || isNew(queued)), ...take(this.own, '')];
    } else {
      // What was said while it was loaded waits for that alone.
      this.messages.length > 0 && !this.following && this.queue.some(isNew) ? this.whole() : this.rest();
    }
    return true;
  }

  /** Questions that failed wait where the session is told without them. They may still arrive: nobody says them by themselves. */
  protected override replaced(messages: readonly Message[]): void {
    const told = messages.filter((message) => message.role === 'user');
    this.queue = this.waiting().filter((queued) => !hasArrived(queued, told));
  }

  /** What waits, and before it the questions that failed behind a place. */
  private waiting(from = 0): Queued[] {
    const { session } = this;
    const all = [...failed(this.messages.slice(from), (question) => this.placeOf(question)), ...this.queue];
    return this.begun.has(session) ? all.map((queued) => ({ session, ...queued })) : all;
  }

  /** Says what waits, unless a decision is on its way. */
  protected override whole(): void {
    if (!this.session && this.queue.length === 0) {
      this.queue = take(this.own, '');
    }
    const first = this.queue.find(({ isHeld }) => !isHeld);
    if (first && !this.isDeciding && !this.isRunning) {
      this.unqueue(first.id);
      void this.turn(first);
    }
  }

  /** Says something, or lets it wait until the answer under way is there. */
  async send(words: string, documents: readonly Doc[] = this.uploads.documents): Promise<void> {
    const text = words.trim();
    if (!text && documents.length === 0) {
      return;
    }
    const queued = { id: next(), text, documents: [...documents] };
    this.uploads.clear(queued.documents);
    // Questions that waited before it, behind an answer that was stopped or has failed, are said first.
    if (this.isRunning || this.isDeciding || this.queue.some(({ isHeld }) => !isHeld)) {
      this.queue = [...this.queue, queued];
      this.changed();
      return this.whole();
    }
    this.announced = '';
    await this.turn(queued);
  }

  unqueue(id: number): Queued | undefined {
    const found = this.queue.find((each) => each.id === id);
    this.queue = this.queue.filter((each) => each.id !== id);
    this.changed();
    return found;
  }

  /** Says something that waits: while the run goes on, or because it came to no good end. */
  async interject(id: number): Promise<void> {
    if (!this.isRunning) {
      const waiting = this.isDeciding ? undefined : this.unqueue(id);
      return waiting && this.turn(waiting);
    }
    const { session, last } = this;
    const queued = this.queue.find((each) => each.id === id);
    if (!queued || !last?.runId || queued.documents.length > 0) {
      return;
    }
    // The run may end, and say that it did not read it, before the server has answered.
    this.unqueue(id);
    const aside: Question = { role: 'user', id: fresh(), text: queued.text, documents: [], isAside: true };
    this.messages = [...this.messages.slice(0, -1), aside, last];
    const name = `aside.${last.runId}`;
    this.own.set(name, [...list(this.own.get(name)), queued.text]);
    try {
      await this.client.ask('POST', pathTo('runs', last.runId, '/messages'), { message: queued.text, when: 'next' });
    } catch (error) {
      // Otherwise the run has said already that it did not read it.
      if (this.takeBack(last.runId, queued.text, aside)) {
        this.wait(session, { ...queued, isHeld: mayHaveArrived(error) });
      }
      session === this.session && this.fail(error);
    }
  }

  /** Lets the words that the run did not come to read wait again, if they were said here. */
  protected override unread(run: string, texts: readonly string[]): void {
    if (texts.length === 0) {
      return;
    }
    // The view may have been made anew since they were said.
    const mine = texts.filter((words) => this.takeBack(run, words, this.questions.findLast(({ isAside, text }) => isAside && text === words)));
    this.queue = [...mine.map((text) => ({ id: next(), text, documents: [] })), ...this.queue];
    this.changed();
  }

  /** Takes words back that were said to a run, with the message that shows them. False if they were not said here. */
  private takeBack(run: string, words: string, aside: Question | undefined): boolean {
    const name = `aside.${run}`;
    const said = list(this.own.get(name));
    const at = said.indexOf(words);
    const others = said.filter((_, each) => each !== at);
    this.own.set(name, others.length > 0 ? others : undefined);
    const messages = this.messages.filter(({ id }) => id !== aside?.id);
    const wasSeen = messages.length < this.messages.length;
    this.messages = messages;
    return at >= 0 || wasSeen;
  }

  private async turn({ text, documents, isRefused }: Omit<Queued, 'id'>): Promise<void> {
    this.problem = undefined;
    const question: Question = { role: 'user', id: fresh(), text, documents, isSending: true };
    const answer = newAnswer(fresh());
    this.messages = [...this.messages, question, { ...answer, began: performance.now() }];
    this.leave();
    this.look += 1;
    const following = (this.following = new AbortController());
    this.tell({ type: 'message', message: question });
    this.changed();
    if (!this.session) {
      this.queue = [...this.queue, ...take(this.own, '')];
      this.begun.add((this.session = newSession()));
    }
    const { session } = this;
    const at = this.placeOf(question);
    // One that is gone would be begun anew, and the model would know nothing of what was said there.
    const mustExist = at > 0 && !this.begun.has(session);
    const keep = () => {
      const isStopped = following.signal.reason === STOPPED;
      const queued = { id: next(), text, documents, ...(this.begun.has(session) && { session }) };
      return keepFirst(this.own, this.homeOf(session), isStopped ? [] : [queued]);
    };
    try {
      this.unsent.add(keep);
      const context = await factsOf(this.context);
      this.unsent.delete(keep);
      const told = object(
        await this.client.ask('POST', pathTo('sessions', session, '/runs'), {
          model: this.client.agent || undefined,
          message: text,
          mustExist,
          documents: documents.map((document) => document.id),
          frontendTools: this.tools.list(),
          context,
        }),
      );
      const runId = read.text(told.runId);
      this.messages = this.messages.map((message) =>
        message.id === question.id ? { ...question, isSending: false } : message.id === answer.id ? { ...(message as Answer), runId } : closed(message),
      );
      this.sessions.begun(session, runId);
      this.changed();
      this.tabs?.postMessage({ session });
      if (following.signal.reason === STOPPED) {
        await this.cancel(runId);
      }
      if (this.begun.delete(session)) {
        void this.sessions.load().catch(() => undefined);
      }
      if (this.following === following) {
        await this.watch(runId);
      }
    } catch (error) {
      if (mustExist && isOf(error, 404) && (await this.isGone(session))) {
        session === this.session && (await this.open(session));
        const words = { id: next(), text, documents, isHeld: true };
        this.session ? keepFirst(this.own, '', [words]) : (this.queue = [words, ...this.queue]);
        return this.changed();
      }
      if (following.signal.aborted) {
        if (following.signal.reason !== STOPPED) {
          // Somebody looks elsewhere: the words wait where they were said.
          this.wait(session, { id: next(), text, documents, isHeld: mayHaveArrived(error), at });
        }
        return;
      }
      this.following = undefined;
      const failure = error instanceof Failure ? error : new Failure(String(error), 0, 'error');
      const isInTheWay = failure.status === 409;
      if (isInTheWay || this.refused(failure)) {
        this.messages = this.messages.filter((message) => message.id !== question.id && message.id !== answer.id);
        isInTheWay && this.begun.delete(session);
        this.session = this.messages.length > 0 ? session : this.homeOf(session);
        this.queue = [{ id: next(), text, documents, isRefused: isInTheWay }, ...this.queue];
        this.changed();
        if (isInTheWay) {
          // A run that another tab began is under way, or waits for a decision: the session tells it.
          await this.reload().catch((error: unknown) => this.fail(error));
          if (!isRefused && !this.following && session === this.session && !this.isLoading) {
            this.whole();
          }
        }
        return;
      }
      const message = failure.message || this.speech.say('cannotReach');
      this.change(answer.id, (now) => ({
        ...now,
        state: 'failed',
        error: { message, code: failure.code, retryAt: read.later(failure.retryAfter) },
      }));
      this.announce('failed');
      this.tell({ type: 'error', message, code: failure.code });
    }
  }

  // Calls

  /** Says that nobody answers a call for the page. */
  skip(call: Call): Promise<void> {
    this.calls.refuse(call.id);
    return this.deliver(call.id, this.speech.say('skipped'), true);
  }

  /** Answers a question of a tool: a failure of the answer before is over. */
  reply(callId: string, result: unknown): Promise<void> {
    this.problem = undefined;
    return this.deliver(callId, result, false, this.session, true);
  }

  /** Answers a call for the page, or a question of a tool: whoever answers one by hand hears if it was not taken. */
  async deliver(callId: string, result: unknown, isError = false, session = this.session, isByHand = false): Promise<void> {
    const waits = !this.isRunning;
    try {
      await this.give({ sessionId: session, callId, result, isError }, isByHand);
      session === this.session && this.alter(callId, (call) => (call.state === 'question' ? { ...call, state: 'requested', question: undefined } : call));
    } catch (error) {
      // Another tab was faster, or it came too late.
      const isOver = isOf(error, 409);
      if (!isOver && !isByHand && !isError) {
        // It is no JSON, or too large: the model waits for an answer, and is told so.
        return this.deliver(callId, String(error), true, session);
      }
      if (!isOver || isByHand) {
        this.fail(error);
      }
      if (!isOver) {
        return;
      }
    }
    if (session === this.session) {
      await this.goOn(waits);
    }
  }

  /** Tells a result; that of the page once more while the network is gone, and once a key is there: nobody else has it. */
  private async give(told: object, isByHand: boolean): Promise<void> {
    for (let isAgain = false; ; isAgain = true) {
      while (this.life && !isByHand && (isAgain || this.needsKey)) {
        isAgain = false;
        await pause(AGAIN, this.life.signal);
      }
      try {
        return await this.client.ask('POST', '/v1/chat/tool-result', told);
      } catch (error) {
        if (isByHand || !this.life || !(error instanceof Failure && (error.passes || this.refused(error)))) {
          throw error;
        }
      }
    }
  }

  /** Changes a call of the newest answer. */
  private alter(id: string, to: (call: Call) => Call): void {
    const parts = (answer: Answer) => answer.parts.map((part) => (part.kind === 'call' && part.id === id ? to(part) : part));
    this.change(this.last?.id ?? '', (answer) => ({ ...answer, parts: parts(answer) }));
  }

  /** The sessions of decisions and new versions that are on their way, each as often as there are. */
  private readonly deciding: string[] = [];

  /** True while the session is loaded, or a decision or a new version is on its way: a run goes on, or begins, a moment later. */
  private get isDeciding(): boolean {
    return this.isLoading || this.deciding.includes(this.session);
  }

  /** Decides about a call. */
  async decide(approval: Approval, decision: Decision): Promise<void> {
    const waits = !this.isRunning;
    const { session } = this;
    const id = this.last?.id;
    let isTaken = false;
    this.deciding.push(session);
    try {
      const told = object(await this.client.ask('POST', pathTo('approvals', approval.id), decision));
      const decided = verdict(told.decision, told.by, Date.now());
      const isIt = (part: Part): part is Call => part.kind === 'call' && part.approval?.id === approval.id;
      this.change(id ?? '', (answer) => ({
        ...answer,
        parts: answer.parts.map((part) => (isIt(part) ? { ...part, state: 'requested', approval: undefined, decided } : part)),
      }));
      isTaken = true;
    } catch (error) {
      if (!isOf(error, 404, 409)) {
        this.fail(error);
      } else if (session === this.session) {
        // Somebody else has decided: the session says who.
        await this.reload().catch((error: unknown) => this.fail(error));
      }
    } finally {
      this.deciding.splice(this.deciding.indexOf(session), 1);
    }
    if (isTaken) {
      this.tabs?.postMessage({ session });
    }
    if (session === this.session) {
      await (isTaken && this.goOn(waits));
      // The run may have ended before anybody knew of the decision.
      this.rest();
    }
  }

  /** Looks at the run again that waited. */
  private async goOn(waited: boolean): Promise<void> {
    const run = this.last?.runId;
    const hasMore = this.last?.parts.some(asks);
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
      this.following?.abort(STOPPED);
      this.leave();
      this.change(answer.id, (now) => ({ ...now, state: 'stopped' }));
      this.announce('stopped');
      return;
    }
    await this.cancel(answer.runId);
  }

  private async cancel(run: string): Promise<void> {
    try {
      await this.client.ask('POST', pathTo('runs', run, '/cancel'));
    } catch (error) {
      if (!isOf(error, 404)) {
        this.fail(error);
      }
    }
  }

  /** Goes on with a run that the server could not end. */
  async resume(): Promise<void> {
    const { last } = this;
    if (!last?.runId) {
      return;
    }
    try {
      await this.client.ask('POST', pathTo('runs', last.runId, '/resume'));
      if (this.last?.id === last.id) {
        this.sessions.begun(this.session, last.runId);
        this.change(last.id, (answer) => ({ ...answer, state: 'running', error: undefined }));
        await this.watch(last.runId);
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** The question of an answer. */
  questionOf(answer: Answer): Question | undefined {
    const before = this.messages.slice(0, this.messages.indexOf(answer));
    return before.findLast((message): message is Question => message.role === 'user' && !message.isAside);
  }

  /** Asks again what was asked before the answer. */
  async again(answer: Answer): Promise<void> {
    const question = this.questionOf(answer);
    await (question && this.anew(question, question.text));
  }

  readonly unsaved = new UnsavedWords((question) => `${this.session} ${this.placeOf(question)}`, () => this.changed());

  /** Writes a message anew. Where that fails, its words stay for its editor, also if somebody looks at another conversation. */
  async edit(question: Question, words: string): Promise<boolean> {
    const key = this.unsaved.keyOf(question);
    const isMade = await this.anew(question, words);
    isMade || this.unsaved.keep(key, { text: question.text, words });
    return isMade;
  }

  /** Says something else in the place of a message: in a version of the conversation that shares what came before. False if there is none. */
  private async anew(question: Question, words: string): Promise<boolean> {
    if (!this.messages.includes(question)) {
      return false;
    }
    const at = this.placeOf(question);
    const before = this.messages.slice(0, this.messages.indexOf(question));
    const { session } = this;
    // Whatever is said meanwhile waits.
    this.deciding.push(session);
    const isMade = await this.version(question, at)
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.deciding.splice(this.deciding.indexOf(session), 1));
    if (isMade) {
      this.queue = this.waiting(before.length + 1);
      this.messages = before;
      await this.turn({ text: words.trim(), documents: [...question.documents] });
    }
    return !!isMade;
  }

  /** Goes to a version of the conversation that ends before a message. False if somebody looks at another one meanwhile. */
  private async version(question: Question, at: number): Promise<boolean> {
    const { session } = this;
    const isHere = () => session === this.session;
    const path = pathTo('sessions', session);
    const told = object(
      await this.client.ask('GET', path).catch((error: unknown) => {
        // The first question did not arrive, so that there is no session yet.
        if (!(question.isSending && isOf(error, 404))) {
          throw error;
        }
      }),
    );
    const message = list(told.messages).map(object).filter((message) => message.role === 'user')[at];
    if (!message || !isHere()) {
      return isHere();
    }
    await (this.isRunning && this.stop());
    if (!isHere()) {
      return false;
    }
    const forked = object(await this.client.ask('POST', `${path}/fork`, { before: text(message.id) }));
    const id = text(forked.id);
    if (!isHere()) {
      await this.client.ask('DELETE', pathTo('sessions', id)).catch(() => undefined);
      return false;
    }
    this.sessions.origins = { ...this.origins, [id]: { session, at } };
    this.session = id;
    return true;
  }
}
