// The words in the language of the reader.
import { en, type Word, type Words } from './en.ts';

/** The languages, by their own names. */
export const LANGUAGES: Record<string, string> = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  pt: 'Português',
  ja: '日本語',
  zh: '中文',
  ar: 'العربية',
};

export class Speech {
  private words = en as Words;
  private plural = new Intl.PluralRules('en');
  language = 'en';
  /** The language as it is written where the reader is: for figures and times. */
  private locale = 'en';

  get isRightToLeft(): boolean {
    return this.language === 'ar';
  }

  /** Speaks another language from now on. One that is not known changes nothing. */
  async use(language: string, base: string): Promise<void> {
    const tag = language.toLowerCase().split('-')[0] ?? 'en';
    const locale = navigator.languages.find((each) => each.split('-')[0] === tag) ?? tag;
    if (tag === this.language) {
      this.locale = locale;
    }
    if (tag === this.language || !(tag in LANGUAGES)) {
      return;
    }
    if (tag === 'en') {
      this.words = en as Words;
    } else {
      const response = await fetch(`${base}/words/${tag}.json`);
      if (!response.ok) {
        return;
      }
      this.words = { ...(en as Words), ...((await response.json()) as Partial<Words>) };
    }
    [this.language, this.locale] = [tag, locale];
    this.plural = new Intl.PluralRules(tag);
  }

  /** A word or sentence, with what stands in it. */
  say(word: Word, facts: Record<string, string | number> = {}): string {
    const found: string | { other: string } = this.words[word];
    const count = typeof facts.n === 'number' ? facts.n : 0;
    const text =
      typeof found === 'string'
        ? found
        : ((found as Record<string, string>)[this.plural.select(count)] ?? found.other);
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const fact = facts[name];
      return typeof fact === 'number' ? this.number(fact) : (fact ?? '');
    });
  }

  number(value: number): string {
    return value.toLocaleString(this.locale);
  }

  /** An amount of money; of a small one the first figures. */
  money(amount: number, currency: string): string {
    const digits = amount < 0.1 ? { maximumSignificantDigits: 3 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
    const isKnown = /^[A-Z]{3}$/.test(currency);
    const money = new Intl.NumberFormat(this.locale, isKnown ? { style: 'currency', currency, ...digits } : digits).format(amount);
    return isKnown ? money : `${money} ${currency}`.trim();
  }

  /** A size in bytes, as people write it. */
  size(bytes: number): string {
    const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;
    let [value, at] = [bytes, 0];
    while (value >= 1000 && at < units.length - 1) {
      [value, at] = [value / 1000, at + 1];
    }
    const digits = value < 10 && at > 0 ? 1 : 0;
    // The short word for a byte has no plural.
    const unitDisplay = at === 0 ? 'long' : 'short';
    const format = { style: 'unit', unit: units[at], unitDisplay, maximumFractionDigits: digits } as const;
    return new Intl.NumberFormat(this.locale, format).format(value);
  }

  /** A time in milliseconds. */
  time(milliseconds: number): string {
    const seconds = milliseconds / 1000;
    if (seconds >= 172_800) {
      return this.unit(Math.round(seconds / 86_400), 'day');
    }
    if (seconds >= 5400) {
      return this.unit(Math.round(seconds / 3600), 'hour');
    }
    if (seconds >= 90) {
      const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
      return `${this.unit(minutes, 'minute')} ${this.unit(rest, 'second')}`;
    }
    return this.unit(seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds), 'second');
  }

  /** The time of day; with its day if that is not today. */
  moment(at: number): string {
    const isToday = new Date(at).toDateString() === new Date().toDateString();
    return new Intl.DateTimeFormat(this.locale, { dateStyle: isToday ? undefined : 'medium', timeStyle: 'short' }).format(at);
  }

  private unit(value: number, unit: string): string {
    return new Intl.NumberFormat(this.locale, { style: 'unit', unit, unitDisplay: 'short' }).format(value);
  }
}
