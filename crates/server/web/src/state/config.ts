// The things that the server says about itself.
import { list, number, object, text } from '../api/read.ts';

export interface Config {
  title: string;
  greeting: string;
  examples: string[];
  models: string[];
  /** That of costs; empty where the server has no prices. */
  currency: string;
  /** The most bytes of a file. */
  uploadBytes: number;
  /** The files to attach, as `accept` of HTML names them; all if there are none. */
  uploadTypes: string[];
  features: Record<string, boolean>;
}

/** A server that says nothing has what all have. */
export const UNKNOWN: Config = { title: '', greeting: '', examples: [], models: [], currency: '', uploadBytes: 64 << 20, uploadTypes: [], features: {} };

export function readConfig(value: unknown): Config {
  const from = object(value);
  const limits = object(from.limits);
  const features = Object.entries(object(from.features)).map(([name, is]) => [name, is !== false] as const);
  return {
    title: text(from.title),
    greeting: text(from.greeting),
    examples: list(from.examples).map(text).filter(Boolean),
    currency: text(from.currency),
    models: list(from.models).map(text).filter(Boolean),
    uploadBytes: number(limits.uploadBytes) ?? UNKNOWN.uploadBytes,
    uploadTypes: list(limits.uploadTypes).map(text),
    features: Object.fromEntries(features),
  };
}
