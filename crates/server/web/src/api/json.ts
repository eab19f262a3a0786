// JSON whose long numbers keep their digits: a number of JavaScript holds about sixteen of them, and an account, an amount
// or an id may have more.

/** A number with more digits than JavaScript keeps: the text of it is what was written, its value is near that. */
export class LongNumber extends Number {
  constructor(readonly digits: string) {
    super(digits);
  }

  override toString(): string {
    return this.digits;
  }
}

/** Stands before such digits while they are a text. Nobody else writes it. */
const SIGN = String(Math.random());
const WRITTEN = new RegExp(`"${SIGN}(.+?)"`, 'g');

/** The number that a text writes. */
export const numeral = (text: string): number | LongNumber => (/\d[\d.]{15}/.test(text) && String(Number(text)) !== text ? new LongNumber(text) : Number(text));

export function parse(text: string): unknown {
  if (!/\d[\d.]{15}/.test(text)) {
    return JSON.parse(text);
  }
  const signed = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (token) => (token[0] !== '"' && numeral(token) instanceof LongNumber ? `"${SIGN}${token}"` : token));
  return JSON.parse(signed, (_, value: unknown) => (typeof value === 'string' && value.startsWith(SIGN) ? new LongNumber(value.slice(SIGN.length)) : value));
}

export function stringify(value: unknown, space?: number): string {
  const sign = (_: string, each: unknown) => (each instanceof LongNumber ? SIGN + each.digits : each);
  return JSON.stringify(value, sign, space)?.replace(WRITTEN, '$1');
}
