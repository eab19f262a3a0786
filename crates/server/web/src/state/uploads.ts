// Files on their way to the server.
import type { Client, Failure } from '../api/client.ts';
import { document as readDocument } from '../api/read.ts';
import type { Speech } from '../words/words.ts';
import type { Config } from './config.ts';
import { sentenceOf } from './failures.ts';
import type { Doc } from './model.ts';

export interface Upload {
  id: number;
  name: string;
  size: number;
  mediaType: string;
  /** A share between 0 and 1. */
  progress: number;
  document?: Doc;
  /** A word for what is wrong, and what the server says of it, with its code. */
  problem?: 'emptyFile' | 'tooLarge' | 'wrongType' | 'uploadFailed';
  told?: string;
  code?: string;
  /** An address of the image in this page. */
  preview?: string;
  stop: () => void;
}

/** Types that are no text. Systems give text files many types. */
const NO_TEXT = /^(audio|font|image|video)\/|^application\/(pdf|zip|x-zip|msword|vnd\.(ms-|openxml|oasis))/;

const takesText = (types: readonly string[]) => ['*/*', 'text/*', 'text/plain'].some((text) => types.includes(text));

/** The files that a picker offers, as the attribute `accept`: all where text is taken, whose endings nobody can list. */
export function offered(types: readonly string[]): string {
  return takesText(types) ? '' : types.join();
}

/** False for a file that is surely not among those to attach. The server looks into the others and judges of them. */
export function mayAttach({ name, type }: Pick<File, 'name' | 'type'>, types: readonly string[]): boolean {
  const kind = type.split(';', 1)[0] ?? '';
  const ending = /\.\w+$/.exec(name.toLowerCase())?.[0] ?? '';
  const isMeant = (each: string) => each === kind || each === ending || each === '*/*' || (each.endsWith('/*') && kind.startsWith(each.slice(0, -1)));
  // Browsers say `video/mp2t` of TypeScript.
  const isUnknown = !kind || kind === 'video/mp2t' || (takesText(types) && !NO_TEXT.test(kind));
  return types.length === 0 || isUnknown || types.some(isMeant);
}

/** Words about a file that was not taken; empty if nothing is wrong. */
export const problemOf = ({ problem, name, told = '', code = '' }: Upload, speech: Speech, { uploadBytes }: Config): string =>
  problem ? `${speech.say(problem, { name, size: speech.size(uploadBytes) })} ${sentenceOf(code, told, speech)}`.trim() : '';

let count = 0;

export class Uploads {
  all: readonly Upload[] = [];

  constructor(
    private readonly client: Client,
    private readonly changed: () => void,
    /** Told of a failure, which may mean that the server asks for a key. */
    private readonly failed: (error: unknown) => unknown = () => undefined,
  ) {}

  get isBusy(): boolean {
    return this.all.some((upload) => !upload.document && !upload.problem);
  }

  get documents(): Doc[] {
    return this.all.flatMap((upload) => upload.document ?? []);
  }

  /** Begins to send files, and yields their numbers. */
  add(files: Iterable<File>, { uploadBytes, uploadTypes }: Pick<Config, 'uploadBytes' | 'uploadTypes'>): number[] {
    const ids: number[] = [];
    for (const file of files) {
      const stopping = new AbortController();
      const upload: Upload = {
        id: (count += 1),
        name: file.name,
        size: file.size,
        mediaType: file.type,
        progress: 0,
        problem: file.size === 0 ? 'emptyFile' : file.size > uploadBytes ? 'tooLarge' : mayAttach(file, uploadTypes) ? undefined : 'wrongType',
        preview: /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? URL.createObjectURL(file) : undefined,
        stop: () => stopping.abort(),
      };
      this.all = [...this.all, upload];
      ids.push(upload.id);
      if (!upload.problem) {
        void this.send(upload.id, file, stopping.signal);
      }
    }
    this.changed();
    return ids;
  }

  private async send(id: number, file: File, signal: AbortSignal): Promise<void> {
    try {
      const path = `/v1/documents?name=${encodeURIComponent(file.name)}`;
      const told = await this.client.upload(path, file, (progress) => this.change(id, { progress }), signal);
      this.change(id, { document: { ...readDocument(told), isUpload: true }, progress: 1 });
    } catch (error) {
      if (!signal.aborted) {
        this.failed(error);
        const { status, message: told, code } = error as Failure;
        this.change(id, status === 415 ? { problem: 'wrongType' } : status === 413 ? { problem: 'tooLarge' } : { problem: 'uploadFailed', told, code });
      }
    }
  }

  private change(id: number, to: Partial<Upload>): void {
    this.all = this.all.map((upload) => (upload.id === id ? { ...upload, ...to } : upload));
    this.changed();
  }

  remove(id: number): void {
    const upload = this.all.find((each) => each.id === id);
    upload?.stop();
    if (upload?.preview) {
      URL.revokeObjectURL(upload.preview);
    }
    this.all = this.all.filter((each) => each.id !== id);
    this.changed();
  }

  /** Takes files out: those that are sent, or all. */
  clear(sent?: readonly Doc[]): void {
    this.all.filter(({ document }) => !sent || (document && sent.includes(document))).forEach(({ id }) => this.remove(id));
  }
}
