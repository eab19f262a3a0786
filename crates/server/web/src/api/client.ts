// Requests to the server.
import { createParser } from 'eventsource-parser';
import { parse, stringify } from './json.ts';

/** A request that did not work. */
export class Failure extends Error {
  constructor(
    message: string,
    /** The status of HTTP; 0 where the server could not be reached. */
    readonly status: number,
    readonly code: string,
    /** The seconds after which it may be asked again. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }

  /** True if the network is at fault, or something that passes. */
  get passes(): boolean {
    return isOf(this, 0, 408, 429, 502, 503, 504);
  }
}

/** True for a failure with one of these statuses. */
export const isOf = (error: unknown, ...statuses: number[]): boolean => error instanceof Failure && statuses.includes(error.status);

/** The path of something that has an id. */
export const pathTo = (kind: 'approvals' | 'runs' | 'sessions', id: string, rest = ''): string => `/v1/${kind}/${encodeURIComponent(id)}${rest}`;

/** An event of a stream. */
export interface ServerEvent {
  id: string | undefined;
  data: string;
}

export type HeaderSource = Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);

/** The silence after which a stream counts as broken: the server says every 15 s that it is alive. */
const SILENCE = 40_000;

export class Client {
  /** Headers of the page, which are asked for at each request. */
  headers: HeaderSource = {};

  constructor(
    /** The address of the server, without a slash at its end. */
    readonly base: string,
    /** The agent; the server's first one if empty. */
    public agent = '',
  ) {}

  /** Asks and yields the JSON of the answer. */
  async ask<T = unknown>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await this.send(method, path, { body: stringify(body), signal });
    const text = await response.text();
    return (text ? parse(text) : undefined) as T;
  }

  /** The bytes of a document. */
  async bytes(path: string, signal?: AbortSignal): Promise<Blob> {
    return (await this.send('GET', path, { signal })).blob();
  }

  /** Uploads a file; `progress` is told a share between 0 and 1. */
  upload<T>(path: string, file: Blob, progress: (share: number) => void, signal: AbortSignal): Promise<T> {
    // fetch tells nobody how far an upload has come.
    const send = (headers: Headers) => new Promise<T>((resolve, reject) => {
      signal.throwIfAborted();
      const request = new XMLHttpRequest();
      request.open('POST', this.url(path));
      headers.forEach((value, name) => request.setRequestHeader(name, value));
      request.setRequestHeader('Content-Type', file.type || 'application/octet-stream');
      request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
      request.onload = () => {
        try {
          if (request.status < 300) {
            return resolve(JSON.parse(request.responseText) as T);
          }
        } catch {
          // Something in between answered: nobody knows whether the server has the file.
        }
        reject(failure(request.status, request.responseText, request.getResponseHeader('retry-after')));
      };
      request.onerror = () => reject(new Failure('', 0, 'offline'));
      request.onabort = () => reject(new DOMException('', 'AbortError'));
      signal.addEventListener('abort', () => request.abort(), { once: true });
      request.send(file);
    });
    return this.withHeaders(send);
  }

  /** The events of a stream, to its end. */
  async *stream(path: string, after: string | undefined, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    const ending = new AbortController();
    const end = () => ending.abort();
    signal.addEventListener('abort', end, { once: true });
    let timer = setTimeout(end, SILENCE);
    const read: ServerEvent[] = [];
    const parser = createParser({ onEvent: (event) => read.push({ id: event.id, data: event.data }) });
    try {
      const extra: Record<string, string> = { Accept: 'text/event-stream' };
      if (after) {
        extra['Last-Event-ID'] = after;
      }
      const response = await this.send('GET', path, { signal: ending.signal, extra });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          return;
        }
        clearTimeout(timer);
        timer = setTimeout(end, SILENCE);
        parser.feed(decoder.decode(value, { stream: true }));
        yield* read.splice(0);
      }
    } catch (error) {
      if (signal.aborted || error instanceof Failure) {
        throw error;
      }
      throw new Failure('', 0, 'offline');
    } finally {
      clearTimeout(timer);
      ending.abort();
      signal.removeEventListener('abort', end);
    }
  }

  private url(path: string): string {
    const url = new URL(this.base + path, location.href);
    if (this.agent && !url.searchParams.has('model')) {
      url.searchParams.set('model', this.agent);
    }
    return url.href;
  }

  /** Asks with the headers of the page: once more where it has given others meanwhile, of which a 401 says nothing. */
  private async withHeaders<T>(ask: (headers: Headers) => Promise<T>): Promise<T> {
    for (;;) {
      const { headers } = this;
      try {
        return await ask(new Headers(typeof headers === 'function' ? await headers() : headers));
      } catch (error) {
        if (!isOf(error, 401) || headers === this.headers) {
          throw error;
        }
      }
    }
  }

  private send(
    method: string,
    path: string,
    { body, signal, extra }: { body?: string; signal?: AbortSignal; extra?: Record<string, string> },
  ): Promise<Response> {
    return this.withHeaders(async (headers) => {
      for (const [name, value] of Object.entries(extra ?? {})) {
        headers.set(name, value);
      }
      if (body !== undefined) {
        headers.set('Content-Type', 'application/json');
      }
      let response: Response;
      try {
        // A page that goes away still deletes what it was told to.
        const keepalive = method === 'DELETE';
        response = await fetch(this.url(path), { method, headers, body, signal, keepalive, credentials: 'same-origin' });
      } catch (error) {
        if (signal?.aborted) {
          throw error;
        }
        throw new Failure('', 0, 'offline');
      }
      if (!response.ok) {
        throw failure(response.status, await response.text(), response.headers.get('retry-after'));
      }
      return response;
    });
  }
}

function failure(status: number, body: string, retryAfter: string | null): Failure {
  let told: { message?: unknown; code?: unknown; retryAfter?: unknown } = {};
  try {
    told = (JSON.parse(body) as { error?: typeof told }).error ?? {};
  } catch {
    // Something in between answered in words of its own.
  }
  // Of another origin, the head is not told.
  const seconds = Number(retryAfter ?? told.retryAfter);
  return new Failure(
    typeof told.message === 'string' ? told.message : '',
    status,
    typeof told.code === 'string' ? told.code : String(status),
    seconds > 0 ? seconds : undefined,
  );
}
