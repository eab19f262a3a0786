// Failures in the language of the reader, by the codes that the server gives them. Its own words are for whoever runs it,
// and may name addresses.
import { type Word, en } from '../words/en.ts';
import type { Speech } from '../words/words.ts';

const WORDS: Record<string, Word> = {
  network: 'failedNetwork',
  stream_cut: 'failedCut',
  timeout: 'failedTimeout',
  rate_limited: 'failedBusy',
  rate_limit_exceeded: 'failedBusy',
  too_many: 'failedBusy',
  overloaded: 'failedBusy',
  configuration: 'failedSetup',
  authentication: 'failedSetup',
  permission: 'failedSetup',
  quota_exceeded: 'failedQuota',
  context_length_exceeded: 'failedLength',
  unsupported: 'failedUnsupported',
  refused: 'failedRefused',
  api: 'failedApi',
  malformed: 'failedApi',
  internal: 'failedServer',
};

/** True for the failure of which the server's own words say more that a user can act on: which file, and why. */
export const isTold = (code: string): boolean => code === 'unsupported';

/**
 * A sentence about a failure: that of its code, else what the server says, unless those are the words of the provider
 * (`reason`: that of the end of a run). Empty while the sentences are not there yet.
 */
export function sentenceOf(code: string, told: string, speech: Pick<Speech, 'say'>, reason = ''): string {
  const end = `ended_${code}` as Word;
  const word = WORDS[code] ?? (reason === 'provider_error' ? 'failedApi' : undefined);
  return end in en ? speech.say('endedLimit', { reason: speech.say(end) }) : !word ? told : word in en ? speech.say(word) : '';
}
